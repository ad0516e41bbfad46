"""Callers in the order in which they came, and how they are to be driven."""

import asyncio
from collections import deque
from collections.abc import Callable, Sequence

from segue.store.lockstep.waiter import Waiter
from segue.store.server import of_a_writer


class Queue:
    def __init__(self, *, together: int, lock_milliseconds: int, may_go: Callable[[Waiter], bool]) -> None:
        self._callers: deque[Waiter] = deque()
        self._together = together
        self._may_go = may_go
        self._stirred = asyncio.Event()
        self.settings = of_a_writer(lock_milliseconds)

    def put(self, *callers: Waiter) -> None:
        self._callers.extend(callers)
        self._stirred.set()

    def put_back(self, callers: Sequence[Waiter]) -> None:
        self._callers.extendleft(reversed(callers))
        self._stirred.set()

    def look_again(self) -> None:
        self._stirred.set()

    async def take(self) -> list[Waiter]:
        while not (taken := self._pick()):
            self._stirred.clear()
            await self._stirred.wait()
        return taken

    def _pick(self) -> list[Waiter]:
        picked: list[Waiter] = []
        passed: list[Waiter] = []
        while self._callers and len(picked) < self._together:
            caller = self._callers.popleft()
            if not caller.outcome.done():
                (picked if self._may_go(caller) else passed).append(caller)
        self._callers.extendleft(reversed(passed))
        return picked
