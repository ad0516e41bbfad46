"""The keeper: looks after the turns that this process holds.

It renews their leases, ends those that ran out of time or were asked to stop, and keeps what they have
said so far where any process can read it. One task for all of them: a turn costs no timer of its own.

A renewal that misses means that somebody else holds the lane: the turn is let go at once, whatever its
agent is doing, for nothing it writes would count.
"""

import logging
import time

from segue import closure, settle
from segue.bell import Bell, Name
from segue.clock import Clock
from segue.errors import LeaseLost, StoreError
from segue.hub import Hub
from segue.live import LetGo, Live, LiveTurns
from segue.store import sql
from segue.store.database import Transaction
from segue.store.store import Store

_log = logging.getLogger(__name__)

TICK_MS = 500
_STUBBORN_MS = 1000
"""How long an agent may ignore its cancellation before its turn is settled without it."""


class Keeper:
    def __init__(
        self,
        store: Store,
        clock: Clock,
        bell: Bell,
        hub: Hub,
        turns: LiveTurns,
        *,
        holder: str,
        lease_ms: int,
    ) -> None:
        self._store = store
        self._clock = clock
        self._bell = bell
        self._hub = hub
        self._turns = turns
        self._holder = holder
        self._lease_ms = lease_ms
        self._renew_at = 0

    async def run(self) -> None:
        while True:
            until = self._clock.ms() + min(TICK_MS, self._lease_ms // 3) if len(self._turns) else None
            await self._bell.wait(Name.KEEPER, until)
            await self.step()

    async def step(self) -> None:
        self._let_go_of_the_lost()
        try:
            now = self._clock.ms()
            if now >= self._renew_at:
                self._renew_at = now + self._lease_ms // 3
                await self._renew()
            await self._stop_those_asked()
            await self._keep_drafts()
            await self._end_the_late(now)
        except StoreError as error:
            _log.warning("the leases could not be renewed: %s", error)
            self._let_go_of_the_lost()

    def _let_go_of_the_lost(self) -> None:
        """Asleep for longer than a lease, or cut off: our own clock says that somebody may be at it now."""
        for live in self._turns:
            if time.monotonic() > live.lease_ends:
                live.cancel(LetGo.LEASE_LOST)

    async def _renew(self) -> None:
        held = [live for live in self._turns if live.let_go is None]
        if not held:
            return
        lease_ends = time.monotonic() + self._lease_ms / 1000
        kept = await self._store.commit(renew, held, self._lease_ms, self._store.lease_now())
        for live in held:
            if live.held.session.id in kept:
                live.lease_ends = lease_ends
            else:
                live.cancel(LetGo.LEASE_LOST)

    async def _stop_those_asked(self) -> None:
        if not len(self._turns):
            return
        for turn_id in await self._store.turns_to_stop(self._holder):
            if live := self._turns.get(turn_id):
                live.cancel(LetGo.STOPPED)

    async def _keep_drafts(self) -> None:
        grown = [live for live in self._turns if live.length > live.drafted and live.let_go is None]
        if grown:
            lengths = [live.length for live in grown]
            await self._store.commit(keep_drafts, grown)
            for live, length in zip(grown, lengths, strict=True):
                live.drafted = length

    async def _end_the_late(self, now: int) -> None:
        for live in self._turns:
            turn = live.held.turn
            late_by = now - (turn.started_at or now) - turn.timeout_ms
            if late_by > 0:
                live.cancel(LetGo.TIMED_OUT)
            if late_by > _STUBBORN_MS and live.let_go is LetGo.TIMED_OUT:
                await self._settle_without(live, now)

    async def _settle_without(self, live: Live, now: int) -> None:
        """The agent neither ended nor let itself be cancelled. Its session goes on without it."""
        self._turns.drop(live)
        ending = closure.timed_out(live.held.turn.timeout_ms / 1000)
        try:
            left = await self._store.commit(settle.settle, live.held, ending, now)
        except LeaseLost:
            return
        self._hub.publish(left.events)
        self._bell.ring(Name.USER, Name.SCHEDULE)


def renew(held: list[Live], lease_ms: int, lease_now: int | None) -> Transaction[set[str]]:
    """The sessions whose lease was ours to renew."""
    kept = yield (
        sql.sessions.renew,
        [
            {
                "id": live.held.session.id,
                "holder": live.held.holder,
                "fence": live.held.fence,
                "lease_ms": lease_ms,
                "lease_now": lease_now,
            }
            for live in held
        ],
    )
    return {row["id"] for row in kept}


def keep_drafts(grown: list[Live]) -> Transaction[None]:
    yield (
        sql.turns.keep_draft,
        [{"id": live.held.turn.id, "fence": live.held.fence, "draft": live.text} for live in grown],
    )
