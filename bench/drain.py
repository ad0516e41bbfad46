"""A kernel that has work waiting, run until the last of it is settled.

Nothing is asked of the store meanwhile and nobody listens at the hub. The agent counts the turns that it was
given; once it has had them all, the turns that the process still holds are the last to be settled.
"""

import asyncio
from collections.abc import AsyncIterator

from bench.measure import Rate, stopwatch
from segue import Kernel
from segue.kernel.transactions.lane import Pool
from segue.model.agent import OpenTurn


class Echo:
    """An agent that does nothing but count."""

    reports_tools = True

    def __init__(self, expected: int) -> None:
        self.expected = expected
        self._given = 0
        self.given_all = asyncio.Event()

    async def answer(self, turn: OpenTurn) -> AsyncIterator[str]:
        self._given += 1
        if self._given == self.expected:
            self.given_all.set()
        yield "ok"


async def drain(kernel: Kernel, echo: Echo) -> Rate:
    """From the start of the workers to the last turn's end."""
    async with asyncio.TaskGroup() as group:
        with stopwatch() as watch:
            running = group.create_task(kernel.run())
            await echo.given_all.wait()
            await asyncio.gather(*(live.task for live in kernel.workers.turns))
        running.cancel()
    await _nothing_left(kernel)
    return Rate(echo.expected, watch.seconds)


async def _nothing_left(kernel: Kernel) -> None:
    for pool in Pool:
        assert await kernel.store.next_ready(pool) is None, "a lane was left ready"
    assert not (broken := await kernel.audit()), f"the audit found {broken}"
