"""The crossing between the event loop and the threads that work for it.

Whoever sends work over keeps a future. Outcomes come back in batches, and a batch wakes the loop once.

A loop that never sleeps starves every other thread. CPython hands its lock over to a thread that has waited
5 ms for it, but each turn of a busy loop lets go for a moment too short to wake up in, and starts that wait
anew: beside a loop kept busy, a commit of half a millisecond took seconds. So when work is out and nothing
has come back for a while, the loop itself stands still for up to a millisecond and lends its thread's share
of the interpreter. The while doubles each time it was in vain, because then it is the disk that is slow.

Invariants
  - a future is resolved on the loop, once, and not at all when its caller has been cancelled
  - with nothing out, nothing runs: no timer, no wake-up
"""

import asyncio
from collections.abc import Callable, Iterable
from contextlib import suppress
from queue import Empty, SimpleQueue
from typing import Any, TypeAlias

Outcome: TypeAlias = tuple[asyncio.Future[Any], Any, BaseException | None]
"""A future with its result, or with None and the exception it is to raise."""

FIRST_WHILE, LONGEST_WHILE = 0.001, 0.064
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
        """For one piece of work that is about to go over."""
        self._out += 1
        if not self._timed:
            self._timed = True
            self._look_again_in(FIRST_WHILE)
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

    def _settle_returned(self) -> None:
        with suppress(Empty):
            while True:
                self.settle(self._returned.get_nowait())

    def _look_again_in(self, seconds: float) -> None:
        self._loop.call_later(seconds, self._look, seconds, self._settled)

    def _look(self, waited: float, settled: int) -> None:
        if not self._out:
            self._timed = False
        elif self._settled != settled:
            self._look_again_in(FIRST_WHILE)
        else:
            self._lend()
            self._when_nothing_returns()
            self._look_again_in(min(waited * 2, LONGEST_WHILE))

    def _lend(self) -> None:
        with suppress(Empty):
            self.settle(self._returned.get(timeout=LOAN_SECONDS))

    # On a thread

    def return_(self, outcomes: Iterable[Outcome]) -> None:
        self._returned.put(outcomes)
        self.call(self._settle_returned)

    def call(self, function: Callable[[], None]) -> None:
        # A loop that has been closed has nobody left who could be told.
        with suppress(RuntimeError):
            self._loop.call_soon_threadsafe(function)
