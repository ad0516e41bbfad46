"""The keeper: looks after the turns that this process holds.

It renews their leases, ends those that ran out of time or were asked to stop, and keeps what they have
said so far where any process can read it. One task for all of them: a turn costs no timer of its own.

A renewal that misses means that another process holds the lane: the turn is let go at once, whatever its
agent is doing, for nothing it writes would count. Cut off from the store, it lets a turn go a third of the
lease before the lease ends, by its own clock (see `leasing.reliable_ms`).
"""

import asyncio
import logging
from collections.abc import Callable

from segue.errors import LeaseLost, StoreError
from segue.kernel.live.bell import Bell, Name
from segue.kernel.live.hub import Hub
from segue.kernel.live.running import CancelReason, RunningTurn, RunningTurns
from segue.kernel.transactions import settle
from segue.kernel.transactions.deliveries import Outbox
from segue.kernel.transactions.lease import reliable_ms
from segue.store import queries
from segue.store.database import Transaction
from segue.store.store import Store
from segue.times.clock import Clock

_log = logging.getLogger(__name__)

TICK_MS = 500
_STUBBORN_MS = 1000
"""How long an agent may ignore its cancellation before its turn is settled without it."""

_ENDED_BY_US = (CancelReason.STOPPED, CancelReason.TIMED_OUT)


class Keeper:
    def __init__(
        self,
        store: Store,
        clock: Clock,
        bell: Bell,
        hub: Hub,
        turns: RunningTurns,
        *,
        holder: str,
        lease_ms: int,
        outbox: Callable[[int], Outbox],
    ) -> None:
        self._store = store
        self._clock = clock
        self._bell = bell
        self._hub = hub
        self._turns = turns
        self._holder = holder
        self._lease_ms = lease_ms
        self._reliable_ms = reliable_ms(lease_ms)
        self._tick_ms = min(TICK_MS, lease_ms // 6)
        self._cut_off = False
        """The store did not answer the last time."""
        self._outbox = outbox

    async def run(self) -> None:
        while True:
            await self._turns.some()
            # Not at once: what was just taken up has a fresh lease, and has said nothing yet.
            await self._bell.wait(Name.KEEPER, self._clock.ms() + min(self._tick_ms, self._ms_left()))
            await self.step()

    async def step(self) -> None:
        try:
            # A store that is silent must not keep us from letting go in time.
            async with asyncio.timeout(self._seconds_for_the_store()):
                await self._renew_in_time()
                await self._stop_those_asked()
                await self._keep_drafts()
            self._cut_off = False
        except (StoreError, TimeoutError) as error:
            self._cut_off = True
            _log.warning("the leases could not be renewed: %s", str(error) or "the store does not answer")
        self._let_go_of_the_lost()
        await self._end_the_late()
        self._press_the_stubborn()

    def _ms_left(self) -> int:
        """Until the first turn must be let go. One whose agent has ended waits for the store instead."""
        now = self._clock.steady_ms()
        at_work = [live for live in self._turns if live.listening and live.let_go is None]
        return max(0, min((live.held_until - now for live in at_work), default=self._reliable_ms))

    def _seconds_for_the_store(self) -> float:
        """Until the first turn must be let go. After a longer sleep than that, the lease may still be ours: a
        store that answered before the sleep is given a second to say so."""
        left = self._ms_left()
        return left / 1000 if left or self._cut_off else 1.0

    async def _renew_in_time(self) -> None:
        """All of them, as soon as a third of one has passed."""
        held = self._ours()
        now = self._clock.steady_ms()
        if all(live.held_until - now > self._reliable_ms - self._lease_ms // 3 for live in held):
            return
        kept = await self._store.commit(renew, held, self._lease_ms, self._store.lease_now())
        for live in held:
            if live.held.session.id in kept:
                live.held_until = now + self._reliable_ms
            else:
                live.cancel(CancelReason.LEASE_LOST, now)

    def _ours(self) -> list[RunningTurn]:
        return [
            live for live in self._turns if live.let_go is not CancelReason.LEASE_LOST and not live.settled
        ]

    def _let_go_of_the_lost(self) -> None:
        """Cut off for too long: by our own clock, another process may soon take the lane."""
        now = self._clock.steady_ms()
        for live in self._turns:
            if now >= live.held_until:
                live.cancel(CancelReason.LEASE_LOST, now)

    async def _stop_those_asked(self) -> None:
        if not len(self._turns):
            return
        for turn_id in await self._store.turns_to_stop(self._holder):
            if live := self._turns.get(turn_id):
                live.cancel(CancelReason.STOPPED, self._clock.steady_ms())

    async def _keep_drafts(self) -> None:
        grown = [live for live in self._turns if live.length > live.drafted and live.listening]
        if grown:
            lengths = [live.length for live in grown]
            await self._store.commit(keep_drafts, grown)
            for live, length in zip(grown, lengths, strict=True):
                live.drafted = length

    async def _end_the_late(self) -> None:
        now = self._clock.steady_ms()
        for live in self._turns:
            if now - live.began > live.held.turn.timeout_ms:
                live.cancel(CancelReason.TIMED_OUT, now)
            if live.let_go in _ENDED_BY_US and not live.settled and now - live.let_go_at > _STUBBORN_MS:
                await self._settle_without(live)

    async def _settle_without(self, live: RunningTurn) -> None:
        """The agent neither ended nor let itself be cancelled. Its session goes on without it."""
        try:
            now = self._clock.ms()
            left = await self._store.commit(
                settle.settle, live.held, live.cut_short(), now, outbox=self._outbox(now)
            )
        except LeaseLost:
            live.settled = True
            return
        except StoreError as error:
            _log.warning("turn %s could not be settled: %s", live.held.turn.id, error)
            return
        live.settled = True
        self._hub.publish(left.events)
        self._bell.ring(Name.USER, Name.SCHEDULE, Name.COURIER)

    def _press_the_stubborn(self) -> None:
        """Who caught one cancellation may wait for something else now, and holds a slot."""
        now = self._clock.steady_ms()
        for live in self._turns:
            if live.let_go and live.listening and now - live.let_go_at > _STUBBORN_MS:
                live.task.cancel()


def renew(held: list[RunningTurn], lease_ms: int, lease_now: int | None) -> Transaction[set[str]]:
    """The sessions whose lease was ours to renew."""
    kept = yield (
        queries.sessions.renew,
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


def keep_drafts(grown: list[RunningTurn]) -> Transaction[None]:
    yield (
        queries.turns.keep_draft,
        [{"id": live.held.turn.id, "fence": live.held.fence, "draft": live.text} for live in grown],
    )
