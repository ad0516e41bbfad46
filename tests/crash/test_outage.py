"""A server is unreachable for longer than a lease. When it is back, holders renew before reapers reclaim."""

import asyncio
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager

from segue import Kernel, OpenTurn, Settings
from segue.model.agent import Agent, AgentFunction
from segue.model.channel import Receipt
from segue.model.records import Delivery
from segue.model.states import Outcome
from segue.testing import RecordingChannel, ScriptedAgent
from tests.crash.processes import over
from tests.flows.story import known_as_sent
from tests.postgres import Server, temporary_server

LEASE_SECONDS = 2.0
AWAY_SECONDS = 4.0
TURNS = 6


@asynccontextmanager
async def three_workers(
    agent: Agent | AgentFunction, channels: Iterable[RecordingChannel] = ()
) -> AsyncIterator[tuple[Kernel, Server]]:
    settings = Settings(lease_seconds=LEASE_SECONDS)
    with temporary_server() as server:
        kernels = [Kernel(server.url, agent=agent, settings=settings, channels=channels) for _ in range(3)]
        async with kernels[0], kernels[1], kernels[2]:
            working = [asyncio.create_task(kernel.run()) for kernel in kernels]
            yield kernels[0], server
            assert not await kernels[0].audit()
            for task in working:
                task.cancel()
            await asyncio.wait(working)


async def outage(server: Server, gone: asyncio.Event) -> None:
    await asyncio.to_thread(server.stop)
    gone.set()
    await asyncio.sleep(AWAY_SECONDS)
    await asyncio.to_thread(server.start)


async def test_a_turn_answered_during_the_outage_is_not_taken_for_lost() -> None:
    at_work, gone = asyncio.Barrier(TURNS + 1), asyncio.Event()

    async def agent(turn: OpenTurn) -> AsyncIterator[str]:
        await at_work.wait()
        await gone.wait()
        yield "Here I am."

    async with three_workers(agent) as (kernel, server):
        asked = [await kernel.receive(f"test:{n}", "Where are you?") for n in range(TURNS)]
        await at_work.wait()
        await outage(server, gone)
        for admitted in asked:
            turn = await over(kernel, admitted.turn_id)
            assert (turn.outcome, turn.attempt, turn.reply) == (Outcome.OK, 1, "Here I am.")


class Slow(RecordingChannel):
    """What it takes is sent when the server is gone."""

    def __init__(self, at_work: asyncio.Event, gone: asyncio.Event) -> None:
        super().__init__("test", idempotent=False)
        self._at_work = at_work
        self._gone = gone

    async def send(self, delivery: Delivery) -> Receipt:
        self._at_work.set()
        await self._gone.wait()
        return await super().send(delivery)


async def test_a_message_sent_during_the_outage_is_known_as_sent() -> None:
    at_work, gone = asyncio.Event(), asyncio.Event()
    channel = Slow(at_work, gone)
    async with three_workers(ScriptedAgent(), [channel]) as (kernel, server):
        await kernel.sessions.open("test:1")
        promised = await kernel.scheduled_messages.add("test:1", "in 1 second", "Your flight leaves at noon.")
        await at_work.wait()
        await outage(server, gone)
        await known_as_sent(kernel, promised.message.id)
    assert len(channel.sent) == 1
