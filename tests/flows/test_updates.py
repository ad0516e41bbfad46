"""A session's log shows when one of its jobs waits, is skipped, is postponed, or is paused."""

import pytest

from segue import Ask, At, Every, JobKind, Kernel, Policy, Settings
from segue.model.policy import Busy, Late
from segue.testing import ManualClock, ScriptedAgent, quiet
from tests.flows.house import OpenKernel
from tests.flows.story import CHAT, log, outcomes, slots, under_way


async def told(kernel: Kernel, kind: str = "automation_update") -> int:
    return (await log(kernel)).count(kind)


async def test_a_job_is_told_of_when_its_turn_has_ended(
    kernel: Kernel, clock: ManualClock, agent: ScriptedAgent
) -> None:
    """Its start needs no event of its own: `stream_start` says which job it is."""
    job = await kernel.schedule(CHAT, Every(60), Ask("Look."))
    before = len(await log(kernel))
    clock.advance(minutes=1)
    await quiet(kernel)
    events = (await kernel.log.events(CHAT))[before:]
    assert [event.type for event in events] == [
        "stream_start",
        "stream_end",
        "automation_update",
        "session_sync",
    ]
    assert [event.source and event.source.job_id for event in events[:2]] == [job.id, job.id]


async def test_a_job_that_has_to_wait_is_told_of(
    kernel: Kernel, clock: ManualClock, agent: ScriptedAgent
) -> None:
    """4.2: status may show that a run is queued."""
    await kernel.schedule(CHAT, Every(60), Ask("Look."))
    await kernel.receive(CHAT, "Hello")
    async with under_way(kernel, agent):
        before = await told(kernel)
        clock.advance(minutes=1)
        await kernel.workers.timer.step()
        assert await told(kernel) == before + 1


async def test_a_slot_that_is_skipped_is_told_of(
    kernel: Kernel, clock: ManualClock, agent: ScriptedAgent
) -> None:
    job = await kernel.schedule(CHAT, Every(60), Ask("Look."), policy=Policy(busy=Busy.SKIP))
    await kernel.receive(CHAT, "Hello")
    async with under_way(kernel, agent):
        before = await told(kernel)
        clock.advance(minutes=1)
        await kernel.workers.timer.step()
        assert await told(kernel) == before + 1
    assert await outcomes(kernel, job) == ["skipped"]


async def test_a_slot_that_is_put_off_is_told_of_once(
    kernel: Kernel, clock: ManualClock, agent: ScriptedAgent
) -> None:
    await kernel.schedule(CHAT, Every(3600), Ask("Look."), policy=Policy(busy=Busy.POSTPONE))
    await kernel.receive(CHAT, "Hello")
    async with under_way(kernel, agent):
        before = await told(kernel)
        clock.advance(hours=1)
        for _ in range(3):
            await kernel.workers.timer.step()
            clock.advance(minutes=1)
        assert await told(kernel) == before + 1


async def test_a_recall_is_told_of_when_its_turn_starts_and_ends(kernel: Kernel, clock: ManualClock) -> None:
    await kernel.schedule(CHAT, At("in 1 hour"), Ask("Ask."), kind=JobKind.RECALL)
    before = await told(kernel, "recall_update")
    clock.advance(hours=1)
    await kernel.workers.timer.step()
    assert await told(kernel, "recall_update") == before
    await quiet(kernel)
    assert await told(kernel, "recall_update") == before + 2


@pytest.mark.parametrize("busy_minutes", [1, 5])
async def test_a_slot_that_was_put_off_is_not_late_when_late_ones_are_skipped(
    kernel: Kernel, clock: ManualClock, agent: ScriptedAgent, busy_minutes: int
) -> None:
    """It was looked at in time, and found its session busy: no worker was missing."""
    job = await kernel.schedule(
        CHAT, Every(3600), Ask("Look."), policy=Policy(late=Late.SKIP, busy=Busy.POSTPONE)
    )
    await kernel.receive(CHAT, "Hello")
    async with under_way(kernel, agent):
        clock.advance(hours=1)
        for _ in range(busy_minutes):
            await kernel.workers.timer.step()
            clock.advance(minutes=1)
    await quiet(kernel)
    assert await outcomes(kernel, job) == ["ok"]


async def test_a_slot_that_was_put_off_before_all_workers_stopped_is_late(
    kernel: Kernel, clock: ManualClock, agent: ScriptedAgent
) -> None:
    job = await kernel.schedule(
        CHAT, Every(7200), Ask("Look."), policy=Policy(late=Late.SKIP, busy=Busy.POSTPONE)
    )
    await kernel.receive(CHAT, "Hello")
    async with under_way(kernel, agent):
        clock.advance(hours=2)
        await kernel.workers.timer.step()
        clock.advance(hours=1)
    await quiet(kernel)
    assert await outcomes(kernel, job) == ["missed"]


async def test_runs_that_are_owed_stay_when_one_of_them_comes_back(
    kernel: Kernel, clock: ManualClock, agent: ScriptedAgent
) -> None:
    """10.2: `late = all` runs each of them, also after a crash of the first; the queue is told of."""
    job = await kernel.schedule(CHAT, Every(3600), Ask("Look."), policy=Policy(late=Late.ALL))
    clock.advance(hours=3, minutes=30)
    for _ in range(4):
        await kernel.workers.timer.step()
    assert len(await slots(kernel, job)) == 3
    async with under_way(kernel, agent):
        clock.advance(minutes=1)
        await kernel.workers.reaper.step()
    await quiet(kernel)
    assert await outcomes(kernel, job) == ["ok", "ok", "ok"]


_QUEUE_EVENTS = ("stream_start", "queue_update")


async def queue(kernel: Kernel, key: str = CHAT) -> list[tuple[str, int | None]]:
    """Starts of turns and updates of the queue, in the order of the log."""
    events = [event for event in await kernel.log.events(key, limit=1000) if event.type in _QUEUE_EVENTS]
    return [(event.type, event.body.get("queued")) for event in events]


async def test_the_queue_is_empty_when_the_last_waiting_turn_has_started(
    kernel: Kernel, agent: ScriptedAgent
) -> None:
    await kernel.receive(CHAT, "One")
    async with under_way(kernel, agent):
        await kernel.receive(CHAT, "Two")
        await kernel.receive(CHAT, "Three")
    assert await queue(kernel) == [
        ("stream_start", None),
        ("queue_update", 1),
        ("queue_update", 2),
        ("stream_start", None),
        ("stream_start", None),
        ("queue_update", 0),
    ]


async def test_a_turn_that_did_not_wait_updates_no_queue(kernel: Kernel, agent: ScriptedAgent) -> None:
    for words in ("One", "Two"):
        await kernel.receive(CHAT, words)
        await quiet(kernel)
    await kernel.receive(CHAT, "Three")
    async with under_way(kernel, agent):
        withdrawn = await kernel.receive(CHAT, "Four")
        await kernel.turns.cancel(withdrawn.turn_id)
    await kernel.receive(CHAT, "Five")
    await quiet(kernel)
    starts = [("stream_start", None)] * 3
    assert await queue(kernel) == [*starts, ("queue_update", 1), ("queue_update", 0), ("stream_start", None)]


async def test_in_unified_mode_the_queue_of_the_chat_is_updated_too(
    open_kernel: OpenKernel, agent: ScriptedAgent
) -> None:
    kernel = await open_kernel(settings=Settings(unified_session=True))
    await kernel.receive(CHAT, "One")
    async with under_way(kernel, agent):
        await kernel.receive(CHAT, "Two")
    expected = [("stream_start", None), ("queue_update", 1), ("stream_start", None), ("queue_update", 0)]
    assert await queue(kernel) == expected
    assert await queue(kernel, "unified:default") == expected
