"""The bell wakes sleepers. A lost ring costs latency, never correctness.

Each worker sleeps under its own name. A ring while nobody sleeps is kept, so that work that came up
during a step is looked at right after it.
"""

import asyncio
from collections import defaultdict
from enum import StrEnum

from segue.times.clock import Clock


class Name(StrEnum):
    TIMER = "timer"
    """A job was made, changed or taken."""
    USER = "user"
    """A lane in which a user waits became ready."""
    SCHEDULE = "schedule"
    """A lane in which only scheduled turns wait became ready."""
    COURIER = "courier"
    """A delivery was written."""
    KEEPER = "keeper"
    """A turn was asked to stop."""
    ARCHIVIST = "archivist"
    """A session may want to be committed, or an archive waits to be learned from."""
    REAPER = "reaper"
    PRUNER = "pruner"


_WHO_LISTENS = (Name.TIMER, Name.USER, Name.SCHEDULE, Name.COURIER, Name.KEEPER, Name.ARCHIVIST)


class Bell:
    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._rung: defaultdict[Name, asyncio.Event] = defaultdict(asyncio.Event)
        self._called: set[Name] = set()

    def ring(self, *names: Name) -> None:
        self._called.update(names)
        for name in names:
            self._rung[name].set()

    def ring_all(self) -> None:
        """Somebody else may have written anything. The reaper and the pruner keep their own hours."""
        for name in _WHO_LISTENS:
            self._rung[name].set()

    async def wait(self, name: Name, until: int | None) -> bool:
        """Sleep until the name is rung or the moment has come; False when it is only that others may have
        written: then a look is worth while, and not yet a try."""
        rung = self._rung[name]
        await self._clock.wait(rung, until)
        there_is_work = name in self._called or not rung.is_set()
        self._called.discard(name)
        rung.clear()
        return there_is_work
