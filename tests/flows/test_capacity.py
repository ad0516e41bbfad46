"""Capacity of a runner: it is free when an agent has ended; the turn is settled while the next one runs.

A turn whose lease ran out before the runner got the answer does not start.
"""

import asyncio

from segue import Kernel, Settings
from segue.model.states import TurnState
from segue.testing import ManualClock
from tests.eventually import eventually
from tests.flows.recording_store import RecordingStore
from tests.flows.story import BlockingAgent, working

ENDS = "turns.finish"
ONE_SLOT = Settings(user_runners=1)


async def test_the_next_turn_starts_while_the_last_one_is_settled(
    recording_store: RecordingStore, clock: ManualClock
) -> None:
    agent = BlockingAgent("web:2")
    recording_store.delayed = ENDS
    recording_store.release.clear()
    async with Kernel(recording_store, agent=agent, clock=clock, settings=ONE_SLOT) as kernel:
        async with working(kernel):
            await kernel.receive("web:1", "Hi")
            await recording_store.committed.wait()
            await kernel.receive("web:2", "Hi")
            await agent.is_waiting_in("web:2")
            recording_store.release.set()
            agent.release()
        assert not await kernel.audit()


async def test_a_store_that_falls_behind_is_not_given_ever_more(
    recording_store: RecordingStore, clock: ManualClock
) -> None:
    """At most as many turns as the capacity may be settling; the next one waits until one is settled."""
    agent = BlockingAgent("web:3")
    recording_store.delayed = ENDS
    recording_store.release.clear()
    async with Kernel(recording_store, agent=agent, clock=clock, settings=ONE_SLOT) as kernel:
        async with working(kernel):
            admitted = [await kernel.receive(key, "Hi") for key in ("web:1", "web:2", "web:3")]
            await recording_store.has_committed(ENDS, 2)
            async with asyncio.timeout(10):
                assert await kernel.workers.user_runner.step() == 0, "asked for more, it takes nothing"
            assert (await kernel.turns.get(admitted[-1].turn_id)).state is TurnState.QUEUED
            recording_store.release.set()
            await agent.is_waiting_in("web:3")
            agent.release()
        assert not await kernel.audit()


async def test_a_turn_whose_lease_has_run_out_is_not_begun(recording_store: RecordingStore) -> None:
    """The answer to a lease came so late that another worker may hold the lane by now."""
    agent = BlockingAgent()
    recording_store.delayed = "sessions.lease"
    settings = Settings(lease_seconds=1)  # a busy machine can renew it
    async with Kernel(recording_store, agent=agent, settings=settings) as kernel:
        admitted = await kernel.receive("web:1", "Hi")

        async def is_reclaimed() -> bool:
            return (await kernel.turns.get(admitted.turn_id)).crashes > 0

        recording_store.release.clear()
        async with working(kernel):
            await eventually(is_reclaimed, "another attempt")
            recording_store.release.set()
            ended = await kernel.wait(admitted)
        assert (ended.attempt, agent.answered) == (2, ["web:1"])
        assert not await kernel.audit()
