"""A slot is free when its agent has ended; the end itself is written while the next turn is under way.

And none is filled with a turn whose lease ran out before we heard of it.
"""

import asyncio

from segue import Kernel, Settings
from segue.model.states import TurnState
from segue.testing import ManualClock
from tests.flows.story import Gatekeeper, working
from tests.flows.watched import Watched

ENDS = "turns.finish"
ONE_SLOT = Settings(user_runners=1)


async def test_the_next_turn_starts_while_the_last_one_is_settled(
    watched: Watched, clock: ManualClock
) -> None:
    agent = Gatekeeper("web:2")
    watched.kept_back = ENDS
    watched.told.clear()
    async with Kernel(watched, agent=agent, clock=clock, settings=ONE_SLOT) as kernel:
        async with working(kernel):
            await kernel.receive("web:1", "Hi")
            await watched.committed.wait()
            await kernel.receive("web:2", "Hi")
            await agent.standing_in("web:2")
            watched.told.set()
            agent.let_go()
        assert not await kernel.audit()


async def test_a_store_that_falls_behind_is_not_given_ever_more(watched: Watched, clock: ManualClock) -> None:
    """As many turns as there are slots may be on their way out; the next one waits until one is out."""
    agent = Gatekeeper("web:3")
    watched.kept_back = ENDS
    watched.told.clear()
    async with Kernel(watched, agent=agent, clock=clock, settings=ONE_SLOT) as kernel:
        async with working(kernel):
            admitted = [await kernel.receive(key, "Hi") for key in ("web:1", "web:2", "web:3")]
            while len(watched.those_with(ENDS)) < 2:  # noqa: ASYNC110
                await asyncio.sleep(0.002)
            await asyncio.sleep(0.05)  # in which a third one would have started
            assert (await kernel.turn(admitted[-1].turn_id)).state is TurnState.QUEUED
            watched.told.set()
            await agent.standing_in("web:3")
            agent.let_go()
        assert not await kernel.audit()


async def test_a_turn_whose_lease_has_run_out_is_not_begun(watched: Watched) -> None:
    """The answer to a lease came so late that somebody else may be at it by now."""
    agent = Gatekeeper()
    watched.kept_back = "sessions.lease"
    settings = Settings(lease_seconds=0.3)
    async with Kernel(watched, agent=agent, settings=settings) as kernel:
        admitted = await kernel.receive("web:1", "Hi")
        watched.told.clear()
        async with working(kernel):
            while (await kernel.turn(admitted.turn_id)).crashes == 0:  # noqa: ASYNC110
                await asyncio.sleep(0.05)
            watched.told.set()
            ended = await kernel.wait(admitted)
        assert (ended.attempt, agent.answered) == (2, ["web:1"])
        assert not await kernel.audit()
