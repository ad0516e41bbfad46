"""Runner: leases lanes as it has capacity for them, runs their turns and settles them.

A process has two runners, one for lanes in which a user waits and one for all others. Each has its own
capacity, so that neither starves the other. A runner owns the tasks of its turns.
"""

import asyncio
import json
import logging
from functools import partial

from segue.errors import LeaseLost, StoreError
from segue.kernel.live.running import CancelReason, RunningTurn
from segue.kernel.transactions import lease, settle
from segue.kernel.transactions.guards.cluster_limit import lease_within_limits
from segue.kernel.transactions.lane import Pool
from segue.kernel.transactions.lease import HeldLane, Leased, LeaseTerms
from segue.kernel.transactions.result import Name, Result
from segue.kernel.workers.run_agent import run_agent
from segue.kernel.workers.worker_context import WorkerContext
from segue.model.policy import backoff
from segue.model.states import Outcome

_log = logging.getLogger(__name__)

_RETRY_MS = 200
"""Pause between two attempts while the store does not answer."""

_LIMIT_PAUSE_MS = 500
"""Pause between two attempts while a limit of all processes is reached."""

_BELL_NAMES = {Pool.USER: Name.USER, Pool.SCHEDULE: Name.SCHEDULE}


class Runner:
    def __init__(self, context: WorkerContext, pool: Pool, capacity: int) -> None:
        self._context = context
        self._pool = pool
        self._capacity = capacity
        self._busy = 0
        """Turns whose agent is running."""
        self._settling = 0
        """Turns whose agent has ended and whose settlement is not stored yet."""
        self._account = ""
        self._lease_failed = False
        self._last = Leased()
        """What the last lease found."""
        self._closing = False

    async def run(self) -> None:
        """Lease lanes while there is capacity, until closed; then wait for the running turns."""
        async with asyncio.TaskGroup() as turns:
            while not self._closing:
                await self._lease_and_start(turns)

    async def _lease_and_start(self, turns: asyncio.TaskGroup) -> None:
        wanted = min(self._free, lease.QUANTUM)
        held, held_until = await self._lease()
        for one in held:
            turns.create_task(self._run_turn(one, held_until))
        # Fewer than requested: the account has no more. Reading the next ready time is cheaper than a lease.
        if len(held) < max(wanted, 1) and not self._last.again and not self._closing:
            await self._wait_for_work()

    async def step(self) -> int:
        """Lease ready lanes and run their turns to the end. Returns how many there were."""
        held, held_until = await self._lease()
        async with asyncio.TaskGroup() as turns:
            for one in held:
                turns.create_task(self._run_turn(one, held_until))
        return len(held)

    def close(self) -> None:
        """Lease no more lanes; `run` returns when the running turns have ended."""
        self._closing = True
        self._context.bell.ring(_BELL_NAMES[self._pool])

    async def _lease(self) -> tuple[list[HeldLane], int]:
        """Lease ready lanes. Returns them, and until when by the steady clock they can be relied on."""
        context = self._context
        # Measured before the lease begins, so it never ends later by our clock than by the store's.
        held_until = context.clock.steady_ms() + lease.reliable_ms(context.lease_ms)
        self._last = Leased()
        free = self._free
        if free <= 0:
            return [], held_until
        allow_suspect = context.crash_suspects.reserve()
        try:
            limited = partial(lease_within_limits, settings=context.settings)
            leased = await context.store.commit(
                limited if context.settings.limits_turns else lease.lease,
                LeaseTerms(
                    holder=context.holder,
                    lease_ms=context.lease_ms,
                    lease_now=context.store.lease_now(),
                    reports_tools=context.agent.reports_tools,
                ),
                pool=self._pool,
                after=self._account,
                limit=free,
                since=await context.store.ready_since(),
                now=context.clock.ms(),
                allow_suspect=allow_suspect,
            )
            self._last = context.announce(leased)
        except StoreError as error:
            _log.warning("lease failed, retrying: %s", error)
            self._lease_failed = True
            return [], held_until
        except Exception:  # it must not end the other workers
            _log.exception("lease failed, retrying")
            self._lease_failed = True
            return [], held_until
        finally:
            if allow_suspect:
                context.crash_suspects.begin(one.turn for one in self._last.held)
        self._lease_failed = False
        held = list(self._last.held)
        self._busy += len(held)
        if self._last.account is not None:
            self._account = self._last.account
        return held, held_until

    async def _wait_for_work(self) -> None:
        context, name = self._context, _BELL_NAMES[self._pool]
        if self._lease_failed:  # the lane is still ready, so `next_ready` would not let us pause
            await context.bell.wait(name, context.clock.ms() + _RETRY_MS)
            return
        if self._last.limit_reached:  # a turn that ends in this process or another one rings
            await context.bell.wait(name, context.clock.ms() + _LIMIT_PAUSE_MS)
            return
        if self._last.model_full:  # the same; lanes that wait for no model may be ready before
            pause_ends = context.clock.ms() + _LIMIT_PAUSE_MS
            await context.bell.wait(name, min(pause_ends, await self._next_ready_at() or pause_ends))
            return
        while not await context.bell.wait(name, await self._next_ready_at()):
            pass

    async def _next_ready_at(self) -> int | None:
        """When a lane will be ready; None if that is not known, or there is no capacity."""
        context = self._context
        if self._free <= 0:
            return None
        try:
            return await context.store.next_ready(self._pool)
        except StoreError:
            return context.clock.ms() + _RETRY_MS

    async def _run_turn(self, held: HeldLane, held_until: int) -> None:
        task = asyncio.current_task()
        assert task is not None  # `create_task` runs this method
        context = self._context
        last_seq = max(event.seq for event in held.events if event.session_id == held.session.id)
        running = RunningTurn(
            held,
            task,
            context.clock.steady_ms(),
            held_until,
            last_seq=last_seq,
            saved=json.loads(held.saved),
        )
        context.turns.add(running)
        context.hub.publish(held.events)
        try:
            with context.observers.turn(running):
                context.announce(await self._run_and_settle(running))
        except LeaseLost as lost:
            _log.warning("lease lost, turn abandoned: turn %s: %s", held.turn.id, lost)
        except Exception:
            # Do not disturb other turns: this one's lease expires, and the reaper applies the crash rule.
            _log.exception("turn not settled, left to the reaper: turn %s", held.turn.id)
        finally:
            context.turns.drop(running)
            context.crash_suspects.end(held.turn)
            self._count(settling=-1)
            if context.settings.limits_turns:
                context.bell.ring(*_BELL_NAMES.values())

    @property
    def _free(self) -> int:
        """Turns that may start now.

        A turn frees its capacity when its agent ends, so that the next one starts while this one is settled,
        often in the same commit. The number of settling turns is limited too, for a slow store's sake.
        """
        return min(self._capacity, 2 * self._capacity - self._settling) - self._busy

    def _count(self, *, busy: int = 0, settling: int = 0) -> None:
        was_full = self._free <= 0
        self._busy += busy
        self._settling += settling
        if was_full and self._free > 0:  # wake the loop, which may wait for capacity
            self._context.bell.ring(_BELL_NAMES[self._pool])

    async def _run_and_settle(self, running: RunningTurn) -> Result[None]:
        context = self._context
        try:
            try:
                if context.clock.steady_ms() >= running.held_until:  # the store answered the lease too late
                    raise LeaseLost("its lease had run out before it could begin")
                with context.observers.agent(running):
                    running.ending = ending = await run_agent(context, running)
            finally:
                self._count(busy=-1, settling=+1)
        except asyncio.CancelledError:
            if running.cancel_reason is None:  # cancelled by the shutdown, whose grace is over
                now = context.clock.ms()
                return await context.store.commit(
                    settle.give_up, running.held, now, outbox=context.outbox(now)
                )
            running.task.uncancel()
            if running.cancel_reason is CancelReason.LEASE_LOST:
                raise LeaseLost("its lease ran out") from None
            running.ending = ending = running.cut_short()
        now = context.clock.ms()
        turn = running.held.turn
        if ending.outcome is Outcome.ERROR and turn.attempt - turn.crashes <= turn.retries:
            running.retried = True
            pause = backoff(turn.attempt - turn.crashes, context.rng)
            at = now + round(pause.total_seconds() * 1000)
            settlement = partial(settle.retry, running.held, ending, now, at=at)
        else:
            settlement = partial(settle.settle, running.held, ending, now, outbox=context.outbox(now))
        return await context.commit_until_stored(f"turn {turn.id}", settlement)
