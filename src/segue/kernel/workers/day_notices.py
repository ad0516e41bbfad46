"""Day notices: tells sessions, once, that the calendar which their jobs use ends soon or has ended.

The set's own sentence is stored with the delivery in one transaction, so a session gets each sentence once,
whichever process finds it first.
"""

import logging
from collections.abc import AsyncIterator
from contextlib import suppress
from datetime import date

from segue.errors import NotFound
from segue.kernel.transactions import day_notices
from segue.kernel.transactions.result import Name
from segue.kernel.workers.worker_context import WorkerContext
from segue.model.records import Source
from segue.model.states import JobKind
from segue.times.clock import to_moment
from segue.times.days.day_sets import DaySet, day_set, shipped_names

_log = logging.getLogger(__name__)

_PAUSE_MS = 3_600_000
_BATCH = 100


class DayNotices:
    def __init__(self, context: WorkerContext) -> None:
        self._context = context

    async def run(self) -> None:
        while True:
            await self.step()
            await self._context.pause(_PAUSE_MS)

    async def step(self) -> int:
        """Tell all sessions that have not been told. Returns how many there were."""
        told = 0
        async for account, days, notice in self._ending(to_moment(self._context.clock.ms()).date()):
            told += await self._tell(account, days, notice)
        if told:
            _log.info("calendars end, their sessions are told: %d sessions", told)
            self._context.bell.ring(Name.COURIER)
        return told

    async def _ending(self, today: date) -> AsyncIterator[tuple[str | None, DaySet, str]]:
        """The sets that end soon or have ended, with their account; None for a shipped set."""
        for days in map(day_set, shipped_names()):
            if notice := days.notice(today):
                yield None, days, notice
        for account, days in await self._context.store.ending_day_sets(today):
            if notice := days.notice(today):
                yield account, days, notice

    async def _tell(self, account: str | None, days: DaySet, notice: str) -> int:
        context, told = self._context, 0
        while untold := await context.store.jobs_to_warn(account, days.name, notice, _BATCH):
            for row in untold:
                now = context.clock.ms()
                source = Source(kind=JobKind.SYSTEM, job_id=row["id"], label=row["name"], run_id="")
                about = (row["session_id"], days.name, notice, source, now)
                with suppress(NotFound):  # the session was deleted meanwhile
                    await context.store.commit(day_notices.tell, *about, delivery_id=context.ids(now))
            told += len(untold)
        return told
