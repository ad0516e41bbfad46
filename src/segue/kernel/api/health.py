"""Health check: whether the database can be read and written, and whether due jobs run."""

import asyncio
from contextlib import suppress
from dataclasses import dataclass

from segue.errors import StoreError
from segue.kernel.api.context import ApiContext
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


class HealthApi:
    """Whether the database can be read and written, and whether due jobs run: `kernel.health`.

    After a failed write it tries a small write itself, at most once a second. So the status returns to
    `ok` when the fault is over, even if nothing else writes.
    """

    def __init__(self, context: ApiContext) -> None:
        self._context = context
        self._tried_at = 0

    @property
    def database(self) -> str:
        """The kind of the database: `sqlite` or `postgres`."""
        return self._context.store.database.dialect

    async def check(self, *, workers_running: bool | None) -> HealthStatus:
        """Returns the status. `workers_running`: whether the app's workers run; None if it runs none."""
        try:
            lag_ms = await self.lag_ms()
        except StoreError:
            return HealthStatus(
                "unavailable", self._context.store.database.last_write.reason or Reason.UNREACHABLE
            )
        alive = lag_ms < TOO_LATE_MS if workers_running is None else workers_running
        reason: str | None = await self._write_fault()
        if reason is None and not alive:
            reason = "jobs_overdue" if workers_running is None else "workers_stopped"
        return HealthStatus("ok" if reason is None else "degraded", reason, alive, lag_ms)

    async def lag_ms(self) -> int:
        """Returns for how long the oldest due job has been due."""
        due = await self._context.store.next_due()
        return 0 if due is None else max(0, self._context.clock.ms() - due)

    async def _write_fault(self) -> Reason | None:
        database = self._context.store.database
        now = self._context.clock.steady_ms()
        if database.last_write.reason is not None and now - self._tried_at >= TRY_EVERY_MS:
            self._tried_at = now
            with suppress(StoreError, TimeoutError):
                async with asyncio.timeout(TRY_SECONDS):
                    await try_to_write(database)
        return database.last_write.reason
