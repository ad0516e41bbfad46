"""A million jobs are due in the far future: the cost of adding a job, running one and listing a session's.

Each is compared with the same call on a database with a thousand jobs. Start, idle and memory are those of a
separate process.
"""

import asyncio
import statistics
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from contextlib import AsyncExitStack, contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import partial
from itertools import count
from typing import Any, TypeAlias

from bench.environment import Environment
from bench.figure import AtMost, AtMostOfPeer, Figure, compared
from bench.idle import idle
from bench.measure import alternate, stopwatch
from bench.stock import JOBS_PER_SESSION, stock
from segue import Ask, At, Kernel
from segue.model.agent import OpenTurn

FEW = 1_000
Call: TypeAlias = Coroutine[Any, Any, float]
"""Returns its own duration in milliseconds."""

TWICE = AtMostOfPeer(2)
SOON = timedelta(milliseconds=5)
LATER = timedelta(days=365)
CALLS = 20
"""In each round, which counts by their median: a single call is too short to measure."""


@dataclass(slots=True)
class Stocked:
    """A kernel on a stocked database; its workers run one step at a time."""

    kernel: Kernel
    sessions: int
    calls: Iterator[int] = field(default_factory=count)

    async def add(self) -> float:
        key = self._key()
        moment = datetime.now(UTC) + LATER
        with stopwatch() as watch:
            await self.kernel.schedule(key, At(moment), Ask("go on"))
        return watch.seconds * 1000

    async def run_one(self) -> float:
        """From the timer's step to the end of the turn."""
        moment = datetime.now(UTC) + SOON
        await self.kernel.schedule(self._key(), At(moment), Ask("go on"))
        await asyncio.sleep((moment - datetime.now(UTC)).total_seconds() + 0.002)
        with stopwatch() as watch:
            await self.kernel.workers.timer.step()
            done = await self.kernel.workers.runner.step()
        assert done == 1, f"one turn was due, {done} ran"
        return watch.seconds * 1000

    async def list_session(self) -> float:
        key = self._key()
        with stopwatch() as watch:
            jobs = await self.kernel.jobs.list(key)
        assert jobs, f"{key} has no jobs"
        return watch.seconds * 1000

    def _key(self) -> str:
        """The key of another session on each call, far apart in the index."""
        return f"websocket:{next(self.calls) * 7919 % self.sessions}"


def pending(env: Environment) -> Iterator[Figure]:
    many = env.size(1_000_000, short=100_000)
    with env.folder() as folder:
        yield from _on("SQLite", env, many, f"sqlite:///{folder}/few.db", f"sqlite:///{folder}/many.db")
    if not env.short:
        with env.database() as few, env.database() as full:
            yield from _on("PostgreSQL", env, many, few, full)


def _on(kind: str, env: Environment, jobs: int, few: str, many: str) -> Iterator[Figure]:
    names = {
        "adding one": Stocked.add,
        "running one": Stocked.run_one,
        "listing a session's": Stocked.list_session,
    }
    with (
        asyncio.Runner() as runner,
        _stocked(runner, few, FEW) as small,
        _stocked(runner, many, jobs) as large,
    ):
        for name, call in names.items():
            cost = alternate(
                env.rounds, partial(_median, runner, call, large), partial(_median, runner, call, small)
            )
            yield compared(f"{kind}: {jobs:,} jobs wait, {name}", "ms", cost, TWICE)
    alone = idle(many, env.size(10, short=3))
    for name, unit, value, limit in (
        ("start", "s", alone.start_seconds, 2.0),
        ("idle", "% of a core", alone.cpu_percent, 0.5),
        ("memory", "MB", alone.memory_mb, 150.0),
    ):
        workload = f"{kind}: {jobs:,} jobs wait, {name}"
        yield Figure(workload=workload, unit=unit, ours=value, bar=AtMost(limit, unit))


@contextmanager
def _stocked(runner: asyncio.Runner, url: str, jobs: int) -> Iterator[Stocked]:
    owned = AsyncExitStack()

    async def open_and_stock() -> Kernel:
        kernel = await owned.enter_async_context(Kernel(url, agent=_echo))
        await stock(kernel, jobs)
        return kernel

    kernel = runner.run(open_and_stock())
    try:
        yield Stocked(kernel, jobs // JOBS_PER_SESSION)
    finally:
        runner.run(owned.aclose())


def _median(runner: asyncio.Runner, call: Callable[[Stocked], Call], stocked: Stocked) -> float:
    return statistics.median(runner.run(call(stocked)) for _ in range(CALLS))


async def _echo(turn: OpenTurn) -> AsyncIterator[str]:
    yield "ok"
