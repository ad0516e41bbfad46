"""Sessions by title, short id or `last`; jobs of all sessions; missing sessions are made alike."""

import json

import pytest

from segue import Kernel, Owner
from tests.cli.process import Segue
from tests.cli.terminal import at_terminal

pytestmark = pytest.mark.usefixtures("ready")

KEY = "websocket:2506c0031b83d7e64a58b0ee"
WEEKDAYS = ("--schedule", "every weekday at 9")


async def _no_agent(turn: object) -> str:
    raise AssertionError("no turn runs here")


async def titled(segue: Segue, titles: dict[str, str]) -> None:
    async with Kernel(segue.database, agent=_no_agent) as kernel:
        for key, title in titles.items():
            await kernel.sessions.open(key, title=title)
            await kernel.log.write_all(key, [("user", "Hello.")])


@pytest.mark.parametrize("name", [KEY, "Deploy watch", "deploy WATCH", "deploy", "2506c0", "last"])
async def test_a_session_is_found_by_what_a_person_remembers(segue: Segue, name: str) -> None:
    await titled(segue, {"web:1": "Garden", KEY: "Deploy watch"})
    shown = await segue("sessions", "show", name, "--json")
    assert json.loads(shown.out)["key"] == KEY
    added = await segue("jobs", "add", name, "What is new?", *WEEKDAYS, "--json")
    assert json.loads(added.out)["session_key"] == KEY
    assert json.loads((await segue("jobs", "list", name, "--json")).out)["jobs"][0]["session_key"] == KEY


async def test_an_unknown_or_ambiguous_name_is_refused_with_the_way_out(segue: Segue) -> None:
    await titled(segue, {"web:1": "Taxes", "web:2": "Taxes"})
    unknown = await segue("sessions", "show", "Nothing")
    assert (unknown.code, "no session is called 'Nothing'" in unknown.err) == (1, True)
    assert "`segue sessions list` shows them" in unknown.err
    two = await segue("sessions", "show", "taxes")
    assert two.code == 2
    assert "2 sessions are called 'taxes': web:2, web:1; write the key" in two.err


async def test_a_user_finds_only_their_own_sessions(segue: Segue) -> None:
    async with Kernel(segue.database, agent=_no_agent) as kernel:
        for user in ("ann", "bob"):
            await kernel.sessions.open("web:1", title=f"Of {user}", owner=Owner("default", user))
    found = await segue("sessions", "show", "of ann", "--user", "ann", "--json")
    assert json.loads(found.out)["user"] == "ann"
    assert (await segue("sessions", "show", "of ann", "--user", "bob")).code == 1


async def test_jobs_of_all_sessions_are_listed_without_a_name(segue: Segue) -> None:
    await titled(segue, {"web:1": "Garden", KEY: "Deploy watch"})
    for key, name in (("web:1", "water"), (KEY, "monitor")):
        await segue("jobs", "add", key, "What is new?", *WEEKDAYS, "--name", name)
    listed = json.loads((await segue("jobs", "list", "--json")).out)["jobs"]
    assert {(job["name"], job["session_key"]) for job in listed} == {("water", "web:1"), ("monitor", KEY)}
    table = (await segue("jobs", "list")).out
    assert {"Garden", "Deploy", "water", "monitor"} <= set(table.split())
    assert json.loads((await segue("jobs", "list", "--user", "ann", "--json")).out)["jobs"] == []


@pytest.mark.parametrize(
    "words",
    [
        ("jobs", "add", "web:new", "What is new?", *WEEKDAYS),
        ("recalls", "set", "web:new", "Look again.", "--when", "1h"),
        ("messages", "schedule", "web:new", "Hello.", "--at", "in 2 hours"),
        ("sessions", "add-message", "web:new", "Hello."),
    ],
    ids=lambda words: " ".join(words[:2]),
)
async def test_what_adds_to_a_session_makes_it(segue: Segue, words: tuple[str, ...]) -> None:
    done = await segue(*words)
    assert done.code == 0, done.err
    assert (await segue("sessions", "show", "web:new")).code == 0
    refused = await segue(*(word if word != "web:new" else "no such title" for word in words))
    assert refused.code == 1
    assert "no session is called" in refused.err


async def test_a_terminal_gets_colour_and_lines_that_fit(segue: Segue) -> None:
    await titled(segue, {KEY: "A title that is long enough to be cut on a narrow terminal " * 2})
    await segue("jobs", "add", KEY, "What is new?", *WEEKDAYS)
    segue.env["COLUMNS"] = "90"
    async with at_terminal(segue, "jobs", "list") as terminal:
        assert await terminal.end() == 0
        await terminal.see("active")
    lines = terminal.output.splitlines()
    assert lines[-1] == "Times are in Europe/Berlin."
    assert all(len(line) <= 90 for line in lines), lines
    assert any("…" in line for line in lines)
