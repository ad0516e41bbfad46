"""The pruner: keeps the records bounded. The transcript is not its business."""

from dataclasses import dataclass

from segue.bell import Bell, Name
from segue.clock import Clock
from segue.store import sql
from segue.store.database import Transaction
from segue.store.store import Store

HOUR_MS = 3_600_000
DAY_MS = 24 * HOUR_MS
_BATCH = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class Retention:
    runs_per_job: int = 200
    days: int = 90
    """The newest run of a job is kept however old it is."""


class Pruner:
    def __init__(self, store: Store, clock: Clock, bell: Bell, retention: Retention) -> None:
        self._store = store
        self._clock = clock
        self._bell = bell
        self._retention = retention

    async def run(self) -> None:
        while True:
            await self._bell.wait(Name.PRUNER, self._clock.ms() + HOUR_MS)
            await self.step()

    async def step(self) -> int:
        """Forget what is too old or too much, a little at a time; how many rows that were."""
        before = self._clock.ms() - self._retention.days * DAY_MS
        gone = await self._all(sql.runs.prune_old, before)
        gone += await self._crowds()
        gone += await self._all(sql.jobs.prune, before)
        gone += await self._all(sql.turns.prune, before)
        return gone + await self._all(sql.requests.prune, self._clock.ms() - DAY_MS)

    async def _all(self, query: sql.Query, before: int) -> int:
        gone = 0
        while batch := await self._store.commit(_prune, query, {"before": before, "limit": _BATCH}):
            gone += batch
        return gone

    async def _crowds(self) -> int:
        keep, gone, after = self._retention.runs_per_job, 0, ""
        while crowded := await self._store.crowded_jobs(after=after, keep=keep, limit=_BATCH):
            for job_id in crowded:
                gone += await self._store.commit(
                    _prune, sql.runs.prune_many, {"job_id": job_id, "keep": keep}
                )
            after = crowded[-1]
        return gone


def _prune(query: sql.Query, params: dict[str, str | int]) -> Transaction[int]:
    gone = yield query, params
    return len(gone)
