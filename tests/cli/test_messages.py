"""`segue messages`, without a running server."""

import json

import pytest

from segue import Arrival, Kernel, Rejected
from segue.model.channel import Door
from segue.testing import ManualClock, RecordingChannel, ScriptedAgent, quiet
from tests.cli.process import Segue

pytestmark = pytest.mark.usefixtures("ready")

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
    assert left.out == f"There are no scheduled messages in {KEY}.\n"
    whole = await segue("messages", "list", KEY, "--json")
    assert [one["status"] for one in json.loads(whole.out)["messages"]] == ["cancelled"]


async def test_a_replacement_names_the_cancelled_message(segue: Segue) -> None:
    await segue("sessions", "add-message", KEY, "Hello.")
    old = await segue("messages", "schedule", KEY, "One.", "--at", "in 1 hour", "--json")
    new = await segue("messages", "schedule", KEY, "Two.", "--at", "in 2 hours", "--replace-existing")
    assert f"Replaced: {json.loads(old.out)['task_id']}" in new.out


async def test_an_error_is_a_sentence_and_an_exit_code(segue: Segue) -> None:
    await segue("sessions", "add-message", KEY, "Hello.")
    past = await segue("messages", "schedule", KEY, "Hello.", "--at", "2020-01-01T00:00:00Z")
    assert past.code == 2
    assert past.err.startswith("Error: ")
    empty = await segue("messages", "schedule", KEY, " ", "--at", "in 1 hour")
    assert (empty.code, "empty" in empty.err) == (2, True)
    missing = await segue("messages", "list", "websocket:none")
    assert (missing.code, "no session" in missing.err) == (1, True)
    gone = await segue("messages", "cancel", "nothing")
    assert gone.code == 1


async def test_deliveries_are_listed_with_their_state(segue: Segue) -> None:
    clock, channel = ManualClock(), RecordingChannel("test")
    channel.fail(Rejected("the chat is gone"))
    async with Kernel(segue.database, agent=ScriptedAgent(), channels=[channel], clock=clock) as kernel:
        await kernel.receive("test:1", "Hello")
        await quiet(kernel)
    listed = await segue("messages", "deliveries", "test:1")
    assert "failed" in listed.out
    assert "the chat is gone" in listed.out
    told = json.loads((await segue("messages", "deliveries", "test:1", "--json")).out)
    assert [one["state"] for one in told["deliveries"]] == ["failed"]


async def test_a_sender_is_allowed_and_removed(segue: Segue) -> None:
    door = Door(pairing=True)
    channel = RecordingChannel("test")
    channel.door = door
    async with Kernel(segue.database, agent=ScriptedAgent(), channels=[channel]) as kernel:
        words = await kernel.guests.inbox(channel).take(Arrival(chat_id="1", text="Hi", sender="7", id="1"))
        assert words is not None
        assert (
            await kernel.guests.inbox(channel).take(Arrival(chat_id="1", text="Hi", sender="7", id="2"))
            is None
        )
    [guest] = json.loads((await segue("channels", "list", "--json")).out)["guests"]
    assert (guest["sender"], guest["allowed"]) == ("7", False)
    assert guest["code"] in words
    assert (await segue("channels", "allow", "WRONG")).code == 1
    allowed = await segue("channels", "allow", guest["code"])
    assert allowed.out == "7 may now write through test.\n"
    assert "allowed" in (await segue("channels", "list")).out
    assert (await segue("channels", "forget", "test", "7")).code == 0
    assert (await segue("channels", "list")).out == "No sender asks for access.\n"
