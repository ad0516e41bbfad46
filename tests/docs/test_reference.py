"""The reference lists what is there: no name more, no name less."""

import dataclasses
import inspect
import re
from enum import StrEnum

import segue
from segue import Ask, Call, Every, Kernel, Policy, Settings, Text, ToolCalled, ToolStarted, errors
from segue.model.records import NEWEST
from segue.model.states import JobKind
from segue.testing import ManualClock, ScriptedAgent, quiet
from tests.docs.pages import ROOT

REFERENCE = ROOT / "docs" / "reference"

HEADING = re.compile(r"^### `(\w+)", re.MULTILINE)
VERB = re.compile(r"^#### `kernel\.(\w+)(\(.*\))`$", re.MULTILINE)
ROW = re.compile(r"^\| `(\w+)` \|([^|]*)\|", re.MULTILINE)


def page(name: str) -> str:
    return (REFERENCE / name).read_text("utf-8")


def section(text: str, title: str) -> str:
    """From a heading of the second level to the next one."""
    return text.partition(f"\n## {title}\n")[2].partition("\n## ")[0]


def rows(text: str) -> dict[str, str]:
    """A table's first two cells, where the first is a name."""
    return {name: cell.strip(" `") for name, cell in ROW.findall(text)}


def without_types(signature: inspect.Signature) -> str:
    bare = [
        parameter.replace(annotation=parameter.empty)
        for name, parameter in signature.parameters.items()
        if name != "self"
    ]
    text = str(inspect.Signature(bare))
    return text.replace(repr(segue.Operator()), "OPERATOR").replace(repr(NEWEST), "NEWEST")


def test_every_public_name_is_documented_once() -> None:
    assert sorted(HEADING.findall(page("python.md"))) == sorted(segue.__all__)


def test_every_verb_is_documented_with_its_signature() -> None:
    public = {
        name: without_types(inspect.signature(verb))
        for name, verb in inspect.getmembers(Kernel, inspect.isfunction)
        if not name.startswith("_")
    }
    assert dict(VERB.findall(page("python.md"))) == public


def test_every_error_has_its_code() -> None:
    there = {
        name: error.code
        for name, error in vars(errors).items()
        if isinstance(error, type) and issubclass(error, errors.SegueError)
    }
    assert rows(page("errors.md")) == there


def test_every_setting_has_its_default() -> None:
    there = {field.name: str(field.default) for field in dataclasses.fields(Settings)}
    assert rows(section(page("settings.md"), "Settings of a process")) == there


def test_every_field_of_a_policy_has_its_default() -> None:
    guide = (ROOT / "docs" / "guides" / "policies.md").read_text("utf-8")
    there = {field.name: str(field.default) for field in dataclasses.fields(Policy)}
    assert rows(section(guide, "All of it")) == there


def test_every_value_of_an_enum_is_documented() -> None:
    text = page("python.md")
    for name in segue.__all__:
        kind = getattr(segue, name)
        if isinstance(kind, type) and issubclass(kind, StrEnum):
            described = text.partition(f"\n### `{name}`")[2].partition("\n### ")[0]
            for value in kind:
                assert f"`{value}`" in described, f"{name} has {value}"


async def test_every_event_is_documented() -> None:
    """A day on which everything happens once."""
    clock, agent = ManualClock(), ScriptedAgent()
    async with Kernel("sqlite://:memory:", agent=agent, clock=clock, functions={"f": nothing}) as kernel:
        agent.script(
            [
                ToolStarted(call_id="1", name="look"),
                ToolCalled(call_id="1", name="look", result="rain"),
                Text("It rains."),
            ]
        )
        await kernel.receive("web:1", "What is the weather?")
        await kernel.receive("web:1", "And tomorrow?")
        await kernel.write("web:1", "system", "The window is open.")
        await kernel.schedule("web:1", Every(600), Ask("Look again."))
        await kernel.schedule("web:1", Every(600), Ask("Remember."), kind=JobKind.RECALL)
        await kernel.schedule("web:1", Every(600), Call("f"))
        await kernel.schedule_message("web:1", "in 5 minutes", "Take an umbrella.")
        clock.advance(minutes=10)
        await quiet(kernel)
        happened = {event.type for event in await kernel.events("web:1")}
    assert set(rows(section(page("events.md"), "In the log"))) == happened


async def nothing(turn: object) -> None:
    """What the system's job calls."""
