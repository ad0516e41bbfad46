"""Sessions with an idle policy: what does a message cost, and what does it cost to find those that are due?

Fifty thousand of them against fifty. In each a message has been written, so each waits for its silence.
"""

import asyncio
import statistics
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack, contextmanager
from dataclasses import dataclass, field
from functools import partial
from itertools import count

from bench.figure import AtMost, AtMostOfPeer, Figure, compared
from bench.measure import alternate, stopwatch
from bench.room import Room
from segue import Kernel
from segue.model.agent import OpenTurn
from segue.model.auto_commit import AutoCommitPolicy

FEW = 50
CALLS = 20
POLICY = AutoCommitPolicy(enabled=True, idle_timeout_seconds=86_400)
_AT_ONCE = 64


@dataclass(slots=True)
class Waiting:
    """A kernel on a database full of sessions that wait for a silence."""

    kernel: Kernel
    sessions: int
    calls: Iterator[int] = field(default_factory=count)

    async def write(self) -> float:
        key = f"websocket:{next(self.calls) * 7919 % self.sessions}"
        with stopwatch() as watch:
            await self.kernel.write(key, "user", "and one more word")
        return watch.seconds * 1000

    async def find_due(self) -> float:
        now = self.kernel.clock.ms()
        with stopwatch() as watch:
            await self.kernel.shelf.due_commits(now, 200)
        return watch.seconds * 1000


def memory(room: Room) -> Iterator[Figure]:
    many = room.size(50_000, short=5_000)
    with room.folder() as folder:
        yield from _on("SQLite", room, many, f"sqlite:///{folder}/few.db", f"sqlite:///{folder}/many.db")
    with room.database() as few, room.database() as full:
        yield from _on("PostgreSQL", room, many, few, full)


def _on(kind: str, room: Room, sessions: int, few: str, many: str) -> Iterator[Figure]:
    with (
        asyncio.Runner() as runner,
        _waiting(runner, few, FEW) as small,
        _waiting(runner, many, sessions) as large,
    ):
        write = alternate(room.rounds, partial(_writes, runner, large), partial(_writes, runner, small))
        yield compared(
            f"{kind}: {sessions:,} sessions wait for a silence, a write", "ms", write, AtMostOfPeer(1.5)
        )
        looks = [runner.run(large.find_due()) for _ in range(CALLS * 5)]
        workload = f"{kind}: {sessions:,} sessions wait for a silence, finding who is due"
        yield Figure(workload=workload, unit="ms", ours=statistics.median(looks), bar=AtMost(1.0, "ms"))


@contextmanager
def _waiting(runner: asyncio.Runner, url: str, sessions: int) -> Iterator[Waiting]:
    owned = AsyncExitStack()

    async def fill() -> Kernel:
        kernel = await owned.enter_async_context(Kernel(url, agent=_echo))
        for first in range(0, sessions, _AT_ONCE):
            keys = range(first, min(first + _AT_ONCE, sessions))
            await asyncio.gather(*(_begin(kernel, f"websocket:{number}") for number in keys))
        return kernel

    kernel = runner.run(fill())
    try:
        yield Waiting(kernel, sessions)
    finally:
        runner.run(owned.aclose())


async def _begin(kernel: Kernel, key: str) -> None:
    await kernel.write(key, "user", "hello", auto_commit_policy=POLICY)


def _writes(runner: asyncio.Runner, waiting: Waiting) -> float:
    return statistics.median(runner.run(waiting.write()) for _ in range(CALLS))


async def _echo(turn: OpenTurn) -> AsyncIterator[str]:
    yield "ok"
