# /// script
# dependencies = ["procrastinate==3.10.0", "psycopg[binary,pool]==3.3.9"]
#
# [tool.field]
# title = "Procrastinate"
# packages = ["procrastinate", "psycopg"]
# stores = ["postgresql"]
# documentation = "https://procrastinate.readthedocs.io/en/stable/howto/advanced/locks.html"
# ///
"""Procrastinate with a lock for each session, which runs the jobs with the same lock one by one and in
order.

`concurrency` is the number of turns that may run at once (howto/production/concurrency). A scheduled job
starts at the next poll after its moment: where speed is measured, the worker polls every 0.1 s instead of
every 5 s. Jobs of a worker that died are found by its heartbeat and retried by a periodic task, as in
howto/production/retry_stalled_jobs.
"""

import asyncio
from datetime import UTC, datetime, timedelta
from typing import Any

import procrastinate

from bench.field.program import LATER, Job, Program, serve

BATCH = 5_000
EAGER_SECONDS = 0.1


class Procrastinate(Program):
    at_once = 50

    async def open(self) -> None:
        self._app = procrastinate.App(connector=procrastinate.PsycopgConnector(conninfo=self.store))
        self._turn = self._app.task(name="turn", queue="turns")(self._run)
        if self.options["detection_seconds"]:
            retry = self._app.task(name="retry", queue="stalled", queueing_lock="retry")(self._retry_stalled)
            self._app.periodic(cron="* * * * * *")(retry)
        await self._app.open_async()
        if not await self._app.check_connection_async():
            await self._app.schema_manager.apply_schema_async()

    async def _run(self, label: str) -> None:
        await self.record.turn(label)

    async def _retry_stalled(self, timestamp: int) -> None:
        manager = self._app.job_manager
        for job in await manager.get_stalled_jobs(seconds_since_heartbeat=self.options["detection_seconds"]):
            await manager.retry_job(job)

    async def add(self, job: Job, at: float | None) -> None:
        await self._configured(job, at).defer_async(label=job.label)

    def _configured(self, job: Job, at: float | None) -> Any:
        moment = None if at is None else datetime.fromtimestamp(at, UTC)
        return self._turn.configure(lock=f"session-{job.session}", schedule_at=moment)

    async def fill(self, count: int) -> None:
        """By batches, which are one statement each and so have no lock for each session."""
        later = self._turn.configure(schedule_at=datetime.now(UTC) + timedelta(seconds=LATER))
        for first in range(0, count, BATCH):
            labels = [Job(-1 - number, 0).label for number in range(first, min(count, first + BATCH))]
            await later.batch_defer_async(*({"label": label} for label in labels))

    async def work(self) -> None:
        chosen: dict[str, Any] = {}
        if self.options["eager"]:
            chosen["fetch_job_polling_interval"] = EAGER_SECONDS
        if detection := self.options["detection_seconds"]:
            chosen |= {"update_heartbeat_interval": detection / 3, "stalled_worker_timeout": detection}
        worker = self._app.run_worker_async(
            concurrency=self.options["capacity"], install_signal_handlers=False, **chosen
        )
        self._running = asyncio.get_running_loop().create_task(worker)


if __name__ == "__main__":
    serve(Procrastinate())
