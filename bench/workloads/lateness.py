"""How late a turn starts: from the slot of its job to the first line of its agent.

The jobs are stored before, and the kernel runs while their moments come. Both ends are read from the
machine's wall clock. There is capacity for all jobs at once: what is measured is how soon the kernel starts
them, not how long they wait for each other. A second line shows the same with a capacity of fifty.

A lone job is measured in a process that has run some: the first ones wait until PostgreSQL has planned each
statement on each new connection. The first one has a line of its own.
"""

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator, Sequence
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any, TypeAlias

from bench.environment import Environment
from bench.figure import AtMost, Figure
from bench.measure import median_of, percentile
from segue import Ask, At, Job, Kernel, Settings
from segue.cli.support import event_loop
from segue.model.agent import OpenTurn

JOBS = 1_000
LONE_JOBS = 100
WARM_UP = 10
"""Lone jobs that run before those that are measured."""
SMALL_CAPACITY = 50
AHEAD = timedelta(seconds=4)
"""Time to store a thousand jobs, to start the workers, and to settle down."""
A_MOMENT = timedelta(milliseconds=100)

Measure: TypeAlias = Callable[[str], Coroutine[Any, Any, list[float]]]
"""Returns the lateness of jobs, in milliseconds, on the database of a URL."""


class TimedAgent:
    """An agent that records when it was called for which job."""

    reports_tools = True

    def __init__(self) -> None:
        self._called_at: dict[str, float] = {}
        self._called = asyncio.Condition()

    async def answer(self, turn: OpenTurn) -> AsyncIterator[str]:
        moment = time.time()
        assert turn.source is not None
        self._called_at[turn.source.job_id] = moment * 1000
        async with self._called:
            self._called.notify_all()
        yield "ok"

    async def lateness(self, jobs: Sequence[Job]) -> list[float]:
        """Waits until the agent was called for all jobs; returns their lateness in milliseconds."""
        async with self._called:
            await self._called.wait_for(lambda: len(self._called_at) >= len(jobs))
        return [self._called_at.pop(job.id) - (job.slot or 0) for job in jobs]


def lateness(env: Environment) -> Iterator[Figure]:
    spread = [timedelta(seconds=number / JOBS) for number in range(JOBS)]
    at_once = [timedelta()] * JOBS
    over_a_second, in_one_instant = partial(_together, after=spread), partial(_together, after=at_once)
    yield _on_sqlite("the first job of a process", None, env, _first)
    yield _on_sqlite("a lone job", 10, env, _one_by_one)
    yield _on_sqlite("1,000 jobs over one second", 50, env, over_a_second)
    yield _on_sqlite("1,000 jobs in one instant", 1_000, env, in_one_instant)
    few = partial(_together, after=at_once, capacity=SMALL_CAPACITY)
    yield _on_sqlite(f"1,000 jobs in one instant, a capacity of {SMALL_CAPACITY}", None, env, few)
    yield _on_postgres("the first job of a process", None, env, _first)
    yield _on_postgres("a lone job", 10, env, _one_by_one)
    yield _on_postgres("1,000 jobs in one instant", 2_000, env, in_one_instant)


def _on_sqlite(workload: str, limit: float | None, env: Environment, measure: Measure) -> Figure:
    def once() -> float:
        with env.folder() as folder:
            return percentile(event_loop.run(measure(f"sqlite:///{folder}/segue.db")), 99)

    return _p99(f"SQLite: {workload}", limit, median_of(env.rounds, once))


def _on_postgres(workload: str, limit: float | None, env: Environment, measure: Measure) -> Figure:
    def once() -> float:
        with env.database() as url:
            return percentile(event_loop.run(measure(url)), 99)

    return _p99(f"PostgreSQL: {workload}", limit, median_of(env.rounds, once))


def _p99(workload: str, limit: float | None, late: float) -> Figure:
    bar = None if limit is None else AtMost(limit, "ms")
    return Figure(workload=f"{workload}, p99 late", unit="ms", ours=late, bar=bar)


async def _together(url: str, after: Sequence[timedelta], capacity: int = JOBS) -> list[float]:
    agent = TimedAgent()
    async with _kernel(url, agent, capacity) as kernel:
        start = datetime.now(UTC) + AHEAD
        jobs = await asyncio.gather(
            *(_schedule(kernel, number, start + later) for number, later in enumerate(after))
        )
        async with _running(kernel):
            return await agent.lateness(jobs)


async def _first(url: str) -> list[float]:
    return await _in_turn(url, 1)


async def _one_by_one(url: str) -> list[float]:
    return (await _in_turn(url, WARM_UP + LONE_JOBS))[WARM_UP:]


async def _in_turn(url: str, count: int) -> list[float]:
    """The lateness of jobs each of which becomes due after the one before it has started."""
    agent = TimedAgent()
    late: list[float] = []
    async with _kernel(url, agent, SMALL_CAPACITY) as kernel, _running(kernel):
        for number in range(count):
            job = await _schedule(kernel, number, datetime.now(UTC) + A_MOMENT)
            late += await agent.lateness([job])
    return late


def _kernel(url: str, agent: TimedAgent, capacity: int) -> Kernel:
    return Kernel(url, agent=agent, settings=Settings(runners=capacity))


async def _schedule(kernel: Kernel, number: int, moment: datetime) -> Job:
    return await kernel.schedule(f"websocket:{number}", At(moment), Ask("go on"))


@asynccontextmanager
async def _running(kernel: Kernel) -> AsyncIterator[None]:
    async with asyncio.TaskGroup() as group:
        running = group.create_task(kernel.run())
        yield
        running.cancel()
