"""Let a kernel come to rest, and see whether its house is in order."""

from segue.kernel.kernel import Kernel
from segue.store.database import Database
from segue.store.store import Store
from segue.testing.manual_clock import ManualClock

_MOST_ROUNDS = 10_000


async def quiet(kernel: Kernel) -> None:
    """Step the workers by hand until nothing is left to do at this moment of the clock.

    For a kernel that is not running. Turns that wait for a later moment stay where they are.
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
        if not busy:
            return
    raise AssertionError(f"{kernel.name} does not come to rest: is a job due at every moment?")


async def audit(database: Database, *, now: int | None = None) -> dict[str, list[str]]:
    """The invariants that do not hold in this database. Empty is well.

    With `now`, slots that were due an hour before it and left no row are reported too.
    """
    horizon = 0 if now is None else now - 3_600_000
    return await Store(database, ManualClock()).audit(horizon=horizon)
