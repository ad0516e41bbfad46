"""Polling with a time limit, for what has no event to wait for: another process, a server, a counter."""

import asyncio
import inspect
import time
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar, overload

T = TypeVar("T")

POLL_SECONDS = 0.01
WITHIN_SECONDS = 60.0
"""Long enough for a busy machine; a test that hangs fails after it."""


@overload
async def eventually(
    look: Callable[[], Awaitable[T]], what: str, *, within: float = ..., every: float = ...
) -> T: ...
@overload
async def eventually(look: Callable[[], T], what: str, *, within: float = ..., every: float = ...) -> T: ...
async def eventually(
    look: Callable[[], Any], what: str, *, within: float = WITHIN_SECONDS, every: float = POLL_SECONDS
) -> Any:
    """Call `look` until it returns something true, and return that. After `within` seconds, fail."""
    deadline = time.monotonic() + within
    while True:
        seen = look()
        found = await seen if inspect.isawaitable(seen) else seen
        if found:
            return found
        assert time.monotonic() < deadline, f"it never came to this: {what}; last seen: {found!r}"
        await asyncio.sleep(every)


def eventually_blocking(look: Callable[[], T], what: str, *, within: float = WITHIN_SECONDS) -> T:
    """`eventually` for tests without an event loop."""
    deadline = time.monotonic() + within
    while not (found := look()):
        assert time.monotonic() < deadline, f"it never came to this: {what}; last seen: {found!r}"
        time.sleep(POLL_SECONDS)
    return found
