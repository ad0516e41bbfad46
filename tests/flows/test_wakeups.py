"""Wake-ups: a message wakes the workers that it concerns, at once, and no others.

The clock stands still in these tests: a worker that is not rung sleeps on, and the test fails.
"""

from datetime import timedelta

import pytest

from segue import Ask, Idle, Kernel
from segue.store.database import Params, Rows
from segue.store.queries import Query
from segue.testing import ManualClock, ScriptedAgent
from tests.flows.house import OpenKernel
from tests.flows.story import CHAT, BlockingAgent, outcomes, under_way, until, working


async def test_the_message_that_arms_a_job_wakes_the_timer(kernel: Kernel, clock: ManualClock) -> None:
    job = await kernel.schedule(CHAT, Idle(600), Ask("Sum up."))
    async with working(kernel):
        clock.advance(minutes=10)
        first = await until(kernel, "session_sync")
        await kernel.wait(await kernel.receive(CHAT, "I am back."))
        answered = await until(kernel, "session_sync", after=first.seq)
        clock.advance(minutes=10)
        await until(kernel, "session_sync", after=answered.seq)
    assert await outcomes(kernel, job) == ["ok", "ok"]


async def test_a_message_that_interrupts_wakes_the_keeper(open_kernel: OpenKernel) -> None:
    agent = BlockingAgent(CHAT)
    kernel = await open_kernel(agent=agent)
    async with working(kernel):
        first = await kernel.receive(CHAT, "Think without end.")
        await agent.is_waiting_in(CHAT)
        await kernel.receive(CHAT, "Wait, no.", when_busy="interrupt")
        assert (await kernel.wait(first)).outcome == "stopped"
        agent.release()


async def test_a_lease_is_renewed_when_a_third_of_it_has_passed(
    kernel: Kernel, clock: ManualClock, agent: ScriptedAgent
) -> None:
    lease = timedelta(seconds=kernel.settings.lease_seconds)
    await kernel.receive(CHAT, "Think for a long time.")
    async with under_way(kernel, agent):
        [live] = kernel.workers.turns
        fresh = live.held_until
        clock.advance(lease / 3 - timedelta(milliseconds=1))
        await kernel.workers.keeper.step()
        assert live.held_until == fresh
        clock.advance(milliseconds=1)
        await kernel.workers.keeper.step()
        assert live.held_until == fresh + lease // timedelta(milliseconds=3)


async def test_a_lone_turn_wakes_only_its_runner_and_its_waiting_callers(
    kernel: Kernel, monkeypatch: pytest.MonkeyPatch
) -> None:
    looks: list[str] = []
    read = kernel.store.database.read

    async def counted(query: Query, params: Params) -> Rows:
        looks.append(query.name)
        return await read(query, params)

    async with working(kernel):
        await kernel.wait(await kernel.receive(CHAT, "First"))
        await until(kernel, "session_sync")
        monkeypatch.setattr(kernel.store.database, "read", counted)
        await kernel.wait(await kernel.receive(CHAT, "Second"))
    assert looks.count("turns.by_id") == 2
    assert not {"jobs.due", "jobs.next_due", "turns.to_stop"} & set(looks)
