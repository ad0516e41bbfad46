"""The bell wakes sleepers. A lost ring costs latency, never correctness.

Each worker sleeps under its own name. A ring while nobody sleeps is kept, so that work that came up
during a step is looked at right after it.
"""

import asyncio
from collections import defaultdict
from enum import StrEnum

from segue.clock import Clock


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


class Bell:
    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._rung: defaultdict[Name, asyncio.Event] = defaultdict(asyncio.Event)

    def ring(self, *names: Name) -> None:
        for name in names:
            self._rung[name].set()

    def ring_all(self) -> None:
        """Somebody else may have written anything. The reaper and the pruner keep their own hours."""
        self.ring(Name.TIMER, Name.USER, Name.SCHEDULE, Name.COURIER, Name.KEEPER, Name.ARCHIVIST)

    async def wait(self, name: Name, until: int | None) -> None:
        """Sleep until the name is rung or the moment has come."""
        rung = self._rung[name]
        await self._clock.wait(rung, until)
        rung.clear()
