"""Scheduled message tools: what they accept, return and refuse."""

import json
from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any

import pytest
import pytest_asyncio

from segue import Kernel, Settings
from segue.agents.offline import OfflineAgent
from segue.agents.tools.registry import Registry, ToolContext
from segue.agents.tools.scheduled_messages import message_tools
from segue.testing import FaultyStore, ManualClock, RecordingChannel, ScriptedAgent, quiet
from tests.tools.using import refused, result

CHAT = "test:1"
SCHEDULE, LIST, CANCEL = (tool.name for tool in message_tools())


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
def channel() -> RecordingChannel:
    return RecordingChannel("test")


@pytest_asyncio.fixture
async def context(
    database_url: str, clock: ManualClock, channel: RecordingChannel
) -> AsyncIterator[ToolContext]:
    settings = Settings(timezone="Europe/Berlin")
    async with Kernel(
        database_url, agent=ScriptedAgent(), clock=clock, settings=settings, channels=[channel]
    ) as kernel:
        await kernel.sessions.open(CHAT)
        yield ToolContext(kernel=kernel, session=await kernel.sessions.get(CHAT), turn_id="t-1")
        assert not await kernel.audit()


async def schedule(context: ToolContext, **arguments: Any) -> dict[str, Any]:
    given = {"send_at": "tomorrow at 08:00", "message_text": "Good morning.", **arguments}
    told: dict[str, Any] = json.loads(await result(context, message_tools(), SCHEDULE, **given))
    return told


async def refusal(context: ToolContext, **arguments: Any) -> str:
    given = {"send_at": "tomorrow at 08:00", "message_text": "Good morning.", **arguments}
    return await refused(context, message_tools(), SCHEDULE, **given)


def test_the_names_and_schemas_match_the_contract() -> None:
    """B1.1, B1.4, B1.5, B1.6."""
    assert (SCHEDULE, LIST, CANCEL) == (
        "schedule_private_message",
        "list_scheduled_private_messages",
        "cancel_scheduled_private_message",
    )
    form = message_tools()[0].parameters
    assert {name: each["type"] for name, each in form["properties"].items()} == {
        "send_at": "string",
        "message_text": "string",
        "replace_existing": "boolean",
    }
    assert form["required"] == ["send_at", "message_text"]
    assert form["properties"]["replace_existing"]["default"] is False


async def test_it_is_offered_in_private_chats_and_not_in_groups(context: ToolContext) -> None:
    """B1.2, B1.3: offered from the start."""
    box = await Registry(message_tools()).open(context)
    assert list(box.tools) == [SCHEDULE, LIST, CANCEL]
    await context.kernel.sessions.open("test:team", chat_type="group")
    group = replace(context, session=await context.kernel.sessions.get("test:team"))
    assert dict((await Registry(message_tools()).open(group)).tools) == {}
    assert "no tool" in await refusal(group)
    [tool, *_] = message_tools()
    with pytest.raises(Exception, match="not_private_chat"):
        await tool.run(group, send_at="in 1 hour", message_text="Hello")


async def test_it_answers_what_will_be_sent_and_sends_nothing(
    context: ToolContext, channel: RecordingChannel
) -> None:
    """B1.7, B2.1, B3.2, B4.6: the time comes back with its offset, the row knows the call."""
    told = await schedule(context)
    assert told == {
        "task_id": told["task_id"],
        "session_id": CHAT,
        "send_at": "2026-11-17T08:00:00+01:00",
        "message_text": "Good morning.",
        "replace_existing": False,
    }
    await quiet(context.kernel)
    assert channel.texts == []
    stored = await context.kernel.scheduled_messages.get(told["task_id"])
    assert stored.created_by_tool_call_id == "c-1"


async def test_replacing_names_what_was_cancelled(context: ToolContext) -> None:
    """B2.1, B5.1."""
    first = await schedule(context)
    second = await schedule(context, replace_existing=True)
    assert second["cancelled"] == [first["task_id"]]
    gone = await context.kernel.scheduled_messages.get(first["task_id"])
    assert (gone.status, gone.cancelled_by_tool_call_id) == ("cancelled", "c-1")


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        ({"message_text": "  "}, "empty_text"),
        ({"send_at": "someday"}, "invalid_time"),
        ({"send_at": "2026-11-16T08:59:59Z"}, "invalid_time"),
        ({"send_at": "2027-02-30T08:00:00Z"}, "invalid_time"),
    ],
)
async def test_each_refusal_has_its_own_code(
    context: ToolContext, arguments: dict[str, Any], code: str
) -> None:
    """B2.2, B2.3, B2.4."""
    assert (await refusal(context, **arguments)).startswith(f"{code}: ")
    assert await context.kernel.scheduled_messages.list(CHAT) == []


async def test_a_session_named_by_the_model_is_refused(context: ToolContext) -> None:
    """B1.5, B1.6."""
    await context.kernel.sessions.open("test:2")
    assert "knows no `session_id`" in await refusal(context, session_id="test:2")
    assert "knows no `intent_key`" in await refusal(context, intent_key="reminder")
    assert await context.kernel.scheduled_messages.list("test:2") == []


async def test_a_store_failure_has_its_own_code_and_reveals_nothing(context: ToolContext) -> None:
    """B2.2."""
    store, whole = context.kernel.store, context.kernel.store.database
    store.database = FaultyStore(whole, fail_at=1)
    assert (await refusal(context)).startswith("storage_failure: the message was not stored")
    store.database = whole
    assert await context.kernel.scheduled_messages.list(CHAT) == []


async def test_a_deleted_conversation_takes_no_message(context: ToolContext) -> None:
    """B2.5."""
    await context.kernel.sessions.delete(CHAT)
    assert (await refusal(context)).startswith("not_found: ")


async def test_the_list_shows_the_status_of_each(
    context: ToolContext, clock: ManualClock, channel: RecordingChannel
) -> None:
    assert await result(context, message_tools(), LIST) == "No message is scheduled here."
    channel.fail(RuntimeError("gone"))
    for text, when in (("one", "1m"), ("two", "2m"), ("three", "1h")):
        await schedule(context, message_text=text, send_at=f"in {when}")
        clock.advance(milliseconds=1)
    clock.advance(minutes=2)
    await quiet(context.kernel)
    lines = [json.loads(line) for line in (await result(context, message_tools(), LIST)).splitlines()]
    assert [(line["message_text"], line["status"]) for line in lines] == [
        ("three", "pending"),
        ("two", "sent"),
        ("one", "failed"),
    ]
    assert lines[1]["sent_at"] == "2026-11-16T10:02:00.003000+01:00"
    assert lines[2]["last_error"] == "delivery unknown: gone"
    waiting = await result(context, message_tools(), LIST, status="pending")
    assert json.loads(waiting)["message_text"] == "three"
    assert await result(context, message_tools(), LIST, status="cancelled") == "No message here is cancelled."


async def test_a_message_is_cancelled_by_its_id_and_only_in_its_own_chat(
    context: ToolContext, clock: ManualClock, channel: RecordingChannel
) -> None:
    told = await schedule(context)
    await context.kernel.sessions.open("test:2")
    elsewhere = replace(context, session=await context.kernel.sessions.get("test:2"))
    assert "is not found here" in await refused(elsewhere, message_tools(), CANCEL, task_id=told["task_id"])
    assert "is not found here" in await refused(context, message_tools(), CANCEL, task_id="nothing")
    cancelled = json.loads(await result(context, message_tools(), CANCEL, task_id=told["task_id"]))
    assert (cancelled["task_id"], cancelled["status"]) == (told["task_id"], "cancelled")
    assert "can no longer be cancelled" in await refused(
        context, message_tools(), CANCEL, task_id=told["task_id"]
    )
    clock.advance(days=1)
    await quiet(context.kernel)
    assert channel.texts == []


async def test_the_result_joins_the_turns_record_and_the_planner_answers_in_the_same_turn(
    database_url: str, clock: ManualClock, channel: RecordingChannel
) -> None:
    """B1.2, B1.8: the offline model calls the tool, and then says so."""
    kernel: Kernel
    agent = OfflineAgent(Registry(message_tools()))
    settings = Settings(timezone="Europe/Berlin")
    async with Kernel(
        database_url, agent=agent, clock=clock, settings=settings, channels=[channel]
    ) as kernel:
        await kernel.receive(CHAT, "Please tell me at 18:00 that the shop closes soon")
        await quiet(kernel)
        kinds = [event.type for event in await kernel.log.events(CHAT)]
        assert kinds.index("tool_started") < kinds.index("tool_call") < kinds.index("stream_end")
        [called] = [event.body for event in await kernel.log.events(CHAT) if event.type == "tool_call"]
        assert json.loads(called["result"])["send_at"] == "2026-11-16T18:00:00+01:00"
        assert "I will write “The shop closes soon” here" in channel.texts[0]
        [stored] = await kernel.scheduled_messages.list(CHAT)
        assert stored.created_by_tool_call_id == called["call_id"]
        await kernel.receive(CHAT, "list scheduled messages")
        await quiet(kernel)
        assert "The shop closes soon" in channel.texts[1]
        clock.advance(hours=8)
        await quiet(kernel)
        assert channel.texts[2] == "The shop closes soon"
