"""Manual clock: stands still until a test moves it."""

import asyncio
from datetime import UTC, datetime, timedelta

from segue.times.clock import to_moment, to_ms

START = datetime(2026, 11, 16, 9, 0, tzinfo=UTC)
"""A Monday morning, far from any change of clocks."""


class ManualClock:
    """A clock moved by `advance`, which wakes the tasks whose time has come.

    Leases use it too, so that a test can let one expire.
    """

    def __init__(self, start: datetime = START) -> None:
        self._ms = to_ms(start)
        self._sleepers: list[tuple[int, asyncio.Event]] = []

    def ms(self) -> int:
        return self._ms

    def steady_ms(self) -> int:
        return self._ms

    def lease_ms(self) -> int | None:
        return self._ms

    def now(self) -> datetime:
        return to_moment(self._ms)

    def advance(self, by: timedelta | None = None, **amount: float) -> datetime:
        """Move forward by a timedelta or its parts, as in `advance(minutes=10)`. Return the new time."""
        return self.set(self.now() + (by or timedelta()) + timedelta(**amount))

    def set(self, moment: datetime) -> datetime:
        """Move to any time, also an earlier one, as when a machine's clock is set."""
        self._ms = to_ms(moment)
        due = [event for until, event in self._sleepers if until <= self._ms]
        self._sleepers = [sleeper for sleeper in self._sleepers if sleeper[0] > self._ms]
        for event in due:
            event.set()
        return moment

    async def wait(self, event: asyncio.Event, until: int | None) -> None:
        if until is not None:
            if until <= self._ms:
                return
            self._sleepers.append((until, event))
        await event.wait()
