"""Pruner: deletes rows that are older than the retention time. It never touches the log.

The number of runs per job is limited in `fire`, whenever a run is added.
"""

from segue.kernel.transactions.result import Name
from segue.kernel.workers.worker_context import WorkerContext
from segue.store import queries
from segue.store.database import Transaction
from segue.times.clock import to_moment

HOUR_MS = 3_600_000
DAY_MS = 24 * HOUR_MS
_BATCH = 500
_LEDGER_MS = 62 * DAY_MS
"""Uses of budgets are needed for a month, the longest period."""


class Pruner:
    def __init__(self, context: WorkerContext) -> None:
        self._store = context.store
        self._clock = context.clock
        self._bell = context.bell
        self._retention_ms = context.settings.retention_days * DAY_MS

    async def run(self) -> None:
        while True:
            await self._bell.wait(Name.PRUNER, self._clock.ms() + HOUR_MS)
            await self.step()

    async def step(self) -> int:
        """Delete what is too old, in small batches. Returns how many rows."""
        before = self._clock.ms() - self._retention_ms
        gone = await self._prune_windows(queries.runs.end_of_window, queries.runs.prune_old, before)
        gone += await self._prune_windows(queries.jobs.end_of_window, queries.jobs.prune, before)
        gone += await self._prune_windows(queries.turns.end_of_window, queries.turns.prune, before)
        gone += await self._prune_all(queries.deliveries.prune, before)
        gone += await self._prune_all(queries.reservations.prune, self._day_before(_LEDGER_MS))
        gone += await self._prune_all(queries.anchors.prune, before)
        gone += await self._prune_all(queries.tasks.prune_completed, self._clock.ms() - DAY_MS)
        gone += await self._prune_all(queries.tasks.prune_failed, self._clock.ms() - 7 * DAY_MS)
        return gone + await self._prune_all(queries.requests.prune, self._clock.ms() - DAY_MS)

    def _day_before(self, age_ms: int) -> str:
        return to_moment(self._clock.ms() - age_ms).date().isoformat()

    async def _prune_windows(self, end: queries.Query, query: queries.Query, before: int) -> int:
        """For tables in which old rows may stay: each row is looked at once, however many stay."""
        gone = since = 0
        while since < before:
            pruned, since = await self._store.commit(_prune_window, end, query, since, before)
            gone += pruned
        return gone

    async def _prune_all(self, query: queries.Query, before: int | str) -> int:
        gone = 0
        while batch := await self._store.commit(_prune, query, {"before": before, "limit": _BATCH}):
            gone += batch
        return gone


def _prune_window(
    end: queries.Query, query: queries.Query, since: int, before: int
) -> Transaction[tuple[int, int]]:
    """Prune the next rows from `since` on. Returns how many, and where the next window begins."""
    found = yield end, {"since": since, "before": before, "rows": _BATCH}
    until = max(since + 1, found[0]["until"]) if found else before
    gone = yield query, {"since": since, "until": until, "before": before}
    return len(gone), until


def _prune(query: queries.Query, params: dict[str, str | int]) -> Transaction[int]:
    gone = yield query, params
    return len(gone)
