"""Sessions with an idle policy: the cost of a write, and of finding the sessions that are due for archiving.

50,000 sessions are compared with 50. Each has a message, so each waits for its idle timeout.
"""

import asyncio
import statistics
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack, contextmanager
from dataclasses import dataclass, field
from functools import partial
from itertools import count

from bench.environment import Environment
from bench.figure import AtMost, AtMostOfPeer, Figure, compared
from bench.measure import alternate, stopwatch
from segue import Kernel
from segue.model.agent import OpenTurn
from segue.model.auto_commit import AutoCommitPolicy

FEW = 50
CALLS = 20
POLICY = AutoCommitPolicy(enabled=True, idle_timeout_seconds=86_400)
_AT_ONCE = 64


@dataclass(slots=True)
class Waiting:
    """A kernel on a database full of sessions that wait for their idle timeout."""

    kernel: Kernel
    sessions: int
    calls: Iterator[int] = field(default_factory=count)

    async def write(self) -> float:
        key = f"websocket:{next(self.calls) * 7919 % self.sessions}"
        with stopwatch() as watch:
            await self.kernel.log.write(key, "user", "and one more word")
        return watch.seconds * 1000

    async def find_due(self) -> float:
        now = self.kernel.clock.ms()
        with stopwatch() as watch:
            await self.kernel.memory_reader.due_commits(now, 200)
        return watch.seconds * 1000


def memory(env: Environment) -> Iterator[Figure]:
    many = env.size(50_000, short=5_000)
    with env.folder() as folder:
        yield from _on("SQLite", env, many, f"sqlite:///{folder}/few.db", f"sqlite:///{folder}/many.db")
    with env.database() as few, env.database() as full:
        yield from _on("PostgreSQL", env, many, few, full)


def _on(kind: str, env: Environment, sessions: int, few: str, many: str) -> Iterator[Figure]:
    with (
        asyncio.Runner() as runner,
        _waiting(runner, few, FEW) as small,
        _waiting(runner, many, sessions) as large,
    ):
        write = alternate(env.rounds, partial(_writes, runner, large), partial(_writes, runner, small))
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
    await kernel.log.write(key, "user", "hello", auto_commit_policy=POLICY)


def _writes(runner: asyncio.Runner, waiting: Waiting) -> float:
    return statistics.median(runner.run(waiting.write()) for _ in range(CALLS))


async def _echo(turn: OpenTurn) -> AsyncIterator[str]:
    yield "ok"
