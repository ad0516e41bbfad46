"""The pruner: forgets records that are too old. The transcript is not its business.

That there are not too many of a job is seen to in `firing`, with each run that is added.
"""

from segue.bell import Bell, Name
from segue.clock import Clock
from segue.store import sql
from segue.store.database import Transaction
from segue.store.store import Store

HOUR_MS = 3_600_000
DAY_MS = 24 * HOUR_MS
_BATCH = 500


class Pruner:
    def __init__(self, store: Store, clock: Clock, bell: Bell, *, retention_days: int) -> None:
        self._store = store
        self._clock = clock
        self._bell = bell
        self._retention_ms = retention_days * DAY_MS

    async def run(self) -> None:
        while True:
            await self._bell.wait(Name.PRUNER, self._clock.ms() + HOUR_MS)
            await self.step()

    async def step(self) -> int:
        """Forget what is too old, a little at a time; how many rows that were."""
        before = self._clock.ms() - self._retention_ms
        gone = await self._all(sql.runs.prune_old, before)
        gone += await self._all(sql.jobs.prune, before)
        gone += await self._all(sql.turns.prune, before)
        gone += await self._all(sql.deliveries.prune, before)
        gone += await self._all(sql.tasks.prune_completed, self._clock.ms() - DAY_MS)
        gone += await self._all(sql.tasks.prune_failed, self._clock.ms() - 7 * DAY_MS)
        return gone + await self._all(sql.requests.prune, self._clock.ms() - DAY_MS)

    async def _all(self, query: sql.Query, before: int) -> int:
        gone = 0
        while batch := await self._store.commit(_prune, query, {"before": before, "limit": _BATCH}):
            gone += batch
        return gone


def _prune(query: sql.Query, params: dict[str, str | int]) -> Transaction[int]:
    gone = yield query, params
    return len(gone)
