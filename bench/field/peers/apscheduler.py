# /// script
# dependencies = ["apscheduler==3.11.3", "sqlalchemy==2.1.8"]
#
# [tool.field]
# title = "APScheduler"
# packages = ["apscheduler"]
# stores = ["sqlite"]
# documentation = "https://apscheduler.readthedocs.io/en/3.x/userguide.html"
#
# [tool.field.left-out]
# backlog = "no order in a session: `max_instances` limits one job, not several jobs of a conversation"
# neighbours = "no order in a session, so no session is busy"
# ///
"""APScheduler 3 with the SQLAlchemy job store on SQLite, as its guide configures it.

`misfire_grace_time` is set to None: with the default of one second a scheduler that is late would drop jobs,
and the guide says to set it to what the application can bear. Turns are coroutines, so the scheduler is the
asyncio one and needs no pool of threads. The guide warns that a job store must not be shared by two
schedulers.
"""

import pickle
import time
from datetime import UTC, datetime
from functools import partial

from apscheduler.executors.asyncio import AsyncIOExecutor
from apscheduler.jobstores.sqlalchemy import SQLAlchemyJobStore
from apscheduler.schedulers.asyncio import AsyncIOScheduler
from apscheduler.util import datetime_to_utc_timestamp
from sqlalchemy import insert, select

from bench.field.program import LATER, Job, Program, record_of, serve

BATCH = 10_000


async def turn(record_path: str, label: str) -> None:
    await record_of(record_path).turn(label)


class APScheduler(Program):
    async def open(self) -> None:
        self._store = SQLAlchemyJobStore(url=self.store)
        self._scheduler = AsyncIOScheduler(
            jobstores={"default": self._store},
            executors={"default": AsyncIOExecutor()},
            job_defaults={"misfire_grace_time": None},
            timezone=UTC,
        )
        self._scheduler.start(paused=True)

    async def add(self, job: Job, at: float | None) -> None:
        moment = datetime.fromtimestamp(time.time() if at is None else at, UTC)
        self._scheduler.add_job(turn, "date", run_date=moment, args=[self.record_path, job.label])

    async def fill(self, count: int) -> None:
        """Copies of one job that the scheduler stored: a million calls would take most of an hour."""
        await self.add(Job(-1, 0), time.time() + LATER)
        table, engine = self._store.jobs_t, self._store.engine
        with engine.begin() as connection:
            state = pickle.loads(connection.execute(select(table.c.job_state)).scalar_one())
            for first in range(0, count, BATCH):
                rows = map(partial(_copy, state), range(first, min(count, first + BATCH)))
                connection.execute(insert(table), list(rows))

    async def work(self) -> None:
        self._scheduler.resume()


def _copy(state: dict[str, object], number: int) -> dict[str, object]:
    identity = f"{number:032x}"
    due = datetime_to_utc_timestamp(state["next_run_time"])
    return {"id": identity, "next_run_time": due, "job_state": pickle.dumps(state | {"id": identity})}


if __name__ == "__main__":
    # Stored jobs name their function by its module, which `__main__` would not be for another process.
    from bench.field.peers import apscheduler

    serve(apscheduler.APScheduler())
