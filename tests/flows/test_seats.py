"""A due turn whose lane is empty starts in the commit that admits it, if a runner has capacity."""

import asyncio
from collections.abc import AsyncIterator
from datetime import timedelta

from segue import Ask, At, Delta, Event, Job, Kernel, OpenTurn, Settings
from segue.model.states import TurnState
from segue.testing import ManualClock, ScriptedAgent
from tests.eventually import eventually
from tests.flows.house import OpenKernel
from tests.flows.recording_store import RecordingStore
from tests.flows.story import CHAT, BlockingAgent, log, outcomes, slots, until, working

FIRES, BEGINS = "jobs.take", "turns.begin"


async def soon(kernel: Kernel, clock: ManualClock, key: str = CHAT) -> Job:
    return await kernel.schedule(key, At(clock.now() + timedelta(seconds=5)), Ask("Look."))


async def test_a_turn_that_comes_alone_starts_as_it_is_admitted(
    recording_store: RecordingStore, clock: ManualClock, agent: ScriptedAgent
) -> None:
    async with Kernel(recording_store, agent=agent, clock=clock) as kernel:
        job = await soon(kernel, clock)
        async with working(kernel):
            await recording_store.both_runners_have_leased()
            clock.advance(seconds=5)
            await until(kernel, "session_sync")
        (run,) = await slots(kernel, job)
        turn = await kernel.store.turn(run.turn_id or "")
        assert [BEGINS in queries for queries in recording_store.transactions_with(FIRES)] == [True]
        assert (turn.state, turn.attempt, turn.queued_at) == (TurnState.DONE, 1, turn.started_at)
        assert (run.outcome, run.rendered_prompt is not None) == ("ok", True)
        assert await log(kernel) == ["automation_update", "stream_start", "stream_end", "session_sync"]
        assert not await kernel.audit()


async def test_it_waits_while_its_session_is_busy(
    recording_store: RecordingStore, clock: ManualClock
) -> None:
    agent = BlockingAgent(CHAT)
    async with Kernel(recording_store, agent=agent, clock=clock) as kernel:
        job = await soon(kernel, clock)
        async with working(kernel):
            await kernel.receive(CHAT, "Think long.")
            await agent.is_waiting_in(CHAT)
            clock.advance(seconds=5)
            await until(kernel, "queue_update")
            assert (recording_store.transactions_with(BEGINS), await outcomes(kernel, job)) == ([], [None])
            agent.release()
            synced = await until(kernel, "session_sync")
            await until(kernel, "session_sync", after=synced.seq)
        assert await outcomes(kernel, job) == ["ok"]
        assert not await kernel.audit()


async def test_it_waits_while_no_slot_is_free(recording_store: RecordingStore, clock: ManualClock) -> None:
    """Seats and leases together never exceed the capacity."""
    keys = [f"web:{number}" for number in range(12)]
    at_once: list[int] = []

    class Counting:
        reports_tools = True
        under_way = 0

        async def answer(self, turn: OpenTurn) -> AsyncIterator[Delta | str]:
            self.under_way += 1
            at_once.append(self.under_way)
            await asyncio.sleep(0.002)
            self.under_way -= 1
            yield "ok"

    async with Kernel(recording_store, agent=Counting(), clock=clock, settings=Settings(runners=3)) as kernel:
        jobs = [await soon(kernel, clock, key) for key in keys]
        async with working(kernel):
            await recording_store.both_runners_have_leased()
            clock.advance(seconds=5)
            for key in keys:
                await until(kernel, "session_sync", key)
        assert [await outcomes(kernel, job) for job in jobs] == [["ok"]] * len(keys)
        assert max(at_once) == 3
        assert 3 <= len(recording_store.transactions_with(BEGINS)) < len(keys)
        assert not await kernel.audit()


async def test_a_process_that_runs_no_turns_leaves_them_in_their_lanes(
    recording_store: RecordingStore, clock: ManualClock, agent: ScriptedAgent
) -> None:
    async with Kernel(recording_store, agent=agent, clock=clock, settings=Settings(runners=0)) as kernel:
        job = await soon(kernel, clock)
        async with working(kernel):
            clock.advance(seconds=5)
            await eventually(lambda: kernel.store.runs_of_job(job.id, 1), "a run")
        assert recording_store.transactions_with(BEGINS) == []
        (turn,) = await kernel.store.queued_turns(job.session_id)
        assert turn.attempt == 0


async def test_a_shutdown_sees_through_what_has_just_started(
    recording_store: RecordingStore, clock: ManualClock, agent: ScriptedAgent
) -> None:
    """The timer is cancelled during its commit: the turn has the seat and is not lost."""
    async with Kernel(recording_store, agent=agent, clock=clock) as kernel:
        job = await soon(kernel, clock)
        recording_store.delayed = BEGINS
        recording_store.release.clear()
        async with asyncio.TaskGroup() as group, asyncio.timeout(10):
            running = group.create_task(kernel.run())
            await recording_store.both_runners_have_leased()
            clock.advance(seconds=5)
            await recording_store.committed.wait()
            running.cancel()
            for _ in range(20):
                await asyncio.sleep(0)
            recording_store.release.set()
        assert await outcomes(kernel, job) == ["ok"]
        assert not await kernel.audit()


async def test_a_store_that_fails_costs_no_slot(
    recording_store: RecordingStore, clock: ManualClock, agent: ScriptedAgent
) -> None:
    """The runner has one seat; if it were lost, nothing would run any more."""
    async with Kernel(recording_store, agent=agent, clock=clock, settings=Settings(runners=1)) as kernel:
        job = await soon(kernel, clock)
        recording_store.failing = BEGINS
        async with working(kernel):
            await recording_store.both_runners_have_leased()
            clock.advance(seconds=5)
            await eventually(lambda: not recording_store.failing, "the store has failed")

            async def has_run_later() -> list[str | None]:
                clock.advance(seconds=1)
                return await outcomes(kernel, job)

            await eventually(has_run_later, "a run")
            await until(kernel, "session_sync")
        assert await outcomes(kernel, job) == ["ok"]
        assert not await kernel.audit()


async def test_of_a_recall_it_is_told_first_that_it_was_claimed(
    open_kernel: OpenKernel, clock: ManualClock
) -> None:
    """In the log, and for listeners."""
    kernel = await open_kernel()
    await kernel.open(CHAT)
    session = await kernel.session(CHAT)
    await kernel.set_recall(CHAT, "Look.", when="in 5 seconds")
    heard: list[str] = []
    with kernel.hub.listen(session.id) as listener:
        async with working(kernel):
            clock.advance(seconds=5)
            while heard[-1:] != ["session_sync"]:
                one = await listener.next()
                heard += [one.type] if isinstance(one, Event) else []
    turn = ["recall_update", "stream_start", "stream_end", "recall_update", "session_sync"]
    assert heard == turn
    assert await log(kernel) == ["recall_update", *turn]
