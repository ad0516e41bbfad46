"""Runs a kernel with waiting work until the last turn is settled.

The store is not queried while turns run, and the hub has no followers. The agent counts its turns; when it
has had all of them, only the turns that the process still holds are left to settle.
"""

import asyncio
from collections.abc import AsyncIterator

from bench.measure import Rate, stopwatch
from segue import Kernel
from segue.kernel.transactions.lane import Pool
from segue.model.agent import OpenTurn


class Echo:
    """An agent that only counts its turns."""

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
    """The rate from the start of the workers to the end of the last turn."""
    async with asyncio.TaskGroup() as group:
        with stopwatch() as watch:
            running = group.create_task(kernel.run())
            await echo.given_all.wait()
            await asyncio.gather(*(running_turn.task for running_turn in kernel.workers.turns))
        running.cancel()
    await _assert_nothing_left(kernel)
    return Rate(echo.expected, watch.seconds)


async def _assert_nothing_left(kernel: Kernel) -> None:
    for pool in Pool:
        assert await kernel.store.next_ready(pool) is None, "a lane was left ready"
    assert not (broken := await kernel.audit()), f"the audit found {broken}"
