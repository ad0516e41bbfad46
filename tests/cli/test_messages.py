"""`segue messages`, on a database that nobody serves."""

import json

from tests.cli.process import Segue

KEY = "websocket:1"


async def test_a_message_is_scheduled_shown_and_cancelled(segue: Segue) -> None:
    await segue("sessions", "add-message", KEY, "Hello.")
    made = await segue("messages", "schedule", KEY, "Good morning.", "--at", "tomorrow at 08:00", "--json")
    assert made.code == 0, made.err
    told = json.loads(made.out)
    assert (told["session_id"], told["message_text"], told["cancelled"]) == (KEY, "Good morning.", [])
    shown = await segue("messages", "show", told["task_id"])
    assert "Good morning." in shown.out
    assert "pending" in shown.out
    listed = await segue("messages", "list", KEY)
    assert told["task_id"] in listed.out
    cancelled = await segue("messages", "cancel", told["task_id"], "--json")
    assert json.loads(cancelled.out)["status"] == "cancelled"
    left = await segue("messages", "list", KEY, "--status", "pending")
    assert left.out == f"None was written in {KEY}.\n"
    whole = await segue("messages", "list", KEY, "--json")
    assert [one["status"] for one in json.loads(whole.out)["messages"]] == ["cancelled"]


async def test_replacing_says_what_it_cancelled(segue: Segue) -> None:
    await segue("sessions", "add-message", KEY, "Hello.")
    old = await segue("messages", "schedule", KEY, "One.", "--at", "in 1 hour", "--json")
    new = await segue("messages", "schedule", KEY, "Two.", "--at", "in 2 hours", "--replace-existing")
    assert f"Cancelled in its favour: {json.loads(old.out)['task_id']}" in new.out


async def test_what_is_wrong_is_a_sentence_and_an_exit_code(segue: Segue) -> None:
    await segue("sessions", "add-message", KEY, "Hello.")
    past = await segue("messages", "schedule", KEY, "Hello.", "--at", "2020-01-01T00:00:00Z")
    assert past.code == 2
    assert past.err.startswith("Error: ")
    empty = await segue("messages", "schedule", KEY, " ", "--at", "in 1 hour")
    assert (empty.code, "empty" in empty.err) == (2, True)
    nobody = await segue("messages", "list", "websocket:nobody")
    assert (nobody.code, "no session" in nobody.err) == (1, True)
    gone = await segue("messages", "cancel", "nothing")
    assert gone.code == 1
