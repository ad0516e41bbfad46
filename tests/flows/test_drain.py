"""`drain` runs what is due to its end, and says when something is due next."""

import asyncio
from collections.abc import AsyncIterator
from datetime import timedelta

import pytest

from segue import (
    Ask,
    At,
    Delivery,
    Delta,
    Every,
    Kernel,
    OpenTurn,
    Policy,
    Receipt,
    Say,
    Settings,
    ToolStarted,
)
from segue.errors import AlreadyRunning, BadTime
from segue.testing import ManualClock, RecordingChannel, ScriptedAgent
from tests.flows.house import OpenKernel
from tests.flows.story import CHAT, said


class Acting(ScriptedAgent):
    """Starts a tool before it goes on."""

    async def answer(self, turn: OpenTurn) -> AsyncIterator[Delta | str]:
        yield ToolStarted(call_id="1", name="pay", arguments={})
        async for piece in super().answer(turn):
            yield piece


async def test_an_idle_kernel_drains_nothing_and_has_nothing_due(kernel: Kernel) -> None:
    drained = await kernel.drain()
    assert (drained.turns, drained.next_at) == (0, None)


async def test_a_message_and_a_due_job_run_and_the_next_slot_is_named(
    kernel: Kernel, clock: ManualClock, agent: ScriptedAgent
) -> None:
    await kernel.schedule(CHAT, Every(600), Ask("Look in."))
    clock.advance(minutes=10)
    await kernel.receive(CHAT, "Hello")
    agent.script("Hi.", "All is well.")
    drained = await kernel.drain()
    assert drained.turns == 2
    assert drained.next_at == clock.now() + timedelta(minutes=10)
    assert [content for _, content in await said(kernel)][1::2] == ["Hi.", "All is well."]


async def test_the_answers_are_delivered(kernel: Kernel, channel: RecordingChannel) -> None:
    await kernel.receive("test:1", "Hello")
    await kernel.drain()
    assert [delivery.content for delivery in channel.sent] == ["ok"]


@pytest.mark.new_connections
async def test_more_due_jobs_than_one_step_takes_all_run(kernel: Kernel, clock: ManualClock) -> None:
    for number in range(300):
        await kernel.schedule(f"web:{number}", At(clock.now() + timedelta(seconds=1)), Say("Now."))
    clock.advance(seconds=1)
    assert (await kernel.drain()).next_at is None
    assert [message.content for message in await kernel.messages("web:299")] == ["Now."]


async def test_a_slow_turn_does_not_hold_back_the_answer_of_a_fast_one(
    open_kernel: OpenKernel,
) -> None:
    delivered = asyncio.Event()

    async def agent(turn: OpenTurn) -> str:
        if turn.session.key == "test:slow":
            await delivered.wait()
        return turn.text

    class Telling(RecordingChannel):
        async def send(self, delivery: Delivery) -> Receipt:
            delivered.set()
            return await super().send(delivery)

    kernel = await open_kernel(agent=agent, channels=[Telling("test")])
    await kernel.receive("test:slow", "Think")
    await kernel.receive("test:fast", "Hello")
    async with asyncio.timeout(30):
        assert (await kernel.drain()).turns == 2


async def test_a_turn_that_runs_at_the_given_moment_goes_back_to_the_queue(
    kernel: Kernel, clock: ManualClock, agent: ScriptedAgent
) -> None:
    asked = await kernel.receive(CHAT, "Hello")
    agent.pause()
    draining = asyncio.create_task(kernel.drain(clock.now() + timedelta(seconds=5)))
    await agent.under_way()
    clock.advance(seconds=5)
    drained = await draining
    assert drained.next_at is not None
    assert drained.next_at <= clock.now()
    assert (await kernel.turns.get(asked.turn_id)).state == "queued"
    agent.go_on()
    assert (await kernel.drain()).turns == 1
    assert (await kernel.turns.get(asked.turn_id)).outcome == "ok"


async def test_a_turn_that_has_acted_by_the_given_moment_is_closed(
    open_kernel: OpenKernel, clock: ManualClock
) -> None:
    agent = Acting()
    kernel = await open_kernel(agent=agent)
    asked = await kernel.receive(CHAT, "Pay")
    agent.pause()
    draining = asyncio.create_task(kernel.drain(clock.now() + timedelta(seconds=5)))
    await agent.under_way()
    clock.advance(seconds=5)
    assert (await draining).next_at is None
    assert (await kernel.turns.get(asked.turn_id)).outcome == "interrupted"


async def test_after_the_given_moment_nothing_starts(kernel: Kernel, clock: ManualClock) -> None:
    asked = await kernel.receive(CHAT, "Hello")
    assert (await kernel.drain(clock.now())).turns == 0
    assert (await kernel.turns.get(asked.turn_id)).state == "queued"


async def test_a_retry_is_due_next(kernel: Kernel, clock: ManualClock, agent: ScriptedAgent) -> None:
    agent.script(RuntimeError("overloaded"))
    await kernel.schedule(CHAT, At(clock.now()), Ask("Look in."), policy=Policy(retries=1))
    drained = await kernel.drain()
    assert drained.next_at is not None
    assert drained.next_at > clock.now()
    clock.set(drained.next_at)
    assert (await kernel.drain()).turns == 1


async def test_the_lease_of_a_dead_process_is_due_next(open_kernel: OpenKernel, clock: ManualClock) -> None:
    """Else the host would not come back for a turn whose process was killed."""
    hanging = ScriptedAgent()
    dead, kernel = await open_kernel(agent=hanging), await open_kernel()
    asked = await dead.receive(CHAT, "Hello")
    hanging.pause()
    killed = asyncio.create_task(dead.workers.user_runner.step())
    await hanging.under_way()
    drained = await kernel.drain()
    assert drained.turns == 0
    assert drained.next_at == clock.now() + timedelta(seconds=Settings().lease_seconds)
    clock.set(drained.next_at)
    assert (await kernel.drain()).turns == 1
    assert (await kernel.turns.get(asked.turn_id)).attempt == 2
    hanging.go_on()
    await killed


async def test_a_kernel_whose_workers_run_is_not_drained(kernel: Kernel) -> None:
    await kernel.start()
    with pytest.raises(AlreadyRunning, match="in one place only"):
        await kernel.drain()


async def test_a_moment_without_a_time_zone_is_refused(kernel: Kernel, clock: ManualClock) -> None:
    with pytest.raises(BadTime, match="no time zone"):
        await kernel.drain(clock.now().replace(tzinfo=None))
