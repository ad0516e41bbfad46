"""PgQueuer's own drain benchmark, on our server.

It follows the project's `tools/benchmark.py --strategy drain`: the queue is filled first, then five consumers
in one process, each with its own connection and batches of ten, empty it. The jobs are spread over two
entrypoints that do nothing. (The original ran half of them as a plain `def` in a thread; since 1.x every
entrypoint is `async def`, which is faster.)

What PgQueuer writes for one job, at its default durability (`durable`: every table logged):

  - enqueue   INSERT the queue row, INSERT a log row ("queued")
  - dequeue   UPDATE the queue row to "picked", INSERT a log row ("picked"); one commit for a batch
  - finish    DELETE the queue row, INSERT a log row ("successful"); one commit for
              at least a batch, or every 0.1 s for fewer

So a drained job costs 1 UPDATE, 1 DELETE and 2 INSERTs in two commits that it shares with its batch, and
the finishing one carries a NOTIFY. There is no order per key, no fence and no result; a job whose handler
has returned would run again if the process died before the shared commit.
"""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from itertools import cycle, islice

import asyncpg
import uvloop
from pgqueuer import PgQueuer
from pgqueuer.db import AsyncpgDriver
from pgqueuer.models import Job
from pgqueuer.queries import Queries
from pgqueuer.types import QueueExecutionMode

from bench.measure import Rate, stopwatch

ENTRYPOINTS = ("odd", "even")


@dataclass(frozen=True, slots=True, kw_only=True)
class Drain:
    """The options of their benchmark, with their defaults; only the number of jobs is ours."""

    jobs: int = 20_000
    consumers: int = 5
    batch: int = 10
    enqueue_batch: int = 1_000
    uvloop: bool = True
    """As in their benchmark, and as `segue serve` and `segue worker` run."""


@dataclass(frozen=True, slots=True)
class Drained:
    enqueue: Rate
    drain: Rate


def run(url: str, plan: Drain) -> Drained:
    with asyncio.Runner(loop_factory=uvloop.new_event_loop if plan.uvloop else None) as runner:
        return runner.run(_fill_and_drain(url, plan))


async def _fill_and_drain(url: str, plan: Drain) -> Drained:
    """Installs PgQueuer's schema, fills its queue, drains it, and removes the schema."""
    async with _installed(url) as queries:
        with stopwatch() as filling:
            await _fill(queries, plan)
        with stopwatch() as draining:
            await _drain(url, plan)
        await _assert_nothing_left(queries)
    return Drained(Rate(plan.jobs, filling.seconds), Rate(plan.jobs, draining.seconds))


@asynccontextmanager
async def _installed(url: str) -> AsyncIterator[Queries]:
    async with _connected(url) as connection:
        queries = Queries(AsyncpgDriver(connection))
        await queries.install()
        try:
            yield queries
        finally:
            await queries.uninstall()


@asynccontextmanager
async def _connected(url: str) -> AsyncIterator[asyncpg.Connection]:
    connection = await asyncpg.connect(url)
    try:
        yield connection
    finally:
        await connection.close()


async def _fill(queries: Queries, plan: Drain) -> None:
    entrypoints = list(islice(cycle(ENTRYPOINTS), plan.jobs))
    for batch in _batches(entrypoints, plan.enqueue_batch):
        await queries.enqueue(batch, [b""] * len(batch), [0] * len(batch))


def _batches(items: list[str], size: int) -> Sequence[list[str]]:
    return [items[start : start + size] for start in range(0, len(items), size)]


async def _drain(url: str, plan: Drain) -> None:
    async with AsyncExitStack() as connections:
        drivers = [
            AsyncpgDriver(await connections.enter_async_context(_connected(url)))
            for _ in range(plan.consumers)
        ]
        await asyncio.gather(*(_consume(PgQueuer(driver), plan.batch) for driver in drivers))


async def _consume(consumer: PgQueuer, batch: int) -> None:
    for name in ENTRYPOINTS:
        consumer.entrypoint(name)(_do_nothing)
    await consumer.run(batch_size=batch, mode=QueueExecutionMode.drain)


async def _do_nothing(job: Job) -> None: ...


async def _assert_nothing_left(queries: Queries) -> None:
    left = sum(row.count for row in await queries.queue_size())
    assert left == 0, f"PgQueuer left {left} jobs in its queue"
