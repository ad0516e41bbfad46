"""A due turn is queued by the timer and started by a runner, as its session and the capacity allow."""

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

FIRES, LEASES = "jobs.take", "turns.start_next"


async def soon(kernel: Kernel, clock: ManualClock, key: str = CHAT) -> Job:
    return await kernel.schedule(key, At(clock.now() + timedelta(seconds=5)), Ask("Look."))


async def test_a_turn_that_comes_alone_is_admitted_and_then_leased(
    recording_store: RecordingStore, clock: ManualClock, agent: ScriptedAgent
) -> None:
    async with Kernel(recording_store, agent=agent, clock=clock) as kernel:
        job = await soon(kernel, clock)
        async with working(kernel):
            clock.advance(seconds=5)
            await until(kernel, "session_sync")
        (run,) = await slots(kernel, job)
        turn = await kernel.store.turn(run.turn_id or "")
        assert [LEASES in queries for queries in recording_store.transactions_with(FIRES)] == [False]
        assert len(recording_store.transactions_with(LEASES)) == 1
        assert (turn.state, turn.attempt, turn.queued_at) == (TurnState.DONE, 1, turn.started_at)
        assert (run.outcome, run.rendered_prompt is not None) == ("ok", True)
        assert await log(kernel) == [
            "automation_update",
            "stream_start",
            "stream_end",
            "automation_update",
            "session_sync",
        ]
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
            assert await outcomes(kernel, job) == [None]
            agent.release()
            synced = await until(kernel, "session_sync")
            await until(kernel, "session_sync", after=synced.seq)
        assert await outcomes(kernel, job) == ["ok"]
        assert not await kernel.audit()


async def test_due_turns_never_exceed_the_capacity(
    recording_store: RecordingStore, clock: ManualClock
) -> None:
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
            clock.advance(seconds=5)
            for key in keys:
                await until(kernel, "session_sync", key)
        assert [await outcomes(kernel, job) for job in jobs] == [["ok"]] * len(keys)
        assert max(at_once) == 3
        assert not await kernel.audit()


async def test_a_process_that_runs_no_turns_leaves_them_in_their_lanes(
    recording_store: RecordingStore, clock: ManualClock, agent: ScriptedAgent
) -> None:
    async with Kernel(recording_store, agent=agent, clock=clock, settings=Settings(runners=0)) as kernel:
        job = await soon(kernel, clock)
        async with working(kernel):
            clock.advance(seconds=5)
            await eventually(lambda: kernel.store.runs_of_job(job.id, 1), "a run")
        (turn,) = await kernel.store.queued_turns(job.session_id)
        assert turn.attempt == 0


async def test_a_shutdown_sees_through_what_has_just_started(
    recording_store: RecordingStore, clock: ManualClock, agent: ScriptedAgent
) -> None:
    """The shutdown begins during the commit of a lease: its turn is not lost."""
    async with Kernel(recording_store, agent=agent, clock=clock) as kernel:
        job = await soon(kernel, clock)
        recording_store.delayed = LEASES
        recording_store.release.clear()
        async with asyncio.TaskGroup() as group, asyncio.timeout(10):
            running = group.create_task(kernel.run())
            clock.advance(seconds=5)
            await recording_store.committed.wait()
            running.cancel()
            for _ in range(20):
                await asyncio.sleep(0)
            recording_store.release.set()
        assert await outcomes(kernel, job) == ["ok"]
        assert not await kernel.audit()


async def test_a_store_that_fails_costs_no_capacity(
    recording_store: RecordingStore, clock: ManualClock, agent: ScriptedAgent
) -> None:
    """The runner has the capacity for one turn; if it were lost, nothing would run any more."""
    async with Kernel(recording_store, agent=agent, clock=clock, settings=Settings(runners=1)) as kernel:
        job = await soon(kernel, clock)
        recording_store.failing = LEASES
        async with working(kernel):
            clock.advance(seconds=5)
            await eventually(lambda: not recording_store.failing, "the store has failed")

            async def starts_later() -> bool:  # the runner tries again after a pause
                clock.advance(milliseconds=200)
                return "stream_start" in await log(kernel)

            await eventually(starts_later, "a start")
            await until(kernel, "session_sync")
        assert await outcomes(kernel, job) == ["ok"]
        assert not await kernel.audit()


async def test_of_a_recall_it_is_told_that_it_runs_and_that_it_has_ended(
    open_kernel: OpenKernel, clock: ManualClock
) -> None:
    """In the log, and for listeners."""
    kernel = await open_kernel()
    await kernel.sessions.open(CHAT)
    session = await kernel.sessions.get(CHAT)
    await kernel.recalls.add(CHAT, "Look.", when="in 5 seconds")
    heard: list[str] = []
    with kernel.hub.listen(session.id) as listener:
        async with working(kernel):
            clock.advance(seconds=5)
            while heard[-1:] != ["session_sync"]:
                one = await listener.next()
                heard += [one.type] if isinstance(one, Event) else []
    turn = ["stream_start", "recall_update", "stream_end", "recall_update", "session_sync"]
    assert heard == turn
    assert await log(kernel) == ["recall_update", *turn]
