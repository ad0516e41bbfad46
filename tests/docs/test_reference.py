"""The reference documents every public name, error, setting and event, and nothing else."""

import dataclasses
import re

from segue import Ask, Call, Every, Kernel, Policy, Settings, Text, ToolCalled, ToolStarted, Waiting, errors
from segue.model.states import JobKind
from segue.testing import ManualClock, ScriptedAgent, quiet
from tests.docs import python_reference
from tests.docs.pages import ROOT, pages

REFERENCE = ROOT / "docs" / "reference"

PATH = re.compile(r"(?<![\w/.~-])(?:tests|src|examples|bench)/[\w./-]*\w")
ROW = re.compile(r"^\| `(\w+)` \|([^|]*)\|", re.MULTILINE)


def page(name: str) -> str:
    return (REFERENCE / name).read_text("utf-8")


def section(text: str, title: str) -> str:
    """From a heading of the second level to the next one."""
    return text.partition(f"\n## {title}\n")[2].partition("\n## ")[0]


def rows(text: str) -> dict[str, str]:
    """The first two cells of each row whose first cell is a name."""
    return {name: cell.strip(" `") for name, cell in ROW.findall(text)}


def test_the_python_page_is_what_the_docstrings_say() -> None:
    assert page("python.md") == python_reference.build(), "run `make reference`"


def test_every_path_that_a_page_names_exists() -> None:
    named = {
        (str(each.relative_to(ROOT)), path)
        for each in pages()
        for path in PATH.findall(each.read_text("utf-8"))
    }
    assert [(where, path) for where, path in sorted(named) if not (ROOT / path).exists()] == []


def test_every_error_has_its_code() -> None:
    expected = {
        name: error.code
        for name, error in vars(errors).items()
        if isinstance(error, type) and issubclass(error, errors.SegueError)
    }
    assert rows(page("errors.md")) == expected


def test_every_setting_has_its_default() -> None:
    expected = {field.name: str(field.default) for field in dataclasses.fields(Settings)}
    assert rows(section(page("settings.md"), "Settings of a process")) == expected


def test_every_field_of_a_policy_has_its_default() -> None:
    guide = (ROOT / "docs" / "guides" / "policies.md").read_text("utf-8")
    expected = {field.name: str(field.default) for field in dataclasses.fields(Policy)}
    assert rows(section(guide, "All of it")) == expected


async def test_every_event_is_documented() -> None:
    """Lets every type of event happen once."""
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
        await kernel.log.write("web:1", "system", "The window is open.")
        await kernel.schedule("web:1", Every(600), Ask("Look again."))
        await kernel.schedule("web:1", Every(600), Ask("Remember."), kind=JobKind.RECALL)
        await kernel.schedule("web:1", Every(600), Call("f"))
        await kernel.scheduled_messages.add("web:1", "in 5 minutes", "Take an umbrella.")
        clock.advance(minutes=10)
        await quiet(kernel)
        agent.script([Waiting("Close the window?")])
        await kernel.receive("web:1", "It is cold.")
        await quiet(kernel)
        happened = {event.type for event in await kernel.log.events("web:1")}
    assert set(rows(section(page("events.md"), "In the log"))) == happened


async def nothing(turn: object) -> None:
    """The function of the system's job."""
