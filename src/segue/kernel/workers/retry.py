"""Insisting: what was said or sent is written down when the store is back, however long it was away."""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import TypeVar

from segue.errors import StoreUnavailable, Undecided
from segue.times.clock import Clock

T = TypeVar("T")

_FIRST_PAUSE_MS, _LONGEST_PAUSE_MS = 200, 2_000

_log = logging.getLogger(__name__)


async def retry_until_stored(who: str, clock: Clock, write: Callable[[], Awaitable[T]]) -> T:
    """Write, and again while the store is away. Whether it is still ours to write, the store will say then.

    Not when the store was lost while it committed: a second time could double what the first has done.
    """
    pause = _FIRST_PAUSE_MS
    while True:
        try:
            return await write()
        except Undecided:
            raise
        except StoreUnavailable as error:
            if pause == _FIRST_PAUSE_MS:
                _log.warning("%s waits for the store: %s", who, error)
            await clock.wait(asyncio.Event(), clock.ms() + pause)
            pause = min(2 * pause, _LONGEST_PAUSE_MS)
