"""Single-flight cache: concurrent lookups of one key share one query (the newest 1,000 entries).

A key must identify a moment, such as the number of an event or of a check: its result never changes.
"""

import asyncio
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Hashable
from typing import Any, Self, TypeVar

T = TypeVar("T")


class SingleFlight:
    def __init__(self, most: int = 1000) -> None:
        self._size = most
        self._entries: OrderedDict[Hashable, _Entry] = OrderedDict()

    async def once(self, key: Hashable, lookup: Callable[[], Awaitable[T]]) -> T:
        """Return the cached result, or look it up. A lookup that fails or is cancelled is repeated."""
        async with self._entry(key) as entry:
            if entry.done:
                result: T = entry.result
            else:
                result = entry.result = await lookup()
                entry.done = True
        return result

    def _entry(self, key: Hashable) -> "_Entry":
        entry = self._entries.get(key)
        if entry is None:
            entry = self._entries[key] = _Entry()
            if len(self._entries) > self._size:
                self._entries.popitem(last=False)
        return entry


class _Entry:
    """One key: its callers take turns, and all but the first find the result."""

    def __init__(self) -> None:
        self.done = False
        self.result: Any = None
        self._lock = asyncio.Lock()

    async def __aenter__(self) -> Self:
        await self._lock.acquire()
        return self

    async def __aexit__(self, *raised: object) -> None:
        self._lock.release()
