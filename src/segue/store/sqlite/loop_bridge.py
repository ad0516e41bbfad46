"""Bridge between the event loop and worker threads; it may block the loop for a millisecond at a time.

The sender of work keeps a future. Outcomes come back in batches, and a batch wakes the loop once.

A loop that never sleeps starves other threads. CPython hands its lock to a thread that has waited 5 ms for
it, but each iteration of a busy loop releases the lock too briefly for another thread to wake, which restarts
its 5 ms: beside a busy loop, a commit of half a millisecond took seconds. So when work is out and nothing has
come back for an interval, the loop blocks itself for up to a millisecond, which gives the threads the lock.
The interval doubles whenever this did not help: then the disk is slow.

Invariants
  - a future is resolved on the loop, once, and not at all if its caller was cancelled
  - with no work out that a caller waits for, nothing runs: no timer, no wake-up
"""

import asyncio
from collections.abc import Callable, Iterable
from contextlib import suppress
from queue import Empty, SimpleQueue
from typing import Any, TypeAlias

Outcome: TypeAlias = tuple[asyncio.Future[Any], Any, BaseException | None]
"""A future with its result, or with None and the exception it is to raise."""

SHORTEST_INTERVAL, LONGEST_INTERVAL = 0.001, 0.064
LOAN_SECONDS = 0.001


class LoopBridge:
    def __init__(self, when_nothing_returns: Callable[[], None]) -> None:
        """The callback runs on the loop, now and then, while work is out and nothing comes back."""
        self._loop = asyncio.get_running_loop()
        self._when_nothing_returns = when_nothing_returns
        self._returned: SimpleQueue[Iterable[Outcome]] = SimpleQueue()
        self._out = 0
        self._settled = 0
        self._timed = False

    # On the loop

    def future(self) -> asyncio.Future[Any]:
        """The future of one piece of work that is about to be sent to a thread."""
        self._out += 1
        if not self._timed:
            self._timed = True
            self._look_again_in(SHORTEST_INTERVAL)
        return self._loop.create_future()

    def settle(self, outcomes: Iterable[Outcome]) -> None:
        for future, result, error in outcomes:
            self._out -= 1
            self._settled += 1
            if future.done():
                continue
            if error is None:
                future.set_result(result)
            else:
                future.set_exception(error)

    def abandon(self) -> None:
        """Call when no caller waits any longer for one piece of work that is out."""
        self._out -= 1

    def _settle_returned(self) -> None:
        with suppress(Empty):
            while True:
                self.settle(self._returned.get_nowait())

    def _look_again_in(self, seconds: float) -> None:
        self._loop.call_later(seconds, self._look, seconds, self._settled)

    def _look(self, waited: float, settled: int) -> None:
        # Below zero: work that was abandoned has come back.
        if self._out <= 0:
            self._timed = False
        elif self._settled != settled:
            self._look_again_in(SHORTEST_INTERVAL)
        else:
            self._lend()
            self._when_nothing_returns()
            self._look_again_in(min(waited * 2, LONGEST_INTERVAL))

    def _lend(self) -> None:
        with suppress(Empty):
            self.settle(self._returned.get(timeout=LOAN_SECONDS))

    # On a thread

    def return_(self, outcomes: Iterable[Outcome]) -> None:
        self._returned.put(outcomes)
        self.call(self._settle_returned)

    def call(self, function: Callable[[], None]) -> None:
        # A closed loop has no callers left.
        with suppress(RuntimeError):
            self._loop.call_soon_threadsafe(function)
