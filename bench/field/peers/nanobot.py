# /// script
# dependencies = ["nanobot-ai==0.3.5"]
#
# [tool.field]
# title = "nanobot"
# packages = ["nanobot-ai"]
# stores = ["files"]
# documentation = "https://github.com/HKUDS/nanobot/blob/main/README.md"
#
# [tool.field.most]
# pending = 100000
#
# [tool.field.left-out]
# backlog = "messages that wait are in memory only, so there is no backlog to open"
# neighbours = "its cron service runs due jobs one after the other, of whatever session"
# starting = "a job whose moment passed while no process ran is not run at the start"
# ///
"""nanobot's cron service with its file of jobs, and a callback in the place of its agent.

The service is what `nanobot gateway` runs; its agent would need a model. Jobs are added by the running
service, as its `cron` tool does; before it runs, it takes them over from a file of actions. Jobs with one
moment are deleted after their run, as the tool makes them.
"""

import time
from pathlib import Path

from loguru import logger
from nanobot.cron.service import CronService
from nanobot.cron.types import CronJob, CronSchedule

from bench.field.program import Job, Program, serve

SOON = 0.2
"""A moment that has passed is never run."""


class Nanobot(Program):
    async def open(self) -> None:
        logger.disable("nanobot")
        self._service = CronService(Path(self.store, "cron", "jobs.json"), on_job=self._run)

    async def _run(self, job: CronJob) -> str:
        await self.record.turn(job.payload.message)
        return "ok"

    async def add(self, job: Job, at: float | None) -> None:
        moment = time.time() + SOON if at is None else at
        chat = f"{job.session}"
        self._service.add_job(
            name=job.label,
            schedule=CronSchedule(kind="at", at_ms=int(1000 * moment)),
            message=job.label,
            delete_after_run=True,
            session_key=f"websocket:{chat}",
            origin_channel="websocket",
            origin_chat_id=chat,
        )

    async def work(self) -> None:
        await self._service.start()


if __name__ == "__main__":
    serve(Nanobot())
