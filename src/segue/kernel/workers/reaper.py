"""Reaper: reclaims lanes and deliveries whose lease expired.

Any process may do it; each reclaim is a compare-and-set. After an outage of the store or a sleep of the
machine, a reaper cannot tell a crashed worker from one that could not renew either. So it first waits long
enough for live workers to renew their leases.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from functools import partial

from segue.kernel.live.observers import Observer
from segue.kernel.transactions import settle
from segue.kernel.transactions.result import Name
from segue.kernel.workers.worker_context import WorkerContext
from segue.model.records import Event

_log = logging.getLogger(__name__)


class Reaper:
    def __init__(self, context: WorkerContext, reclaim_deliveries: Callable[[], Awaitable[int]]) -> None:
        self._context = context
        self._store = context.store
        self._clock = context.clock
        self._holder = f"{context.holder}/reaper"
        self._pause_ms = min(context.tuning.reaper_pause_ms, context.lease_ms // 3)
        self._grace_ms = context.lease_ms // 2
        """Leases are renewed every third of a lease, so within this time every live worker has done it."""
        self._checked_at: int | None = None
        """When the last step ended, by the steady clock."""
        self._reclaim_deliveries = reclaim_deliveries

    async def run(self) -> None:
        while True:
            expired = await self._expired_lanes()
            if self._was_suspended():
                await self._context.pause(self._grace_ms)
                expired = await self._expired_lanes()
            await self._reclaim(expired)
            self._checked_at = self._clock.steady_ms()
            await self._context.bell.wait(Name.REAPER, self._clock.ms() + self._pause_ms)

    async def step(self) -> int:
        """Reclaim the lanes and deliveries whose lease expired. Returns how many there were."""
        return await self._reclaim(await self._expired_lanes())

    async def _expired_lanes(self) -> list[str]:
        return await self._store.expired_lanes(self._context.tuning.expired_lanes)

    def _was_suspended(self) -> bool:
        """Includes the time the query took: an unreachable store answers it only when it is back."""
        if self._checked_at is None:  # the first step: expired leases are of earlier processes
            return False
        return self._clock.steady_ms() - self._checked_at > self._grace_ms

    async def _reclaim(self, lanes: Sequence[str]) -> int:
        deliveries = await self._reclaim_deliveries()
        # At once, so that the store commits them as groups: a crashed process may have held many lanes.
        return deliveries + sum(await asyncio.gather(*map(self._reclaim_lane, lanes)))

    async def _reclaim_lane(self, session_id: str) -> bool:
        now = self._clock.ms()
        end = await self._store.commit(
            settle.reclaim,
            session_id,
            holder=self._holder,
            lease_now=self._store.lease_now(),
            horizon=self._store.horizon(),
            now=now,
            outbox=self._context.outbox(now),
        )
        if end is None:  # renewed or released since the query
            return False
        _log.warning("reclaimed lane, its lease had expired: session %s", session_id)
        self._context.announce(end)
        for event in end.events:
            if event.type == "stream_end" and event.via_id is None:
                self._context.observers.tell(partial(_tell_reclaimed, end=event))
        return True


def _tell_reclaimed(observer: Observer, end: Event) -> None:
    observer.turn_reclaimed(end)
