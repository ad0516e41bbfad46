"""The time, as a thing that is passed in.

A clock tells milliseconds since 1970 and knows how to wait. `Kernel(clock=…)` is the only place one
enters; everything below takes `now` as an argument.
"""

import asyncio
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Protocol

_LONGEST_NAP = 1.0
"""Seconds. A wall clock may be set while we sleep; looking at it once a second costs nothing."""

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MILLISECOND = timedelta(milliseconds=1)


def to_ms(moment: datetime) -> int:
    return (moment - _EPOCH) // _MILLISECOND


def to_moment(ms: int) -> datetime:
    return _EPOCH + ms * _MILLISECOND


class Clock(Protocol):
    def ms(self) -> int:
        """Milliseconds since 1970."""
        ...

    def steady_ms(self) -> int:
        """Milliseconds that nobody sets, from no particular moment on: for how long something took."""
        ...

    def lease_ms(self) -> int | None:
        """The clock that judges leases, if it is this one; None leaves it to the store."""
        ...

    async def wait(self, event: asyncio.Event, until: int | None) -> None:
        """Until the event is set or the moment has come, whichever is first.

        It may end earlier when the clock is set back: whoever waits looks again.
        """
        ...


class SystemClock:
    """The machine's wall clock, or another source of the same milliseconds."""

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
            # Set back by an hour, a nap of a second must not become one of an hour.
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
