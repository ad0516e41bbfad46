"""Scheduled messages: written now, sent then, on both databases. Numbers are those of the requirements."""

import asyncio
from datetime import timedelta
from itertools import count

import pytest

from segue import Ask, At, Every, Kernel, NotTaken, Owner, Say
from segue.errors import AlreadyStarted, BadTime, EmptyText, NotFound, NotPrivateChat, NotStored
from segue.kernel.api.scheduled_messages import MessageScheduled
from segue.kernel.transactions.idempotency import Request
from segue.model.records import ScheduledMessage, message_id
from segue.model.states import MessageStatus
from segue.testing import FaultyStore, ManualClock, RecordingChannel, ScriptedAgent, quiet
from tests.flows.house import OpenKernel
from tests.flows.story import CHAT, count_rows, log, said, under_way

PHONE = "test:1"


async def statuses(kernel: Kernel, key: str = PHONE) -> dict[str, str]:
    """What became of each text."""
    return {one.text: str(one.status) for one in await kernel.scheduled_messages.list(key)}


async def write(
    kernel: Kernel, text: str, send_at: str = "in 1 hour", **options: bool | str
) -> MessageScheduled:
    await kernel.sessions.open(PHONE)
    return await kernel.scheduled_messages.add(PHONE, send_at, text, **options)  # type: ignore[arg-type]


async def look(kernel: Kernel, promised: MessageScheduled) -> ScheduledMessage:
    return await kernel.scheduled_messages.get(promised.message.id)


async def test_a_message_is_sent_at_its_time_word_for_word_and_no_model_is_asked(
    kernel: Kernel, clock: ManualClock, agent: ScriptedAgent, channel: RecordingChannel
) -> None:
    """B1.7, B6.2, B6.4, B7.1, B7.3, B7.5: nothing goes out before, nothing is thought over."""
    text = "  Your flight\n\nleaves at *noon*.  "
    promised = await write(kernel, text)
    await quiet(kernel)
    assert (channel.texts, promised.message.status) == ([], "pending")
    clock.advance(minutes=59, seconds=59)
    await quiet(kernel)
    assert channel.texts == []
    clock.advance(seconds=1)
    await quiet(kernel)
    assert channel.texts == [text]
    assert await said(kernel, PHONE) == [("assistant", text)]
    assert agent.asked == []
    [message] = await kernel.messages(PHONE)
    assert message.source is not None
    assert (message.source.kind, message.source.job_id) == ("scheduled_send", promised.message.id)


async def test_the_record_of_a_message_says_everything_about_it(
    kernel: Kernel, clock: ManualClock, channel: RecordingChannel
) -> None:
    """B4.1, B4.2, B4.3, B4.5: pending, then sent with the channel's id and the moment."""
    before = clock.ms()
    promised = await write(kernel, "Drink water.", tool_call_id="call-7")
    first = promised.message
    session = await kernel.sessions.get(PHONE)
    assert (first.session_id, first.chat_type, first.text) == (session.id, "private", "Drink water.")
    assert (first.send_at, first.created_at, first.updated_at) == (before + 3_600_000, before, before)
    assert (first.status, first.sent_at, first.sent_message_id) == ("pending", None, None)
    assert (first.created_by_tool_call_id, first.cancelled_by_tool_call_id) == ("call-7", None)
    assert (first.replace_existing, first.last_error, promised.cancelled) == (False, None, ())
    clock.advance(hours=1)
    await quiet(kernel)
    then = await look(kernel, promised)
    assert (then.status, then.sent_at, then.updated_at) == ("sent", clock.ms(), clock.ms())
    assert then.sent_message_id == f"test-{channel.sent[0].id}"
    assert then.created_at == before


async def test_where_stored_is_sent_the_record_names_the_stored_message(
    kernel: Kernel, clock: ManualClock
) -> None:
    """B4.5: a web chat has no id of its own for it, so it is the transcript's."""
    await kernel.log.write(CHAT, "user", "Remind me.")
    promised = await kernel.scheduled_messages.add(CHAT, "in 1 hour", "Drink water.")
    clock.advance(hours=1)
    await quiet(kernel)
    message = (await kernel.messages(CHAT))[-1]
    assert message.content == "Drink water."
    session = await kernel.sessions.get(CHAT)
    assert (await look(kernel, promised)).sent_message_id == message_id(session.id, message.seq)


async def test_it_is_sent_on_time_while_a_turn_runs_and_the_running_model_does_not_see_it(
    kernel: Kernel, clock: ManualClock, agent: ScriptedAgent, channel: RecordingChannel
) -> None:
    """Sent in the middle of a turn; in the model's context it stands after that turn (B7.6)."""
    agent.script("A long answer.", "Another.")
    await write(kernel, "Drink water.", "in 1 minute")
    await kernel.receive(PHONE, "Tell me something long.")
    async with under_way(kernel, agent):
        clock.advance(minutes=1)
        await kernel.workers.timer.step()
        await kernel.workers.courier.step()
        assert channel.texts == ["Drink water."]
    await kernel.receive(PHONE, "And now?")
    await quiet(kernel)
    assert [(message.role, message.content) for message in agent.asked[-1].history] == [
        ("user", "Tell me something long."),
        ("assistant", "A long answer."),
        ("assistant", "Drink water."),
    ]


async def test_the_next_turn_sees_it_as_the_assistants_own_words(
    kernel: Kernel, clock: ManualClock, agent: ScriptedAgent
) -> None:
    """B7.4, B7.6: no user was connected when it was sent, and the next turn knows of it."""
    await write(kernel, "Drink water.")
    clock.advance(hours=1)
    await quiet(kernel)
    await kernel.receive(PHONE, "What did you just say?")
    await quiet(kernel)
    assert [(message.role, message.content) for message in agent.asked[-1].history] == [
        ("assistant", "Drink water.")
    ]


async def test_several_messages_wait_side_by_side_and_each_is_sent(
    kernel: Kernel, clock: ManualClock, channel: RecordingChannel
) -> None:
    """B5.2, B5.3: without `replace_existing` nothing is cancelled, not even the same words again."""
    for _ in range(3):
        assert (await write(kernel, "Drink water.")).cancelled == ()
    clock.advance(hours=1)
    await quiet(kernel)
    assert channel.texts == ["Drink water."] * 3


async def test_replacing_cancels_all_that_wait_in_this_session_and_nothing_else(
    kernel: Kernel, clock: ManualClock, channel: RecordingChannel
) -> None:
    """B2.1, B4.5, B5.1, B5.4, B5.5."""
    await write(kernel, "sent already", "in 1 minute")
    clock.advance(minutes=1)
    await quiet(kernel)
    old = [await write(kernel, text) for text in ("one", "two")]
    plain = await kernel.schedule(PHONE, At(clock.now() + timedelta(hours=1)), Say("a plain job"))
    cron = await kernel.schedule(PHONE, Every(3600), Ask("Look."))
    await kernel.sessions.open("test:2")
    other = await kernel.scheduled_messages.add("test:2", "in 1 hour", "of another chat")
    new = await write(kernel, "new", replace_existing=True, tool_call_id="call-9")
    assert new.cancelled == (old[0].message.id, old[1].message.id, plain.id)
    assert new.message.replace_existing
    for each in old:
        gone = await look(kernel, each)
        assert (gone.status, gone.cancelled_by_tool_call_id) == ("cancelled", "call-9")
        assert gone.replaced_by == new.message.id
    assert (await kernel.jobs.get(cron.id)).state == "active"
    assert (await look(kernel, other)).status == "pending"
    clock.advance(hours=1)
    await quiet(kernel)
    assert channel.texts[0] == "sent already"
    assert {"new", "of another chat"} <= set(channel.texts)
    assert not {"one", "two", "a plain job"} & set(channel.texts)
    assert (await statuses(kernel))["sent already"] == "sent"


REFUSED = {
    "empty": ("in 1 hour", "", EmptyText, "empty_text"),
    "blank": ("in 1 hour", " \n\t ", EmptyText, "empty_text"),
    "unreadable": ("when the cows come home", "Hello", BadTime, "invalid_time"),
    "no such day": ("2027-02-30T10:00:00Z", "Hello", BadTime, "invalid_time"),
    "past": ("2020-01-01T00:00:00Z", "Hello", BadTime, "invalid_time"),
    "now": ("2026-11-16T09:00:00Z", "Hello", BadTime, "invalid_time"),
    "no time": ("", "Hello", BadTime, "invalid_time"),
}


async def test_what_is_refused_leaves_nothing_and_cancels_nothing(
    kernel: Kernel, clock: ManualClock, subtests: pytest.Subtests
) -> None:
    """B2.2, B2.3, B2.4, B2.6. The clock stands at 09:00 on 16 November 2026."""
    there = await write(kernel, "waits")
    rows = await count_rows(kernel)
    for case, (send_at, text, error, code) in REFUSED.items():
        with subtests.test(case):
            with pytest.raises(error) as refusal:
                await write(kernel, text, send_at, replace_existing=True)
            assert refusal.value.code == code
            assert await count_rows(kernel) == rows
            assert (await look(kernel, there)).status == "pending"


async def test_a_group_is_no_place_for_it(kernel: Kernel) -> None:
    """B1.3, B9.1."""
    await kernel.sessions.open("test:team", chat_type="group")
    with pytest.raises(NotPrivateChat) as refusal:
        await kernel.scheduled_messages.add("test:team", "in 1 hour", "Hello")
    assert refusal.value.code == "not_private_chat"
    assert await kernel.scheduled_messages.list("test:team") == []


async def test_without_a_session_there_is_no_message(kernel: Kernel) -> None:
    """B2.5."""
    with pytest.raises(NotFound):
        await kernel.scheduled_messages.add("test:unknown", "in 1 hour", "Hello")
    assert await kernel.sessions.list() == []


async def test_a_message_that_could_not_be_stored_says_so_and_cancels_nothing(
    kernel: Kernel, clock: ManualClock
) -> None:
    """B2.2, B2.6."""
    await write(kernel, "waits")
    whole = kernel.store.database
    for n in count(1):
        kernel.store.database = FaultyStore(whole, fail_at=n)
        try:
            await kernel.scheduled_messages.add(PHONE, "in 1 hour", "new", replace_existing=True)
            break
        except NotStored:
            assert await statuses(kernel) == {"waits": "pending"}
    assert NotStored.code == "storage_failure"
    assert n > 5, "every statement has failed once"
    kernel.store.database = whole
    assert await statuses(kernel) == {"waits": "cancelled", "new": "pending"}


async def test_a_naive_time_is_of_the_sessions_zone_and_an_offset_is_exact(
    kernel: Kernel, clock: ManualClock
) -> None:
    """B3.1, B3.2, B3.3."""
    await kernel.sessions.open(PHONE, timezone="Asia/Tokyo")
    promised = [
        await kernel.scheduled_messages.add(PHONE, when, "Hello")
        for when in ("2026-11-17T09:00:00", "2026-11-17T09:00:00+01:00", "in 2h")
    ]
    midnight = clock.ms() - 9 * 3_600_000
    assert [one.message.send_at - midnight for one in promised] == [
        24 * 3_600_000,
        (24 + 8) * 3_600_000,
        11 * 3_600_000,
    ]


async def test_a_cancelled_message_is_not_sent(
    kernel: Kernel, clock: ManualClock, channel: RecordingChannel
) -> None:
    """B4.3, B4.5, B5.5."""
    promised = await write(kernel, "Drink water.")
    clock.advance(minutes=1)
    cancelled = await kernel.scheduled_messages.cancel(promised.message.id, tool_call_id="call-8")
    assert (cancelled.status, cancelled.cancelled_by_tool_call_id) == ("cancelled", "call-8")
    assert cancelled.updated_at == clock.ms()
    clock.advance(hours=1)
    await quiet(kernel)
    assert channel.texts == []
    assert await said(kernel, PHONE) == []


async def test_one_that_came_due_and_waits_to_be_sent_can_still_be_cancelled(
    kernel: Kernel, clock: ManualClock, channel: RecordingChannel
) -> None:
    """B6.3, B6.5: refused by a busy channel, it waits; cancelled, it is not tried again."""
    channel.fail(NotTaken("slow down", retry_after=60))
    promised = await write(kernel, "Drink water.")
    clock.advance(hours=1)
    await quiet(kernel)
    assert (await look(kernel, promised)).status == "pending"
    cancelled = await kernel.scheduled_messages.cancel(promised.message.id)
    assert cancelled.status == "cancelled"
    clock.advance(minutes=2)
    await quiet(kernel)
    assert channel.texts == []


@pytest.mark.parametrize("end", ["sent", "failed", "cancelled"])
async def test_an_end_is_an_end(
    kernel: Kernel, clock: ManualClock, channel: RecordingChannel, end: str
) -> None:
    """B4.3, B4.4: whatever became of it, neither a cancel nor a replacement changes it."""
    promised = await write(kernel, "Drink water.")
    if end == "failed":
        channel.fail(ConnectionResetError("gone"))
    if end == "cancelled":
        await kernel.scheduled_messages.cancel(promised.message.id, tool_call_id="first")
    clock.advance(hours=1)
    await quiet(kernel)
    there = await look(kernel, promised)
    assert there.status == end
    with pytest.raises(AlreadyStarted):
        await kernel.scheduled_messages.cancel(promised.message.id, tool_call_id="second")
    await write(kernel, "new", replace_existing=True)
    assert await look(kernel, promised) == there


async def test_a_send_that_fails_says_why_and_the_others_go_on(
    kernel: Kernel, clock: ManualClock, channel: RecordingChannel
) -> None:
    """B4.5, B6.6, B7.2, B7.7: one attempt where a repeat could double; the loop lives."""
    channel.fail(RuntimeError("the line went dead"))
    promised = await write(kernel, "one")
    await write(kernel, "two")
    clock.advance(hours=1)
    await quiet(kernel)
    failed = await look(kernel, promised)
    assert (failed.status, failed.last_error) == ("failed", "delivery unknown: the line went dead")
    assert (failed.sent_at, failed.sent_message_id) == (None, None)
    assert channel.texts == ["two"]
    await write(kernel, "three")
    clock.advance(hours=1)
    await quiet(kernel)
    assert channel.texts == ["two", "three"]


async def test_several_due_messages_go_out_by_time_and_then_as_they_were_written(
    kernel: Kernel, clock: ManualClock, channel: RecordingChannel
) -> None:
    """B6.7: whichever courier takes them, in whatever order."""
    for text, when in (("c", "30m"), ("a", "10m"), ("d", "30m"), ("b", "20m"), ("e", "30m")):
        await write(kernel, text, f"in {when}")
    clock.advance(hours=1)
    await quiet(kernel)
    assert channel.texts == ["a", "b", "c", "d", "e"]


async def test_a_message_does_not_overtake_one_that_was_due_before_and_is_still_to_be_taken(
    kernel: Kernel, clock: ManualClock, channel: RecordingChannel
) -> None:
    """B6.7: two timers, and the one with the earlier message is the slower."""
    await write(kernel, "first", "in 10m")
    second = await write(kernel, "second", "in 20m")
    clock.advance(hours=1)
    due = await kernel.store.due_jobs(clock.ms(), 10)
    later = [one for one in due if getattr(one, "job", None) and one.job.id == second.message.id]  # type: ignore[union-attr]
    await kernel.workers.timer._handle(later[0], clock.ms())
    assert await kernel.workers.courier.step() == 0
    assert await kernel.store.next_delivery() is None, "nothing to wake up for"
    await quiet(kernel)
    assert channel.texts == ["first", "second"]


async def test_a_message_due_while_no_worker_ran_is_sent_when_one_does(
    open_kernel: OpenKernel, clock: ManualClock, channel: RecordingChannel
) -> None:
    """B6.1, B8.1: after a month, by another process."""
    kernel = await open_kernel()
    promised = await write(kernel, "Drink water.")
    clock.advance(days=31)
    later = await open_kernel()
    await quiet(later)
    assert channel.texts == ["Drink water."]
    assert (await look(later, promised)).status == "sent"


async def test_the_workers_send_it_by_themselves(open_kernel: OpenKernel) -> None:
    """B6.1: a running kernel, by the machine's clock."""
    channel = RecordingChannel("test")
    kernel = await open_kernel(clock=None, channels=[channel])
    await kernel.sessions.open(PHONE)
    promised = await kernel.scheduled_messages.add(PHONE, "in 1 second", "Drink water.")
    async with asyncio.timeout(20), asyncio.TaskGroup() as group:
        running = group.create_task(kernel.run())
        async for heard in kernel.follow(PHONE):
            if getattr(heard, "content", None) == "Drink water.":
                break
        running.cancel()
    assert (await look(kernel, promised)).status == "sent"


async def told(kernel: Kernel) -> list[str]:
    """Which of them the session's listeners were told of, in order."""
    return [each.body["job_id"] for each in await kernel.log.events(PHONE) if each.type == "message_update"]


async def test_who_watches_is_told_of_each_that_is_written_replaced_or_cancelled(kernel: Kernel) -> None:
    """Each event once, in the log and to those who follow."""
    one = (await write(kernel, "one")).message.id
    heard: list[str] = []
    follower = kernel.follow(PHONE, after=1)
    two = (await write(kernel, "two", replace_existing=True)).message.id
    await kernel.scheduled_messages.cancel(two)
    async for event in follower:
        heard.append(event.body["job_id"])  # type: ignore[union-attr]
        if len(heard) == 3:
            break
    assert await told(kernel) == [one, two, one, two]
    assert heard == [two, one, two]


async def test_who_watches_is_told_that_one_that_was_due_is_taken_back(
    kernel: Kernel, clock: ManualClock, channel: RecordingChannel
) -> None:
    channel.fail(NotTaken("slow down", retry_after=60))
    promised = (await write(kernel, "Drink water.")).message.id
    clock.advance(hours=1)
    await quiet(kernel)
    assert await told(kernel) == [promised]
    await kernel.scheduled_messages.cancel(promised)
    assert await told(kernel) == [promised, promised]


async def test_that_a_message_was_sent_is_told_by_the_message_alone(
    kernel: Kernel, clock: ManualClock, channel: RecordingChannel
) -> None:
    await write(kernel, "Drink water.")
    clock.advance(hours=1)
    await quiet(kernel)
    assert await log(kernel, PHONE) == ["message_update", "message"]


async def test_a_list_shows_what_became_of_them_the_newest_first(
    kernel: Kernel, clock: ManualClock, channel: RecordingChannel
) -> None:
    """B4.2, B4.7."""
    channel.fail(RuntimeError("boom"))
    for text, when in (("failed", "1m"), ("sent", "2m"), ("cancelled", "3h"), ("pending", "4h")):
        await write(kernel, text, f"in {when}")
        clock.advance(milliseconds=1)
    clock.advance(minutes=2)
    await quiet(kernel)
    [third] = [one for one in await kernel.scheduled_messages.list(PHONE) if one.text == "cancelled"]
    await kernel.scheduled_messages.cancel(third.id)
    assert [one.text for one in await kernel.scheduled_messages.list(PHONE)] == [
        "pending",
        "cancelled",
        "sent",
        "failed",
    ]
    for status in MessageStatus:
        found = await kernel.scheduled_messages.list(PHONE, status=status)
        assert [one.text for one in found] == [status]
    newest = await kernel.scheduled_messages.list(PHONE, limit=2)
    rest = await kernel.scheduled_messages.list(PHONE, limit=2, before=newest[-1].page_start)
    assert [one.text for one in (*newest, *rest)] == ["pending", "cancelled", "sent", "failed"]


async def test_messages_of_another_user_are_not_found(kernel: Kernel) -> None:
    promised = await write(kernel, "Drink water.")
    stranger = Owner("default", "eve")
    with pytest.raises(NotFound):
        await kernel.scheduled_messages.get(promised.message.id, owner=stranger)
    with pytest.raises(NotFound):
        await kernel.scheduled_messages.cancel(promised.message.id, owner=stranger)
    with pytest.raises(NotFound):
        await kernel.scheduled_messages.add(PHONE, "in 1 hour", "Hello", owner=stranger)


async def test_a_request_that_comes_twice_is_one_message_and_one_answer(kernel: Kernel) -> None:
    await write(kernel, "old")
    request = Request(owner=Owner(), name="same", digest="1")
    first, again = [
        await kernel.scheduled_messages.add(PHONE, "in 1 hour", "new", replace_existing=True, request=request)
        for _ in range(2)
    ]
    assert first == again
    assert len(first.cancelled) == 1
    assert await statuses(kernel) == {"old": "cancelled", "new": "pending"}


async def test_a_repeating_say_is_a_job_and_no_scheduled_message(kernel: Kernel, clock: ManualClock) -> None:
    job = await kernel.schedule(CHAT, Every(3600), Say("Drink water."))
    assert await kernel.scheduled_messages.list(CHAT) == []
    await kernel.scheduled_messages.add(CHAT, "in 1 hour", "Hello", replace_existing=True)
    assert (await kernel.jobs.get(job.id)).state == "active"
