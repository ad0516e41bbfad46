"""What several want to know at the same moment is looked up once, and the newest answers are kept.

A key must say which moment it means: a number of an event, of a look. What was found under it never changes.
"""

import asyncio
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Hashable
from typing import Any, Self, TypeVar

T = TypeVar("T")


class SingleFlight:
    def __init__(self, most: int = 1000) -> None:
        self._most = most
        self._known: OrderedDict[Hashable, _Known] = OrderedDict()

    async def once(self, what: Hashable, look_up: Callable[[], Awaitable[T]]) -> T:
        """A look-up that fails, or whose caller leaves, is made again by the next who asks."""
        async with self._turn_of(what) as known:
            if known.done:
                found: T = known.found
            else:
                found = known.found = await look_up()
                known.done = True
        return found

    def _turn_of(self, what: Hashable) -> "_Known":
        known = self._known.get(what)
        if known is None:
            known = self._known[what] = _Known()
            if len(self._known) > self._most:
                self._known.popitem(last=False)
        return known


class _Known:
    """One question: those who ask it come one after the other, and all but the first find its answer."""

    def __init__(self) -> None:
        self.done = False
        self.found: Any = None
        self._one_at_a_time = asyncio.Lock()

    async def __aenter__(self) -> Self:
        await self._one_at_a_time.acquire()
        return self

    async def __aexit__(self, *raised: object) -> None:
        self._one_at_a_time.release()
