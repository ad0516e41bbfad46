"""Day mover: gives jobs the new version of the day set that they use, which moves their next slot.

The change of a set does this itself when it has been stored. The worker does it for a change whose process
crashed before the end, and for a job that was made with the old version in the same moment.
"""

import logging

from segue.errors import ChangedMeanwhile, Invalid, NotFound
from segue.kernel.transactions import jobs
from segue.kernel.transactions.result import Name
from segue.kernel.workers.worker_context import WorkerContext
from segue.model.schedule import with_days
from segue.times.days.day_sets import DaySet

_log = logging.getLogger(__name__)

_PAUSE_MS = 60_000
_BATCH = 100


class DayMover:
    def __init__(self, context: WorkerContext) -> None:
        self._context = context

    async def run(self) -> None:
        while True:
            await self.step()
            await self._context.bell.wait(Name.DAYS, self._context.clock.ms() + _PAUSE_MS)

    async def step(self) -> int:
        """Give all jobs the present version of their set. Returns how many had an old one."""
        moved, after = 0, ""
        while behind := await self._context.store.jobs_behind_days(after, _BATCH):
            for job_id, days in behind:
                moved += await self._move(job_id, days)
            after = behind[-1][0]
        if moved:
            _log.info("day sets changed, their jobs follow: %d jobs", moved)
        return moved

    async def _move(self, job_id: str, days: DaySet) -> bool:
        context = self._context
        while True:
            try:
                job = await context.store.job(job_id)
            except (NotFound, Invalid, ValueError, KeyError, TypeError) as error:
                _log.warning("job keeps its days, it cannot be read: %s (%s)", job_id, error)
                return False
            now = context.clock.ms()
            changed = with_days(job, days, now, earliest=await context.skipped_until(job, now))
            if changed is None:  # it was changed since the query
                return False
            try:
                context.announce(await context.store.commit(jobs.change, changed, now))
            except ChangedMeanwhile:
                continue
            return True
