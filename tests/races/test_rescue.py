"""A worker is lost in the middle of a job's run while the job's next slot waits already."""

import asyncio

import pytest

from segue.kernel.kernel import Kernel
from segue.model.action import Ask
from segue.model.states import Outcome
from segue.testing import ManualClock, ScriptedAgent, quiet
from segue.times.trigger import Every


async def test_the_rescued_run_and_its_successor_become_one(database_url: str) -> None:
    clock = ManualClock()
    lost = ScriptedAgent()
    lost.pause()
    async with (
        Kernel(database_url, agent=lost, clock=clock, name="lost") as dead,
        Kernel(database_url, agent=ScriptedAgent(), clock=clock, name="heir") as heir,
    ):
        job = await heir.schedule("web:1", Every(60), Ask("look"))
        clock.advance(minutes=1)
        await dead.workers.timer.step()
        never_ends = asyncio.create_task(dead.workers.runner.step())
        await lost.under_way()
        clock.advance(minutes=1)
        await heir.workers.timer.step()
        assert len(await heir.store.queued_turns(job.session_id)) == 1

        await heir.workers.reaper.step()
        (waiting,) = await heir.store.queued_turns(job.session_id)
        assert waiting.attempt == 1
        await quiet(heir)
        newer, older = await heir.runs.list(job=job.id)
        assert (older.outcome, older.attempt) == (Outcome.OK, 2)
        assert newer.outcome is Outcome.SKIPPED
        assert newer.reason == f"overlap: run {older.id} came back after a crash"

        lost.go_on()
        await never_ends
        assert (await heir.store.run(older.id)).outcome is Outcome.OK
        assert not await heir.audit()


@pytest.mark.parametrize("rescues", [2, 5])
async def test_of_many_reapers_one_reclaims_the_lane(database_url: str, rescues: int) -> None:
    clock = ManualClock()
    lost = ScriptedAgent()
    lost.pause()
    async with Kernel(database_url, agent=lost, clock=clock) as kernel:
        admitted = await kernel.receive("web:1", "hello")
        never_ends = asyncio.create_task(kernel.workers.user_runner.step())
        await lost.under_way()
        clock.advance(minutes=1)
        taken = await asyncio.gather(*(kernel.workers.reaper.step() for _ in range(rescues)))
        assert sum(taken) == 1
        assert (await kernel.turns.get(admitted.turn_id)).crashes == 1
        lost.go_on()
        await never_ends
        await quiet(kernel)
        assert (await kernel.turns.get(admitted.turn_id)).attempt == 2
        assert not await kernel.audit()
