"""The reaper: takes back what the dead have left. Every step of it is itself a claim; there is no leader."""

import logging
from collections.abc import Awaitable, Callable

from segue import settle
from segue.bell import Bell, Name
from segue.clock import Clock
from segue.hub import Hub
from segue.outbox import Outbox
from segue.store.store import Store

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
        self._outbox = outbox
        self._deliveries = deliveries

    async def run(self) -> None:
        while True:
            await self.step()
            await self._bell.wait(Name.REAPER, self._clock.ms() + self._nap_ms)

    async def step(self) -> int:
        """Take back the lanes and deliveries whose lease ran out; how many that were."""
        taken = await self._deliveries()
        for session_id in await self._store.expired_lanes(MOST_AT_ONCE):
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
            self._bell.ring(Name.USER, Name.SCHEDULE, Name.COURIER)
        return taken
