"""What `/health` answers: whether the database can be read and written, and whether due work is done."""

import asyncio
from contextlib import suppress
from dataclasses import dataclass

from segue.errors import StoreError
from segue.kernel.kernel import Kernel
from segue.store.last_write import Reason, try_to_write

TOO_LATE_MS = 10_000
"""A job that is overdue by more than this says that no worker is at work."""
TRY_EVERY_MS = 1_000
TRY_SECONDS = 0.5


@dataclass(frozen=True, slots=True)
class Health:
    status: str
    reason: str | None = None
    alive: bool = False
    lag_ms: int = 0


class Checkup:
    """One for an app. After a write that failed it writes a little itself, at most once a second, so that the
    answer becomes `ok` again when the fault is over and nothing else is written."""

    def __init__(self, kernel: Kernel) -> None:
        self._kernel = kernel
        self._tried = 0

    async def examine(self, *, working: bool | None) -> Health:
        """`working`: whether the workers of this process are at work; None when others do the work."""
        try:
            lag_ms = await self.lag_ms()
        except StoreError:
            return Health("unavailable", self._kernel.store.database.last_write.reason or Reason.UNREACHABLE)
        alive = lag_ms < TOO_LATE_MS if working is None else working
        reason: str | None = await self._write_fault()
        if reason is None and not alive:
            reason = "jobs_overdue" if working is None else "workers_stopped"
        return Health("ok" if reason is None else "degraded", reason, alive, lag_ms)

    async def lag_ms(self) -> int:
        due = await self._kernel.store.next_due()
        return 0 if due is None else max(0, self._kernel.clock.ms() - due)

    async def _write_fault(self) -> Reason | None:
        database = self._kernel.store.database
        now = self._kernel.clock.steady_ms()
        if database.last_write.reason is not None and now - self._tried >= TRY_EVERY_MS:
            self._tried = now
            with suppress(StoreError, TimeoutError):
                async with asyncio.timeout(TRY_SECONDS):
                    await try_to_write(database)
        return database.last_write.reason
