"""The runner: takes lanes as it has slots for them, and sees their turns through to the end.

Two of them run in a process, one for the lanes in which a user waits and one for the others, each with
slots of its own: neither starves the other. A runner owns the tasks of its turns.
"""

import asyncio
import logging
from functools import partial

from segue.errors import LeaseLost, StoreError
from segue.kernel.live.bell import Name
from segue.kernel.live.running import CancelReason, RunningTurn
from segue.kernel.transactions import lease, settle
from segue.kernel.transactions.fire import TakenSlot
from segue.kernel.transactions.lane import Pool, TurnEnd
from segue.kernel.transactions.lease import HeldLane, Seat
from segue.kernel.transactions.seats import Admit
from segue.kernel.workers.retry import retry_until_stored
from segue.kernel.workers.run_agent import run_agent
from segue.kernel.workers.worker_context import WorkerContext
from segue.model.policy import backoff
from segue.model.states import Outcome

_log = logging.getLogger(__name__)

_BREATH_MS = 200
"""Between two tries while the store does not answer."""

_NAMES = {Pool.USER: Name.USER, Pool.SCHEDULE: Name.SCHEDULE}


class Runner:
    def __init__(self, crew: WorkerContext, pool: Pool, slots: int) -> None:
        self._crew = crew
        self._pool = pool
        self._slots = slots
        self._busy = 0
        """Turns whose agents are at work."""
        self._settling = 0
        """Turns on their way out."""
        self._leasing = 0
        """Slots that a lease under way may fill."""
        self._account = ""
        self._store_failed = False
        self._closing = False
        self._turns: asyncio.TaskGroup | None = None

    async def run(self) -> None:
        """Take lanes as slots come free, until closed; then wait for the turns under way."""
        try:
            async with asyncio.TaskGroup() as self._turns:
                while not self._closing:
                    await self._take_some(self._turns)
        finally:
            self._turns = None

    async def _take_some(self, turns: asyncio.TaskGroup) -> None:
        wanted = min(self._free, lease.QUANTUM)
        seat = self._seat()
        held = await self._lease(seat)
        for one in held:
            turns.create_task(self._see_to(one, seat))
        # With fewer than it would give, the account is done: a look costs less than a try in vain.
        if len(held) < max(wanted, 1) and not self._closing:
            await self._rest()

    async def start(self, admit: Admit) -> TakenSlot | None:
        """Let a turn come in by a free slot, if there is one, so that it may start in the same commit.

        The commit is made by a task of ours: whoever asked may go, and what it started is seen through.
        """
        if self._turns is None or self._closing or self._leasing >= self._free:
            return await admit(None)
        self._busy += 1
        taken: asyncio.Future[TakenSlot | None] = asyncio.get_running_loop().create_future()
        self._turns.create_task(self._admit(admit, taken))
        return await taken

    async def _admit(self, admit: Admit, told: asyncio.Future[TakenSlot | None]) -> None:
        taken = held = None
        seat = self._seat()
        try:
            taken = await admit(seat)
            held = taken.held if taken else None
            if not told.done():
                told.set_result(taken)
        except Exception as error:
            if not told.done():
                told.set_exception(error)
        finally:
            if held is None:
                self._count(busy=-1)
        if taken is not None and held is not None:
            self._crew.hub.publish(taken.events)  # by us: they come before the turn's own
            await self._see_to(held, seat)

    def _seat(self) -> Seat:
        crew = self._crew
        return Seat(
            holder=crew.holder,
            lease_ms=crew.lease_ms,
            lease_now=crew.store.lease_now(),
            # Counted from before the lease begins: by our own clock it never ends later than by the store's.
            held_until=crew.clock.steady_ms() + lease.reliable_ms(crew.lease_ms),
            reports_tools=crew.agent.reports_tools,
        )

    async def step(self) -> int:
        """Take what is ready and see it through; how many turns that were."""
        seat = self._seat()
        held = await self._lease(seat)
        async with asyncio.TaskGroup() as turns:
            for one in held:
                turns.create_task(self._see_to(one, seat))
        return len(held)

    def close(self) -> None:
        """Take no more lanes."""
        self._closing = True
        self._crew.bell.ring(_NAMES[self._pool])

    async def _lease(self, seat: Seat) -> list[HeldLane]:
        crew = self._crew
        free = self._free
        if free <= 0:
            return []
        self._leasing = free
        trial = crew.trial.reserve()
        held: list[HeldLane] = []
        try:
            held = await crew.store.commit(
                lease.lease,
                seat,
                pool=self._pool,
                after=self._account,
                limit=free,
                since=await crew.store.ready_since(),
                now=crew.clock.ms(),
                trial=trial,
            )
        except StoreError as error:
            _log.warning("no lane could be leased: %s", error)
            self._store_failed = True
            return []
        finally:
            self._leasing = 0
            if trial:
                crew.trial.begin(one.turn for one in held)
        self._store_failed = False
        self._busy += len(held)
        if held:
            self._account = held[-1].session.owner.account
        return held

    async def _rest(self) -> None:
        while not await self._crew.bell.wait(_NAMES[self._pool], await self._next_moment()):
            pass

    async def _next_moment(self) -> int | None:
        """When there will be something to take, as far as it is known."""
        crew = self._crew
        if self._store_failed:  # the lane is still ready: a look at when it will be would not let us rest
            return crew.clock.ms() + _BREATH_MS
        if self._free <= 0:
            return None
        try:
            return await crew.store.next_ready(self._pool)
        except StoreError:
            return crew.clock.ms() + _BREATH_MS

    async def _see_to(self, held: HeldLane, seat: Seat) -> None:
        task = asyncio.current_task()
        assert task is not None  # we run as one
        crew = self._crew
        live = RunningTurn(held, task, crew.clock.steady_ms(), seat.held_until, last_seq=held.opened.seq)
        crew.turns.add(live)
        crew.hub.publish((held.opened, *held.copies))
        try:
            left = await self._see_through(live)
            crew.hub.publish(left.events)
            if left.ready is not None:
                crew.store.is_ready(left.ready.since)
                crew.bell.ring(_NAMES[left.ready.pool])
            if left.delivers:
                crew.bell.ring(Name.COURIER)
            if held.session.live.policy is not None:
                crew.bell.ring(Name.ARCHIVIST)
        except LeaseLost as lost:
            _log.warning("turn %s was let go: %s", held.turn.id, lost)
        except Exception:
            # Nothing was promised, and no other turn may suffer from it. The lease runs out, and the
            # crash rule decides what becomes of this one.
            _log.exception("turn %s could not be settled", held.turn.id)
        finally:
            crew.turns.drop(live)
            crew.trial.end(held.turn)
            self._count(settling=-1)

    @property
    def _free(self) -> int:
        """Slots. One is free as soon as its agent has ended, so that the next turn is taken up while this one
        is settled, often in the same commit; but a store that falls behind is not given ever more to do."""
        return min(self._slots, 2 * self._slots - self._settling) - self._busy

    def _count(self, *, busy: int = 0, settling: int = 0) -> None:
        was_full = self._free <= 0
        self._busy += busy
        self._settling += settling
        if was_full and self._free > 0:  # somebody may have waited for a slot
            self._crew.bell.ring(_NAMES[self._pool])

    async def _see_through(self, live: RunningTurn) -> TurnEnd:
        crew = self._crew
        try:
            try:
                if crew.clock.steady_ms() >= live.held_until:  # the answer came too late to rely on it
                    raise LeaseLost("its lease had run out before it could begin")
                ending = await run_agent(crew, live)
            finally:
                self._count(busy=-1, settling=+1)
        except asyncio.CancelledError:
            if live.let_go is None:  # the shutdown's grace is over
                now = crew.clock.ms()
                return await crew.store.commit(settle.hand_back, live.held, now, outbox=crew.outbox(now))
            live.task.uncancel()
            if live.let_go is CancelReason.LEASE_LOST:
                raise LeaseLost("its lease ran out") from None
            ending = live.cut_short()
        now = crew.clock.ms()
        turn = live.held.turn
        if ending.outcome is Outcome.ERROR and turn.attempt - turn.crashes <= turn.retries:
            pause = backoff(turn.attempt - turn.crashes, crew.rng)
            at = now + round(pause.total_seconds() * 1000)
            last_word = partial(settle.retry, live.held, ending, now, at=at)
        else:
            last_word = partial(settle.settle, live.held, ending, now, outbox=crew.outbox(now))
        return await retry_until_stored(f"turn {turn.id}", crew.clock, lambda: crew.store.commit(last_word))
