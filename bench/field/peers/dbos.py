# /// script
# dependencies = ["dbos==3.3.0"]
#
# [tool.field]
# title = "DBOS"
# packages = ["dbos"]
# stores = ["postgresql"]
# documentation = "https://docs.dbos.dev/python/tutorials/queue-tutorial"
# ///
"""DBOS with a queue that is partitioned by session and runs one workflow at a time in each partition.

A job that is due later is enqueued with a delay. The queue is polled every second by default, and every 0.05
s where speed is measured; delayed workflows are looked for once a second, for which there is no setting.
Jobs are enqueued by a `DBOSClient`, as from another program. Without Conductor a process recovers the
workflows of its own executor id when it starts, so the second process has the same one.
"""

import asyncio
import time
from typing import Any

from dbos import DBOS, DBOSClient
from sqlalchemy import create_engine, inspect, text

from bench.field.program import LATER, Job, Program, Record, serve

QUEUE = "turns"
EAGER_SECONDS, USUAL_SECONDS = 0.05, 1.0


class Dbos(Program):
    at_once = 5
    """The connections of a client's pool."""

    async def open(self) -> None:
        self._engine = create_engine(self.store.replace("postgresql:", "postgresql+psycopg:"))
        if not inspect(self._engine).has_table("workflow_status", schema="dbos"):
            await asyncio.to_thread(self._create_tables)
        self._client = await asyncio.to_thread(self._connected)

    def _create_tables(self) -> None:
        """A client never creates the tables: the application does when it is launched."""
        self._launch()
        DBOS.destroy(destroy_registry=True)

    def _connected(self) -> DBOSClient:
        return DBOSClient(system_database_url=self.store, application_name="field")

    def _launch(self) -> None:
        DBOS(
            config={
                "name": "field",
                "system_database_url": self.store,
                "application_version": "1",
                "log_level": "ERROR",
            }
        )
        DBOS.workflow(name="turn")(_workflow(self.record))
        DBOS.launch()

    async def add(self, job: Job, at: float | None) -> None:
        await self._client.enqueue_async(_options(job, at), job.label)

    async def fill(self, count: int) -> None:
        """Copies of one workflow that the client enqueued: a million calls would take most of an hour."""
        await self.add(Job(-1, 0), time.time() + LATER)
        await asyncio.to_thread(self._copy, count)

    def _copy(self, count: int) -> None:
        table = "dbos.workflow_status"
        columns = [one["name"] for one in inspect(self._engine).get_columns("workflow_status", schema="dbos")]
        fresh = {"workflow_uuid": "'copy-' || number", "queue_partition_key": "'session-' || number / 10"}
        chosen = ", ".join(fresh.get(column, column) for column in columns)
        source = f"(SELECT * FROM {table} LIMIT 1) AS one, generate_series(1, {count}) AS number"
        with self._engine.begin() as connection:
            connection.execute(
                text(f"INSERT INTO {table} ({', '.join(columns)}) SELECT {chosen} FROM {source}")
            )

    async def work(self) -> None:
        await asyncio.to_thread(self._work)

    def _work(self) -> None:
        self._launch()
        DBOS.register_queue(
            QUEUE,
            partition_concurrency=1,
            worker_concurrency=self.options["capacity"],
            polling_interval_sec=EAGER_SECONDS if self.options["eager"] else USUAL_SECONDS,
        )


def _workflow(record: Record) -> Any:
    """A workflow of one step, which is the turn."""

    async def run(label: str) -> None:
        await record.turn(label)

    step = DBOS.step(name="run")(run)

    async def turn(label: str) -> None:
        await step(label)

    return turn


def _options(job: Job, at: float | None) -> Any:
    chosen: dict[str, Any] = {"workflow_name": "turn", "queue_name": QUEUE, "app_version": "1"}
    chosen["queue_partition_key"] = f"session-{job.session}"
    return chosen if at is None else chosen | {"delay_seconds": at - time.time()}


if __name__ == "__main__":
    serve(Dbos())
