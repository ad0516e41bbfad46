"""Scan start of a queue index: skips obsolete entries at its beginning.

PostgreSQL keeps an index entry for as long as any transaction may still see its row. While a backup runs or a
transaction stays open, entries of all rows that left the queue remain, at the beginning of the index, and
every scan would walk over them. So after a slow scan the next scans start at the first waiting row it found,
and only some scans start at the bottom again (full scans).

Invariants
  - every waiting row is found: rows at or above the scan start immediately, rows below it by the next full
    scan
  - full scans take a small part of the time, however long each of them takes
"""

from math import inf
from time import monotonic

from segue.store.database import Database
from segue.store.queries import Query
from segue.store.settings import ScanSettings

BOTTOM = 0


class QueueStart:
    def __init__(self, database: Database, query: Query) -> None:
        """`query` returns the first index value that is not below `:since`."""
        self._database = database
        self._query = query
        self._since = BOTTOM
        self._scanned_at = self._full_scan_at = -inf
        self._lowest: float = inf
        """The lowest value passed to `lower` since the last scan began."""

    async def since(self, now: int) -> int:
        """Where a scan of the queue may start. May scan once to find out."""
        scans = self._database.scans
        if scans is not None:
            fresh = scans.fresh_seconds if self._since == BOTTOM else scans.stale_seconds
            if monotonic() - self._scanned_at > fresh:
                await self._scan(now, scans)
        return self._since

    async def _scan(self, now: int, scans: ScanSettings) -> None:
        began = self._scanned_at = monotonic()
        since = self._since if began < self._full_scan_at else BOTTOM
        self._lowest = inf
        try:
            ((first,),) = await self._database.read(self._query, {"since": since})
        finally:
            took = monotonic() - began
            if since == BOTTOM:
                self._full_scan_at = began + min(took * scans.one_in, scans.longest_seconds)
        if since == BOTTOM and took < scans.long_seconds:
            self._since = BOTTOM
        else:
            self._since = int(min(now - scans.behind_ms, now if first is None else first, self._lowest))

    def lower(self, value: int) -> None:
        """Call when a row enters the queue at a value that may be below the scan start."""
        self._since = min(self._since, value)
        self._lowest = min(self._lowest, value)
