# /// script
# dependencies = ["pgqueuer==1.6.0", "asyncpg==0.32.0", "uvloop==0.23.0"]
#
# [tool.field]
# title = "PgQueuer"
# packages = ["pgqueuer", "asyncpg"]
# stores = ["postgresql"]
# documentation = "https://pgqueuer.readthedocs.io/en/latest/"
#
# [tool.field.left-out]
# neighbours = "no order in a session: its limits are for an entrypoint, which is a kind of work"
# ///
"""PgQueuer with one entrypoint, the asyncpg driver, and uvloop as in its own benchmark.

A batch is half of what may run at once, which is the most that it allows, and at most 100. It has no order
in a session; the backlog shows what it does without one. A deferred job wakes the consumer at its moment.
`heartbeat_timeout` decides when a job of a dead consumer is taken again.
"""

import asyncio
import time
from collections.abc import Sequence
from datetime import timedelta

import asyncpg
import uvloop
from pgqueuer import PgQueuer
from pgqueuer.db import AsyncpgDriver
from pgqueuer.models import Job as QueuedJob
from pgqueuer.queries import Queries

from bench.field.program import Job, Program, serve

LARGEST_BATCH = 100
ENQUEUE_BATCH = 5_000
EAGER_SECONDS, USUAL_SECONDS = 1.0, 30.0


class PgQueuerPeer(Program):
    async def open(self) -> None:
        self._queries = Queries(AsyncpgDriver(await asyncpg.connect(self.store)))
        if not await self._queries.has_table("pgqueuer"):
            await self._queries.install()

    async def _run(self, job: QueuedJob) -> None:
        await self.record.turn((job.payload or b"").decode())

    async def add(self, job: Job, at: float | None) -> None:
        await self._queries.enqueue("turn", job.label.encode(), execute_after=_from_now(at))

    async def add_many(self, jobs: Sequence[Job], ats: Sequence[float | None]) -> None:
        for first in range(0, len(jobs), ENQUEUE_BATCH):
            part = jobs[first : first + ENQUEUE_BATCH]
            waits: list[timedelta | None] = [_from_now(at) for at in ats[first : first + ENQUEUE_BATCH]]
            payloads: list[bytes | None] = [job.label.encode() for job in part]
            await self._queries.enqueue(["turn"] * len(part), payloads, [0] * len(part), execute_after=waits)

    async def work(self) -> None:
        consumer = PgQueuer(AsyncpgDriver(await asyncpg.connect(self.store)))
        consumer.entrypoint("turn")(self._run)
        detection = self.options["detection_seconds"] or USUAL_SECONDS
        capacity = self.options["capacity"]
        running = consumer.run(
            batch_size=max(1, min(LARGEST_BATCH, capacity // 2)),
            max_concurrent_tasks=max(2, capacity),
            heartbeat_timeout=timedelta(seconds=detection),
            dequeue_timeout=timedelta(seconds=EAGER_SECONDS if self.options["eager"] else USUAL_SECONDS),
        )
        self._running = asyncio.get_running_loop().create_task(running)


def _from_now(at: float | None) -> timedelta:
    return timedelta(seconds=0 if at is None else at - time.time())


if __name__ == "__main__":
    serve(PgQueuerPeer(), uvloop.new_event_loop)
