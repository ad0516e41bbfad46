"""Retries a write until the store is reachable again, however long that takes."""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import TypeVar

from segue.errors import StoreUnavailable, Undecided
from segue.times.clock import Clock

T = TypeVar("T")

_FIRST_PAUSE_MS, _LONGEST_PAUSE_MS = 200, 2_000

_log = logging.getLogger(__name__)


async def retry_until_stored(subject: str, clock: Clock, write: Callable[[], Awaitable[T]]) -> T:
    """Repeat a write while the store is unreachable. Its fence decides then whether it is still valid.

    `Undecided` is raised, not retried: the connection was lost during COMMIT, so a repeat could write twice.
    """
    pause = _FIRST_PAUSE_MS
    while True:
        try:
            return await write()
        except Undecided:
            raise
        except StoreUnavailable as error:
            if pause == _FIRST_PAUSE_MS:
                _log.warning("store unreachable, retrying: %s: %s", subject, error)
            await clock.wait(asyncio.Event(), clock.ms() + pause)
            pause = min(2 * pause, _LONGEST_PAUSE_MS)
