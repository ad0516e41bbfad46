"""Reaper: reclaims lanes and deliveries whose lease expired.

Any process may do it; each reclaim is a compare-and-set. After an outage of the store or a sleep of the
machine, a reaper cannot tell a crashed worker from one that could not renew either. So it first waits long
enough for live workers to renew their leases.
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
        """Leases are renewed every third of a lease, so within this time every live worker has done it."""
        self._checked_at: int | None = None
        """When the last step ended, by the steady clock."""
        self._outbox = outbox
        self._deliveries = deliveries

    async def run(self) -> None:
        while True:
            expired = await self._expired_lanes()
            if self._was_suspended():
                await self._clock.wait(asyncio.Event(), self._clock.ms() + self._grace_ms)
                expired = await self._expired_lanes()
            await self._reclaim(expired)
            self._checked_at = self._clock.steady_ms()
            await self._bell.wait(Name.REAPER, self._clock.ms() + self._nap_ms)

    async def step(self) -> int:
        """Reclaim the lanes and deliveries whose lease expired. Returns how many there were."""
        return await self._reclaim(await self._expired_lanes())

    async def _expired_lanes(self) -> list[str]:
        return await self._store.expired_lanes(MOST_AT_ONCE)

    def _was_suspended(self) -> bool:
        """Includes the time the query took: an unreachable store answers it only when it is back."""
        if self._checked_at is None:  # the first step: expired leases are of earlier processes
            return False
        return self._clock.steady_ms() - self._checked_at > self._grace_ms

    async def _reclaim(self, lanes: Sequence[str]) -> int:
        reclaimed = await self._deliveries()
        for session_id in lanes:
            now = self._clock.ms()
            end = await self._store.commit(
                settle.take_back,
                session_id,
                holder=self._holder,
                lease_now=self._store.lease_now(),
                horizon=self._store.horizon(),
                now=now,
                outbox=self._outbox(now),
            )
            if end is None:  # renewed or released since the query
                continue
            reclaimed += 1
            _log.warning("reclaimed lane, its lease had expired: session %s", session_id)
            self._hub.publish(end.events)
            if end.ready is not None:
                self._store.is_ready(end.ready.since)
            self._bell.ring(Name.USER, Name.SCHEDULE, Name.COURIER)
        return reclaimed
