"""Health check: whether the database can be read and written, and whether due jobs run."""

import asyncio
from contextlib import suppress
from dataclasses import dataclass

from segue.errors import StoreError
from segue.kernel.kernel import Kernel
from segue.store.last_write import Reason, try_to_write

TOO_LATE_MS = 10_000
"""A job that is overdue by more than this means that no worker is running."""
TRY_EVERY_MS = 1_000
TRY_SECONDS = 0.5


@dataclass(frozen=True, slots=True)
class HealthStatus:
    status: str
    reason: str | None = None
    alive: bool = False
    lag_ms: int = 0


class HealthCheck:
    """After a failed write it tries a small write itself, at most once a second. So the status returns to
    `ok` when the fault is over, even if nothing else writes."""

    def __init__(self, kernel: Kernel) -> None:
        self._kernel = kernel
        self._tried_at = 0

    async def check(self, *, workers_running: bool | None) -> HealthStatus:
        """`workers_running`: whether this app's workers run; None if the app runs none."""
        try:
            lag_ms = await self.lag_ms()
        except StoreError:
            return HealthStatus(
                "unavailable", self._kernel.store.database.last_write.reason or Reason.UNREACHABLE
            )
        alive = lag_ms < TOO_LATE_MS if workers_running is None else workers_running
        reason: str | None = await self._write_fault()
        if reason is None and not alive:
            reason = "jobs_overdue" if workers_running is None else "workers_stopped"
        return HealthStatus("ok" if reason is None else "degraded", reason, alive, lag_ms)

    async def lag_ms(self) -> int:
        due = await self._kernel.store.next_due()
        return 0 if due is None else max(0, self._kernel.clock.ms() - due)

    async def _write_fault(self) -> Reason | None:
        database = self._kernel.store.database
        now = self._kernel.clock.steady_ms()
        if database.last_write.reason is not None and now - self._tried_at >= TRY_EVERY_MS:
            self._tried_at = now
            with suppress(StoreError, TimeoutError):
                async with asyncio.timeout(TRY_SECONDS):
                    await try_to_write(database)
        return database.last_write.reason
