"""Keeper: renews the leases of the turns that this process runs, and cancels turns that must end.

It cancels turns that timed out, were asked to stop or lost their lease, and stores drafts of their text for
other processes to read. One task does this for all turns, so a turn needs no timer of its own.

If a renewal matches no row, another process holds the lane: the turn is cancelled at once, because nothing it
writes would be stored. If the store does not answer, the keeper cancels a turn by its own clock, a third of
the lease before its end (see `lease.reliable_ms`).
"""

import asyncio
import logging

from segue.errors import LeaseLost, StoreError
from segue.kernel.live.running import CancelReason, RunningTurn
from segue.kernel.transactions import settle
from segue.kernel.transactions.lease import reliable_ms
from segue.kernel.transactions.result import Name
from segue.kernel.workers.worker_context import WorkerContext
from segue.store import queries
from segue.store.database import Transaction

_log = logging.getLogger(__name__)

_CANCEL_GRACE_MS = 1000
"""How long an agent may ignore its cancellation before its turn is settled without it."""

_CLOSED_HERE = (CancelReason.STOPPED, CancelReason.TIMED_OUT, CancelReason.OVER_BUDGET)


class Keeper:
    def __init__(self, context: WorkerContext) -> None:
        self._context = context
        self._store = context.store
        self._clock = context.clock
        self._turns = context.turns
        self._lease_ms = context.lease_ms
        self._reliable_ms = reliable_ms(self._lease_ms)
        self._tick_ms = min(context.tuning.keeper_pause_ms, self._lease_ms // 6)
        self._watched_tick_ms = min(context.tuning.watched_pause_ms, self._tick_ms)
        self._cut_off = False
        """The store did not answer in the last step."""

    async def run(self) -> None:
        while True:
            await self._turns.wait_for_one()
            # Wait first: a turn that just started has a fresh lease and no text yet.
            pause = min(self._pause_ms(), self._ms_to_deadline())
            await self._context.bell.wait(Name.KEEPER, self._clock.ms() + pause)
            await self.step()

    async def step(self) -> None:
        try:
            # A store that does not answer must not delay the cancellations below.
            async with asyncio.timeout(self._store_timeout()):
                await self._renew_leases()
                await self._stop_requested()
                await self._store_drafts()
            self._cut_off = False
        except (StoreError, TimeoutError) as error:
            self._cut_off = True
            _log.warning("lease renewal failed, retrying: %s", str(error) or "the store does not answer")
        self._cancel_expired()
        await self._enforce_timeouts()
        self._cancel_again()

    def _pause_ms(self) -> int:
        now = self._clock.steady_ms()
        watched = any(turn.watched_until > now for turn in self._turns)
        return self._watched_tick_ms if watched else self._tick_ms

    def _ms_to_deadline(self) -> int:
        """Time until the first turn must be cancelled. A turn whose agent has ended is not counted: its
        settlement waits for the store."""
        now = self._clock.steady_ms()
        at_work = [turn for turn in self._turns if turn.agent_running and turn.cancel_reason is None]
        return max(0, min((turn.held_until - now for turn in at_work), default=self._reliable_ms))

    def _store_timeout(self) -> float:
        """Timeout for the store: until the first turn must be cancelled.

        After a long sleep of the machine that time is over, but the lease may still be held: unless the last
        step failed too, the store gets one second to say so.
        """
        remaining = self._ms_to_deadline()
        return remaining / 1000 if remaining or self._cut_off else 1.0

    async def _renew_leases(self) -> None:
        """Renew all leases as soon as a third of one has passed."""
        held = self._held()
        now = self._clock.steady_ms()
        if all(turn.held_until - now > self._reliable_ms - self._lease_ms // 3 for turn in held):
            return
        kept = await self._store.commit(renew, held, self._lease_ms, self._store.lease_now())
        for turn in held:
            if (turn.held.session.id, turn.held.fence) in kept:
                turn.held_until = now + self._reliable_ms
            else:
                turn.cancel(CancelReason.LEASE_LOST, now)

    def _held(self) -> list[RunningTurn]:
        return [
            turn
            for turn in self._turns
            if turn.cancel_reason is not CancelReason.LEASE_LOST and not turn.settled
        ]

    def _cancel_expired(self) -> None:
        """Cancel turns that were not renewed in time: another process may soon reclaim their lanes."""
        now = self._clock.steady_ms()
        for turn in self._turns:
            if now >= turn.held_until:
                turn.cancel(CancelReason.LEASE_LOST, now)

    async def _stop_requested(self) -> None:
        if not len(self._turns):
            return
        for turn_id in await self._store.turns_to_stop(self._context.holder):
            if turn := self._turns.get(turn_id):
                turn.cancel(CancelReason.STOPPED, self._clock.steady_ms())

    async def _store_drafts(self) -> None:
        grown = [turn for turn in self._turns if turn.text_length > turn.draft_length and turn.agent_running]
        if grown:
            lengths = [turn.text_length for turn in grown]
            await self._store.commit(store_drafts, grown)
            for turn, length in zip(grown, lengths, strict=True):
                turn.draft_length = length

    async def _enforce_timeouts(self) -> None:
        now = self._clock.steady_ms()
        for turn in self._turns:
            if now - turn.began > turn.held.turn.timeout_ms:
                turn.cancel(CancelReason.TIMED_OUT, now)
            ignored = now - turn.cancelled_at > _CANCEL_GRACE_MS
            if turn.cancel_reason in _CLOSED_HERE and not turn.settled and ignored:
                await self._settle_without_agent(turn)

    async def _settle_without_agent(self, turn: RunningTurn) -> None:
        """Settle a turn whose agent ignores its cancellation, so that its session can continue."""
        try:
            now = self._clock.ms()
            end = await self._store.commit(
                settle.settle, turn.held, turn.cut_short(), now, outbox=self._context.outbox(now)
            )
        except LeaseLost:
            turn.settled = True
            return
        except StoreError as error:
            _log.warning("turn not settled, retrying: turn %s: %s", turn.held.turn.id, error)
            return
        turn.settled = True
        self._context.announce(end)

    def _cancel_again(self) -> None:
        """An agent that swallowed its cancellation still occupies capacity, so cancel it again."""
        now = self._clock.steady_ms()
        for turn in self._turns:
            if turn.cancel_reason and turn.agent_running and now - turn.cancelled_at > _CANCEL_GRACE_MS:
                turn.task.cancel()


def renew(held: list[RunningTurn], lease_ms: int, lease_now: int | None) -> Transaction[set[tuple[str, int]]]:
    """Renew leases under their fences. Returns the sessions that are still held, each with its fence."""
    kept = yield (
        queries.sessions.renew,
        [
            {
                "id": turn.held.session.id,
                "holder": turn.held.holder,
                "fence": turn.held.fence,
                "lease_ms": lease_ms,
                "lease_now": lease_now,
            }
            for turn in held
        ],
    )
    return {(row["id"], row["fence"]) for row in kept}


def store_drafts(grown: list[RunningTurn]) -> Transaction[None]:
    yield (
        queries.turns.keep_draft,
        [{"id": turn.held.turn.id, "fence": turn.held.fence, "draft": turn.text} for turn in grown],
    )
