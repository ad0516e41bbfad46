"""A server that is away for longer than a lease, while turns end and everybody waits for it."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack

from segue import Kernel, OpenTurn, Settings
from segue.states import Outcome
from tests.crash.crew import over
from tests.postgres import temporary_server

LEASE_SECONDS = 2.0
AWAY_SECONDS = 4.0
TURNS = 6


async def test_what_was_answered_meanwhile_is_not_taken_for_lost() -> None:
    """Of those who come back with the server, reapers are no quicker than the holders of lanes."""
    at_work, gone = asyncio.Barrier(TURNS + 1), asyncio.Event()

    async def agent(turn: OpenTurn) -> AsyncIterator[str]:
        await at_work.wait()
        await gone.wait()
        yield "Here I am."

    with temporary_server() as server:
        async with AsyncExitStack() as stack:
            settings = Settings(lease_seconds=LEASE_SECONDS)
            kernels = [
                await stack.enter_async_context(Kernel(server.url, agent=agent, settings=settings))
                for _ in range(3)
            ]
            working = [asyncio.create_task(kernel.run()) for kernel in kernels]
            asked = [await kernels[0].receive(f"test:{n}", "Where are you?") for n in range(TURNS)]
            await at_work.wait()
            await asyncio.to_thread(server.stop)
            gone.set()
            await asyncio.sleep(AWAY_SECONDS)
            await asyncio.to_thread(server.start)
            for admitted in asked:
                turn = await over(kernels[0], admitted.turn_id)
                assert (turn.outcome, turn.attempt, turn.reply) == (Outcome.OK, 1, "Here I am.")
            assert not await kernels[0].audit()
            for task in working:
                task.cancel()
            await asyncio.wait(working)
