"""The reaper: takes back what the dead have left. Every step of it is itself a claim; there is no leader.

Whoever could not look for a while, because the store was away or the machine asleep, cannot tell the dead
from those who could not renew either. So it gives them the time to do that first.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence

from segue.kernel.live.bell import Bell, Name
from segue.kernel.live.hub import Hub
from segue.kernel.transactions import settle
from segue.kernel.transactions.deliveries import Outbox
from segue.store.store import Store
from segue.times.clock import Clock

_log = logging.getLogger(__name__)

MOST_AT_ONCE = 100
LONGEST_NAP_MS = 1000


class Reaper:
    def __init__(
        self,
        store: Store,
        clock: Clock,
        bell: Bell,
        hub: Hub,
        *,
        holder: str,
        lease_ms: int,
        outbox: Callable[[int], Outbox],
        deliveries: Callable[[], Awaitable[int]],
    ) -> None:
        self._store = store
        self._clock = clock
        self._bell = bell
        self._hub = hub
        self._holder = f"{holder}/reaper"
        self._nap_ms = min(LONGEST_NAP_MS, lease_ms // 3)
        self._grace_ms = lease_ms // 2
        """Leases are renewed every third of one. In so long everybody who is alive has done it."""
        self._looked: int | None = None
        """When it looked last, by our own steady clock."""
        self._outbox = outbox
        self._deliveries = deliveries

    async def run(self) -> None:
        while True:
            expired = await self._look()
            if self._was_away():
                await self._clock.wait(asyncio.Event(), self._clock.ms() + self._grace_ms)
                expired = await self._look()
            await self._take_back(expired)
            self._looked = self._clock.steady_ms()
            await self._bell.wait(Name.REAPER, self._clock.ms() + self._nap_ms)

    async def step(self) -> int:
        """Take back the lanes and deliveries whose lease ran out; how many that were."""
        return await self._take_back(await self._look())

    async def _look(self) -> list[str]:
        return await self._store.expired_lanes(MOST_AT_ONCE)

    def _was_away(self) -> bool:
        """Also for as long as the look itself took: a store that comes back answers it then."""
        if self._looked is None:  # we are new, and what we find was left by those before us
            return False
        return self._clock.steady_ms() - self._looked > self._grace_ms

    async def _take_back(self, lanes: Sequence[str]) -> int:
        taken = await self._deliveries()
        for session_id in lanes:
            now = self._clock.ms()
            left = await self._store.commit(
                settle.take_back,
                session_id,
                holder=self._holder,
                lease_now=self._store.lease_now(),
                horizon=self._store.horizon(),
                now=now,
                outbox=self._outbox(now),
            )
            if left is None:  # renewed or released meanwhile
                continue
            taken += 1
            _log.warning("the lane of session %s was taken back: its holder is gone", session_id)
            self._hub.publish(left.events)
            if left.ready is not None:
                self._store.is_ready(left.ready.since)
            self._bell.ring(Name.USER, Name.SCHEDULE, Name.COURIER)
        return taken
