"""A recall and whatever else happens in its session: words, other turns, a stop, a cancellation."""

from dataclasses import replace
from datetime import timedelta

import pytest

from segue import Busy, Kernel, Settings
from segue.errors import NotFound, RecallPending
from segue.testing import ManualClock, ScriptedAgent, quiet
from segue.times.clock import to_moment
from tests.flows.house import OpenKernel
from tests.flows.recall_helpers import CHECK, ended, poll, set_one, status
from tests.flows.story import CHAT, log, said, under_way, until, working


async def test_messages_that_come_during_its_run_wait_and_are_answered_next(
    kernel: Kernel, clock: ManualClock, agent: ScriptedAgent
) -> None:
    """C5.4."""
    await set_one(kernel)
    clock.advance(minutes=30)
    agent.script("No errors.")
    async with under_way(kernel, agent):
        await kernel.receive(CHAT, "And now?")
        await kernel.receive(CHAT, "Join it!", when_busy="inject")
        assert (await said(kernel))[-1][0] == "user"
        assert len(agent.asked) == 1
    words = (await said(kernel))[1:]
    assert words[:2] == [("user", f"Recall: {CHECK}"), ("assistant", "No errors.")]
    assert words[2:] == [("user", "And now?"), ("assistant", "ok"), ("user", "Join it!"), ("assistant", "ok")]


async def test_in_a_busy_session_it_waits_for_the_turn_under_way(
    kernel: Kernel, clock: ManualClock, agent: ScriptedAgent
) -> None:
    recall = await set_one(kernel, when="1m")
    await kernel.receive(CHAT, "Hello")
    async with under_way(kernel, agent):
        clock.advance(minutes=1)
        await kernel.workers.timer.step()
        assert await ended(kernel, recall) == [None]
    assert await ended(kernel, recall) == ["ok"]


async def test_one_that_postpones_stays_pending_and_the_session_is_told(
    open_kernel: OpenKernel, clock: ManualClock, agent: ScriptedAgent
) -> None:
    """C5.1, C7.2: trigger_at = now + 60 s, still pending, each time."""
    kernel = await open_kernel(settings=Settings(recall_on_busy=Busy.POSTPONE))
    recall = await set_one(kernel, when="1m")
    await kernel.receive(CHAT, "Hello")
    async with under_way(kernel, agent):
        clock.advance(minutes=1)
        for _ in range(2):
            told = (await log(kernel)).count("recall_update")
            await kernel.workers.timer.step()
            pending = await kernel.recalls.get(CHAT)
            assert pending is not None
            assert to_moment(pending.trigger_at) == clock.now() + timedelta(seconds=60)
            assert (await log(kernel)).count("recall_update") == told + 1
            clock.advance(minutes=1)
    await quiet(kernel)
    assert await ended(kernel, recall) == ["ok"]


async def test_one_that_skips_is_recorded_and_over(
    open_kernel: OpenKernel, clock: ManualClock, agent: ScriptedAgent
) -> None:
    kernel = await open_kernel(settings=Settings(recall_on_busy=Busy.SKIP))
    recall = await set_one(kernel, when="1m")
    await kernel.receive(CHAT, "Hello")
    async with under_way(kernel, agent):
        clock.advance(minutes=1)
        await kernel.workers.timer.step()
    assert await ended(kernel, recall) == ["skipped"]
    assert await status(kernel, recall) == "cancelled"


async def test_one_that_waits_in_the_lane_can_still_be_cancelled(
    kernel: Kernel, clock: ManualClock, agent: ScriptedAgent
) -> None:
    recall = await set_one(kernel, when="1m")
    await kernel.receive(CHAT, "Hello")
    async with under_way(kernel, agent):
        clock.advance(minutes=1)
        await kernel.workers.timer.step()
        await kernel.recalls.cancel(CHAT)
    assert await ended(kernel, recall) == ["cancelled"]
    assert await status(kernel, recall) == "cancelled"
    assert [asked.text for asked in agent.asked] == ["Hello"]


@pytest.mark.parametrize("unified", [False, True], ids=["apart", "unified"])
async def test_one_that_waits_is_pending_then_running_then_fired(
    open_kernel: OpenKernel, clock: ManualClock, agent: ScriptedAgent, unified: bool
) -> None:
    """C5.9: it is pending, and shown as such, until its turn starts; fired when that has gone well."""
    kernel = await open_kernel(settings=Settings(unified_session=unified))
    recall = await set_one(kernel, when="1m")
    await kernel.receive(CHAT, "Hello")
    async with under_way(kernel, agent):
        clock.advance(minutes=1)
        await kernel.workers.timer.step()
        assert await kernel.recalls.get(CHAT) == replace(recall, updated_at=clock.ms())
        assert [str(one.status) for one in await kernel.recalls.list(CHAT)] == ["pending"]
        assert [one.session.key for one in await kernel.sessions.overviews(pending_recall=True)] == [CHAT]
        assert (await kernel.sessions.overview(CHAT)).recall == await kernel.recalls.get(CHAT)
        with pytest.raises(RecallPending, match=recall.id):
            await kernel.recalls.add(CHAT, CHECK, when="1h")
        agent.go_on()
        agent.pause()
        await agent.under_way()
        assert await status(kernel, recall) == "running"
        running = await kernel.recalls.get(CHAT)
        assert running is not None
        assert (running.id, str(running.status)) == (recall.id, "running")
        assert (await kernel.sessions.overview(CHAT)).recall == running
        with pytest.raises(NotFound):
            await kernel.recalls.cancel(CHAT)
        following = await kernel.recalls.add(CHAT, CHECK, when="1h")
        assert await kernel.recalls.get(CHAT) == following, "the pending one comes first"
    assert await status(kernel, recall) == "fired"
    assert await kernel.recalls.get(CHAT) == following


async def test_a_recurring_one_that_waits_is_shown_with_the_moment_it_waits_for(
    kernel: Kernel, clock: ManualClock, agent: ScriptedAgent
) -> None:
    recall = await poll(kernel)
    await kernel.receive(CHAT, "Hello")
    async with under_way(kernel, agent):
        clock.advance(minutes=10)
        await kernel.workers.timer.step()
        waiting = await kernel.recalls.get(CHAT)
        assert waiting is not None
        assert (str(waiting.status), waiting.trigger_at) == ("pending", recall.trigger_at)
        skipped = await kernel.recalls.skip(CHAT)
        assert to_moment(skipped.trigger_at) == clock.now() + timedelta(minutes=5)
    assert await ended(kernel, recall) == ["skipped"]
    assert [asked.text for asked in agent.asked] == ["Hello"]


async def test_a_cancelled_recurring_one_keeps_its_last_moment(
    kernel: Kernel, clock: ManualClock, agent: ScriptedAgent
) -> None:
    await poll(kernel)
    clock.advance(minutes=10)
    await quiet(kernel)
    last = await kernel.recalls.get(CHAT)
    assert last is not None
    assert to_moment(last.trigger_at) == clock.now() + timedelta(minutes=5)
    await kernel.recalls.cancel(CHAT)
    [cancelled] = await kernel.recalls.list(CHAT)
    assert (str(cancelled.status), cancelled.trigger_at) == ("cancelled", last.trigger_at)


async def test_in_unified_mode_it_belongs_to_its_chat_and_runs_in_the_common_one(
    open_kernel: OpenKernel, clock: ManualClock, agent: ScriptedAgent
) -> None:
    """It is heard in the chat that set it, and can be cancelled there while it waits behind another."""
    kernel = await open_kernel(settings=Settings(unified_session=True))
    recall = await set_one(kernel, when="1m")
    clock.advance(minutes=1)
    await quiet(kernel)
    assert (await said(kernel))[-2:] == [("user", f"Recall: {CHECK}"), ("assistant", "ok")]
    assert await status(kernel, recall) == "fired"
    waiting = await set_one(kernel, when="1m")
    await kernel.receive("web:other", "Hello")
    async with under_way(kernel, agent):
        clock.advance(minutes=1)
        await kernel.workers.timer.step()
        await kernel.recalls.cancel(CHAT)
    assert await ended(kernel, waiting) == ["cancelled"]


@pytest.mark.parametrize("recurring", [False, True], ids=["once", "recurring"])
async def test_one_that_is_stopped_is_not_run_again(
    kernel: Kernel, clock: ManualClock, agent: ScriptedAgent, recurring: bool
) -> None:
    """C6.1, C6.2, C5.12."""
    recall = await (poll(kernel) if recurring else set_one(kernel, when="10m"))
    agent.pause()
    async with working(kernel):
        clock.advance(minutes=10)
        await agent.under_way()
        await kernel.turns.stop(CHAT)
        await until(kernel, "stream_end")
        await until(kernel, "session_sync")
    assert await ended(kernel, recall) == ["stopped"]
    pending = await kernel.recalls.get(CHAT)
    if recurring:
        assert pending is not None
        assert to_moment(pending.trigger_at) == clock.now() + timedelta(minutes=5)
    else:
        assert (pending, await status(kernel, recall)) == (None, "fired")
