"""Pruner: deletes rows that are older than the retention time. It never touches the log.

The number of runs per job is limited in `fire`, whenever a run is added.
"""

from segue.kernel.live.bell import Bell, Name
from segue.store import queries
from segue.store.database import Transaction
from segue.store.store import Store
from segue.times.clock import Clock

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
        """Delete what is too old, in small batches. Returns how many rows."""
        before = self._clock.ms() - self._retention_ms
        gone = await self._prune_all(queries.runs.prune_old, before)
        gone += await self._prune_all(queries.jobs.prune, before)
        gone += await self._prune_all(queries.turns.prune, before)
        gone += await self._prune_all(queries.deliveries.prune, before)
        gone += await self._prune_all(queries.tasks.prune_completed, self._clock.ms() - DAY_MS)
        gone += await self._prune_all(queries.tasks.prune_failed, self._clock.ms() - 7 * DAY_MS)
        return gone + await self._prune_all(queries.requests.prune, self._clock.ms() - DAY_MS)

    async def _prune_all(self, query: queries.Query, before: int) -> int:
        gone = 0
        while batch := await self._store.commit(_prune, query, {"before": before, "limit": _BATCH}):
            gone += batch
        return gone


def _prune(query: queries.Query, params: dict[str, str | int]) -> Transaction[int]:
    gone = yield query, params
    return len(gone)
