"""Quiescence and audit: step a kernel until it has nothing to do, and check the invariants."""

from segue.kernel.kernel import Kernel
from segue.store.database import Database
from segue.store.store import Store
from segue.testing.manual_clock import ManualClock

_MOST_ROUNDS = 10_000


async def quiet(kernel: Kernel) -> None:
    """Step the workers by hand until nothing is left to do at this moment of the clock.

    For a kernel that is not running. Turns that are due later are not started. Raises AssertionError if the
    kernel never comes to rest.
    """
    workers = kernel.workers
    for _ in range(_MOST_ROUNDS):
        now = kernel.clock.ms()
        soonest = await workers.timer.step()
        busy = soonest is not None and soonest <= now
        busy |= bool(await workers.reaper.step())
        busy |= bool(await workers.courier.step())
        busy |= bool(await workers.user_runner.step())
        busy |= bool(await workers.runner.step())
        busy |= bool(await workers.archivist.step())
        busy |= bool(await workers.indexer.step())
        if not busy:
            return
    raise AssertionError(f"{kernel.name} does not come to rest: is a job due at every moment?")


async def audit(database: Database, *, now: int | None = None) -> dict[str, list[str]]:
    """Return the broken invariants of this database; empty if all hold.

    With `now`, slots that were due an hour before it and left no row are reported too.
    """
    horizon = 0 if now is None else now - 3_600_000
    return await Store(database, ManualClock()).audit(horizon=horizon)
