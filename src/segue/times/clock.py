"""The clock: tells milliseconds since 1970 and waits for a moment.

A clock is passed in at `Kernel(clock=…)` only; pure functions take `now` as an argument.
"""

import asyncio
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Protocol

_LONGEST_NAP = 1.0
"""Seconds. The wall clock may be set during a sleep, so it is checked once a second."""

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MILLISECOND = timedelta(milliseconds=1)


def to_ms(moment: datetime) -> int:
    return (moment - _EPOCH) // _MILLISECOND


def to_moment(ms: int) -> datetime:
    return _EPOCH + ms * _MILLISECOND


class Clock(Protocol):
    """Tells the time and waits. `segue.testing.ManualClock` is one for tests."""

    def ms(self) -> int:
        """Milliseconds since 1970."""
        ...

    def steady_ms(self) -> int:
        """Monotonic milliseconds, to measure how long something took."""
        ...

    def lease_ms(self) -> int | None:
        """The time by which leases expire; None: the store's own clock decides."""
        ...

    async def wait(self, event: asyncio.Event, until: int | None) -> None:
        """Wait until the event is set or the moment has come, whichever is first.

        It may return earlier when the clock is set back, so callers check again.
        """
        ...


class SystemClock:
    """The machine's wall clock, or on PostgreSQL the database's; the default."""

    def __init__(self, source: Callable[[], int] | None = None) -> None:
        self.ms = source or _wall_ms

    def steady_ms(self) -> int:
        return time.monotonic_ns() // 1_000_000

    def lease_ms(self) -> int | None:
        return None

    async def wait(self, event: asyncio.Event, until: int | None) -> None:
        before = self.ms()
        while not event.is_set():
            now = self.ms()
            # If the clock is set back by an hour, a sleep of a second must not take an hour.
            if until is not None and (now >= until or now < before):
                return
            before = now
            nap = None if until is None else min((until - now) / 1000, _LONGEST_NAP)
            try:
                async with asyncio.timeout(nap):
                    await event.wait()
            except TimeoutError:
                continue


def _wall_ms() -> int:
    return time.time_ns() // 1_000_000
