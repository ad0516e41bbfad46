# /// script
# dependencies = ["celery[redis]==5.7.0"]
#
# [tool.field]
# title = "Celery"
# packages = ["celery", "redis"]
# stores = ["redis"]
# documentation = "https://docs.celeryq.dev/en/stable/getting-started/backends-and-brokers/redis.html"
#
# [tool.field.left-out]
# pending = """beat's schedule is part of the program, and its guide advises against an ETA \
# beyond the broker's visibility timeout of an hour"""
# neighbours = "no order in a session"
# ///
"""Celery with Redis: a worker with fifty threads, and jobs that are due later as tasks with an ETA.

Beat runs what is due periodically and is one process by its guide; a job with one moment is a task with an
ETA. `acks_late` and a prefetch of one are what the guide advises for tasks that may be run again after a
crash; the visibility timeout decides when, so it must be longer than any task. Threads, because turns wait
for a model (userguide/concurrency). It has no order in a session; the backlog shows what it does without
one.
"""

import asyncio
import os
import sys
from datetime import UTC, datetime
from typing import Any

from celery import Celery

from bench.field.program import Job, Program, record_of, serve

READY_SECONDS = 30


def _application(broker: str, visibility: str) -> Celery:
    made = Celery("field", broker=broker)
    made.conf.update(
        task_ignore_result=True,
        task_acks_late=True,
        worker_prefetch_multiplier=1,
        broker_transport_options=_prompt_redelivery(float(visibility)) if visibility else {},
        broker_connection_retry_on_startup=True,
    )
    return made


def _prompt_redelivery(visibility: float) -> dict[str, float]:
    """By default the tasks of a worker that died are looked for every hundred seconds."""
    return {
        "visibility_timeout": visibility,
        "unacked_restore_interval": 1,
        "unacked_restore_throttle": 1,
    }


app = _application(os.environ.get("FIELD_BROKER", ""), os.environ.get("FIELD_DETECTION", ""))


@app.task(name="turn")
def turn(record_path: str, label: str) -> None:
    record_of(record_path).blocking_turn(label)


class CeleryPeer(Program):
    async def open(self) -> None:
        detection = self.options["detection_seconds"]
        self._environment = {"FIELD_BROKER": self.store, "FIELD_DETECTION": str(detection or "")}
        app.conf.update(broker_url=self.store)

    async def add(self, job: Job, at: float | None) -> None:
        chosen: dict[str, Any] = {} if at is None else {"eta": datetime.fromtimestamp(at, UTC)}
        turn.apply_async((self.record_path, job.label), **chosen)

    async def work(self) -> None:
        """The worker is a process of its own, and answers a ping when it is ready."""
        name = f"field-{os.getpid()}@bench"
        threads = min(200, self.options["capacity"])
        command = (
            f"-m celery -A bench.field.peers.celery worker --pool threads -c {threads} -l ERROR -n {name}"
        )
        environment = os.environ | self._environment
        self._worker = await asyncio.create_subprocess_exec(
            sys.executable, *command.split(), env=environment, stdin=asyncio.subprocess.DEVNULL
        )
        for _ in range(READY_SECONDS):
            if await asyncio.to_thread(app.control.ping, [name], timeout=1.0, limit=1):
                return
        raise RuntimeError("the worker did not answer")


if __name__ == "__main__":
    # The worker knows the task by the name of its module, which is not `__main__`.
    from bench.field.peers import celery

    serve(celery.CeleryPeer())
