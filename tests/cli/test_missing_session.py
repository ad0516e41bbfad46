"""Commands on a missing session: they refuse it alike, or make it; a refused command makes nothing."""

import json

import pytest

from tests.cli.process import Segue

pytestmark = pytest.mark.usefixtures("ready")

KEY = "websocket:missing"

REFUSE = (
    ("sessions", "show", KEY),
    ("sessions", "export", KEY),
    ("sessions", "commit", KEY),
    ("sessions", "stop", KEY),
    ("sessions", "remove", KEY),
    ("sessions", "edit", KEY, "--title", "A title"),
    ("jobs", "list", KEY),
    ("recalls", "list", KEY),
    ("recalls", "show", KEY),
    ("recalls", "cancel", KEY),
    ("recalls", "skip", KEY),
    ("messages", "list", KEY),
    ("runs", "list", KEY),
)
MISTAKEN = (
    ("recalls", "set", KEY, "Look.", "--when", "yesterday at 9", "--timezone", "UTC"),
    ("recalls", "set", KEY, "Look.", "--when", "in 1 hour", "--interval-seconds", "-5"),
    ("messages", "schedule", KEY, "Hello.", "--at", "some time"),
    ("messages", "schedule", KEY, " ", "--at", "in 1 hour"),
    ("jobs", "add", KEY, "Go.", "--schedule", "whenever"),
    ("jobs", "add", KEY, "Go.", "--schedule", "0 9 * * *", "--days", "Atlantis", "--timezone", "UTC"),
    ("sessions", "add-message", KEY, "Hello.", "--role", "king"),
    ("sessions", "add-message", KEY, "Hello.", "--created-at", "soon"),
)
MAKE = (
    ("recalls", "set", f"{KEY}-1", "Look.", "--when", "in 1 hour"),
    ("messages", "schedule", f"{KEY}-2", "Hello.", "--at", "in 1 hour"),
    ("jobs", "add", f"{KEY}-3", "Go.", "--schedule", "every 2h"),
    ("sessions", "add-message", f"{KEY}-4", "Hello."),
)


async def keys(segue: Segue) -> list[str]:
    return [each["key"] for each in json.loads((await segue("sessions", "list", "--json")).out)["sessions"]]


async def test_a_missing_session_is_refused_with_one_sentence_and_not_made(segue: Segue) -> None:
    await segue("days", "list")  # makes the database
    for command in REFUSE:
        refused = await segue(*command)
        assert (refused.code, f"there is no session {KEY}" in refused.err) == (1, True), (
            command,
            refused.err,
        )
    assert await keys(segue) == []


async def test_a_refused_command_leaves_no_session(segue: Segue) -> None:
    await segue("days", "list")
    for command in MISTAKEN:
        refused = await segue(*command)
        assert refused.code in (1, 2), command
        assert refused.err.strip(), command
    assert await keys(segue) == []


async def test_a_command_that_writes_makes_a_missing_session(segue: Segue) -> None:
    for command in MAKE:
        made = await segue(*command)
        assert made.code == 0, (command, made.err)
    assert sorted(await keys(segue)) == [f"{KEY}-{number}" for number in range(1, 5)]
