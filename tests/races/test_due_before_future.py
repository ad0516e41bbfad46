"""What is due never waits behind what is not."""

import asyncio
from datetime import timedelta

from segue.errors import AgentFailed
from segue.kernel.kernel import Kernel
from segue.model.action import Ask
from segue.model.policy import Policy
from segue.model.states import Outcome, TurnState
from segue.testing import ManualClock, ScriptedAgent, quiet
from segue.times.clock import to_moment
from segue.times.trigger import At
from tests.crash.figures import Record, p99

MESSAGES = 50


async def test_a_message_starts_at_once_beside_a_future_job_and_a_turn_that_waits_for_a_retry(
    database_url: str,
) -> None:
    clock, agent = ManualClock(), ScriptedAgent()
    async with Kernel(database_url, agent=agent, clock=clock) as kernel:
        now = clock.now()
        await kernel.schedule("web:1", At(now + timedelta(hours=1)), Ask("later"))
        soon = await kernel.schedule(
            "web:1", At(now + timedelta(minutes=1)), Ask("look"), policy=Policy(retries=1)
        )
        clock.advance(minutes=1)
        agent.script(AgentFailed("no answer"))
        await quiet(kernel)
        (waits,) = await kernel.store.queued_turns(soon.session_id)
        assert waits.not_before > clock.ms()

        admitted = await kernel.receive("web:1", "hello")
        await quiet(kernel)
        assert (await kernel.turns.get(admitted.turn_id)).outcome is Outcome.OK
        assert (await kernel.turns.get(waits.id)).state is TurnState.QUEUED
        clock.advance(minutes=2)
        await quiet(kernel)
        assert (await kernel.turns.get(waits.id)).outcome is Outcome.OK
        assert not await kernel.audit()


async def test_how_soon_a_message_starts_beside_a_future_job(database_url: str, figure: Record) -> None:
    async with Kernel(database_url, agent=ScriptedAgent()) as kernel:
        in_an_hour = to_moment(kernel.clock.ms()) + timedelta(hours=1)
        await kernel.schedule("web:1", At(in_an_hour), Ask("later"))
        running = asyncio.create_task(kernel.run())
        delays = []
        for _ in range(MESSAGES):
            turn = await kernel.wait((await kernel.receive("web:1", "hello")).turn_id)
            assert turn.started_at is not None
            delays.append(turn.started_at - turn.queued_at)
        running.cancel()
        await asyncio.wait([running])
    figure(f"{MESSAGES} messages, from arrival to start, p99", f"{p99(delays):.0f} ms")
