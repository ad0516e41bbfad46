"""The head of a queue: the first that waits in an index, found without a walk over those who have left it.

PostgreSQL keeps an entry in its index for as long as anybody may still see the row that it led to. While a
backup runs, or a transaction is forgotten, that is all who have come and gone since, and they stand where the
queue begins: every look would walk over them. So after a look that took long, the next ones begin where the
first one stood, and only now and then one begins at the bottom again.

Invariants
  - whoever waits is found: below where looks begin by the next one from the bottom, else at once
  - looks from the bottom take a small part of the time, however long each of them takes
"""

from math import inf
from time import monotonic

from segue.store.database import Database
from segue.store.queries import Query

BOTTOM = 0

LONG_SECONDS = 0.005
"""Whoever looks for less has nothing to save."""
ONE_IN = 20
"""The part of the time that looks from the bottom may take."""
LONGEST_SECONDS = 60.0
"""Between two of them."""
STALE_SECONDS = 1.0
"""While looks are long: how soon one is taken at how far the queue has come."""
FRESH_SECONDS = 10.0
"""While they are not: how soon one is taken at whether they still are not."""
BEHIND_MS = 10_000
"""Who comes in now was given its place a little earlier, by a clock that may not be ours."""


class QueueStart:
    def __init__(self, database: Database, query: Query) -> None:
        """`query` gives the place of the first one that does not stand below `:since`."""
        self._database = database
        self._query = query
        self._since = BOTTOM
        self._looked = self._bottom_at = -inf
        self._lowest: float = inf
        """Of whom we were told since the last look began."""

    async def since(self, now: int) -> int:
        """Where a walk along the queue may begin."""
        fresh = FRESH_SECONDS if self._since == BOTTOM else STALE_SECONDS
        if self._database.dialect == "postgres" and monotonic() - self._looked > fresh:
            await self._look(now)
        return self._since

    async def _look(self, now: int) -> None:
        began = self._looked = monotonic()
        since = self._since if began < self._bottom_at else BOTTOM
        self._lowest = inf
        try:
            ((first,),) = await self._database.read(self._query, {"since": since})
        finally:
            took = monotonic() - began
            if since == BOTTOM:
                self._bottom_at = began + min(took * ONE_IN, LONGEST_SECONDS)
        if since == BOTTOM and took < LONG_SECONDS:
            self._since = BOTTOM
        else:
            self._since = int(min(now - BEHIND_MS, now if first is None else first, self._lowest))

    def lower(self, place: int) -> None:
        """Somebody came in there, who has waited elsewhere."""
        self._since = min(self._since, place)
        self._lowest = min(self._lowest, place)
