"""Bell: wakes the workers of a process. A lost ring costs latency, never correctness.

Each worker waits under its own name. A ring while no worker waits is remembered, so that work that came up
during a step is done right after it.
"""

import asyncio
from collections import defaultdict

from segue.kernel.transactions.result import Name
from segue.times.clock import Clock

_WOKEN_BY_WRITES = (
    *(Name.TIMER, Name.USER, Name.SCHEDULE, Name.COURIER, Name.KEEPER, Name.ARCHIVIST, Name.INDEXER),
    Name.PUSHER,
)


class Bell:
    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._rung: defaultdict[Name, asyncio.Event] = defaultdict(asyncio.Event)
        self._named: set[Name] = set()

    def ring(self, *names: Name) -> None:
        self._named.update(names)
        for name in names:
            self._rung[name].set()

    def ring_all(self) -> None:
        """Another process may have written anything. The reaper and the pruner run by the clock only."""
        for name in _WOKEN_BY_WRITES:
            self._rung[name].set()

    def is_rung(self, name: Name) -> bool:
        """Whether a worker that waits under this name is about to wake up."""
        return self._rung[name].is_set()

    async def wait(self, name: Name, until: int | None) -> bool:
        """Wait until the name is rung or the time has come.

        Returns False for a possibly spurious wake-up (another process wrote something): check for work before
        claiming any.
        """
        rung = self._rung[name]
        await self._clock.wait(rung, until)
        there_is_work = name in self._named or not rung.is_set()
        self._named.discard(name)
        rung.clear()
        return there_is_work
