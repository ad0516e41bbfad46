"""Drain: runs everything that is due to its end, for hosts whose process does not run all the time.

Due jobs are taken once, at the beginning; what becomes due later is left to the next drain. Then both
runners, the courier, the archivist and the indexer step until none of them has work. The keeper renews leases
meanwhile.

Invariants
  - a worker is not cancelled in the middle of a step, except at `until`, and then only turns and memory tasks
"""

import asyncio
from collections.abc import Awaitable, Callable
from datetime import datetime

from segue.errors import BadTime
from segue.kernel.live.bell import Bell
from segue.kernel.transactions.lane import Pool
from segue.kernel.transactions.result import Name
from segue.kernel.workers.workforce import Workforce
from segue.record import record
from segue.store.store import Store
from segue.times.clock import Clock, to_moment, to_ms

Step = Callable[[], Awaitable[int]]


@record
class Drained:
    """What `kernel.drain` has done, and when something is due next."""

    turns: int
    """How many turns ran and ended, or were cut short at `until`."""
    next_at: datetime | None
    """When something is due next, so that the host can come back then; None if nothing is scheduled."""


class Drain:
    def __init__(self, workers: Workforce, store: Store, clock: Clock, bell: Bell) -> None:
        self._workers = workers
        self._store = store
        self._clock = clock
        self._bell = bell
        self._steps: dict[Name, Step] = {
            Name.USER: workers.user_runner.step,
            Name.SCHEDULE: workers.runner.step,
            Name.ARCHIVIST: workers.archivist.step,
            Name.COURIER: workers.courier.step,
            Name.INDEXER: workers.indexer.step,
        }
        self._resting = 0
        """How many of them found nothing to do and wait for a ring."""
        self._finished = asyncio.Event()

    async def run(self, until: datetime | None) -> Drained:
        deadline = None if until is None else _deadline(until)
        ended_before = self._workers.turns.ended
        try:
            await self._work(deadline)
        except ExceptionGroup as errors:
            raise _first(errors) from errors
        turns = self._workers.turns.ended - ended_before
        if turns:
            await self._workers.pruner.step()
        next_at = await self._next_at()
        return Drained(turns=turns, next_at=None if next_at is None else to_moment(next_at))

    async def _work(self, deadline: int | None) -> None:
        if deadline is not None and deadline <= self._clock.ms():
            return
        await self._take_due_jobs()
        await self._workers.reaper.step()
        async with asyncio.TaskGroup() as tasks:
            keeper = tasks.create_task(self._workers.keeper.run())
            loops = {name: tasks.create_task(self._loop(name)) for name in self._steps}
            while not self._finished.is_set() and (deadline is None or self._clock.ms() < deadline):
                await self._clock.wait(self._finished, deadline)
            self._finished.set()
            if deadline is not None and self._clock.ms() >= deadline:
                for name in (Name.USER, Name.SCHEDULE, Name.ARCHIVIST):
                    loops[name].cancel()
            self._bell.ring(*self._steps)
            await asyncio.wait(loops.values())
            keeper.cancel()

    async def _take_due_jobs(self) -> None:
        began = self._clock.ms()
        while (again_at := await self._workers.timer.step()) is not None and again_at <= self._clock.ms():
            next_due = await self._store.next_due()
            if next_due is None or next_due > began:
                return

    async def _loop(self, name: Name) -> None:
        """Step a worker whenever it is rung for, until all of them rest at the same time."""
        while not self._finished.is_set():
            if await self._steps[name]():
                continue
            self._resting += 1
            if self._resting == len(self._steps) and not any(map(self._bell.is_rung, self._steps)):
                self._finished.set()
                return
            await self._bell.wait(name, None)
            self._resting -= 1

    async def _next_at(self) -> int | None:
        moments = (
            await self._store.next_due(),
            await self._store.next_ready(Pool.USER),
            await self._store.next_ready(Pool.SCHEDULE),
            await self._store.next_expiry(),
            await self._workers.courier.next_send_at(),
            await self._workers.archivist.next_check_at(),
        )
        return min((moment for moment in moments if moment is not None), default=None)


def _deadline(until: datetime) -> int:
    if until.tzinfo is None:
        raise BadTime(f"until: {until} has no time zone; write `datetime.now(UTC) + timedelta(seconds=20)`")
    return to_ms(until)


def _first(error: Exception) -> Exception:
    return _first(error.exceptions[0]) if isinstance(error, ExceptionGroup) else error
