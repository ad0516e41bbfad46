"""A deterministic event loop: the seed decides everything.

Time is simulated: it stands still while anything can run, and jumps to the next timer when nothing can.
Of the callbacks that are ready, the seed picks the next one, so each seed is another interleaving.

Callbacks belong to hosts, the simulated processes. A host can be frozen and thawed (SIGSTOP, SIGCONT) and
killed (SIGKILL) between any two of its callbacks; none of its code runs to clean up.

Invariants
  - no thread, no socket, no clock of the machine
  - the same seed gives the same order of callbacks, whatever ran before it in this process
"""

import asyncio
import contextvars
import heapq
import math
import random
import sys
from collections.abc import AsyncGenerator, Callable, Coroutine, Generator
from contextlib import contextmanager
from enum import Enum
from itertools import count
from typing import Any, TypeVar

T = TypeVar("T")

_HOST: contextvars.ContextVar["Host | None"] = contextvars.ContextVar("host", default=None)


class Stuck(AssertionError):
    """Nothing can run and no timer is set, or something runs without end."""


class Fate(Enum):
    ALIVE = "alive"
    FROZEN = "frozen"
    KILLED = "killed"


class Host:
    """A simulated process: whatever is started in its context lives and dies with it."""

    def __init__(self, loop: "SimulatedLoop", name: str) -> None:
        self.name = name
        self.fate = Fate.ALIVE
        self.buried = False
        """Its tasks are being unwound after the scenario; whatever they still ask for is refused."""
        self.parked: list[Call] = []
        """What a frozen host has yet to do, and a killed one never will."""
        self.tasks: list[asyncio.Task[Any]] = []
        self.context = contextvars.copy_context()
        self.context.run(_HOST.set, self)
        self._loop = loop

    def start(self, work: Coroutine[Any, Any, T]) -> asyncio.Task[T]:
        return self._loop.create_task(work, context=self.context)

    def freeze(self) -> None:
        self.fate = Fate.FROZEN

    def thaw(self) -> None:
        self.fate = Fate.ALIVE
        self._loop.make_ready(self.parked)
        self.parked = []

    def kill(self) -> None:
        self.fate = Fate.KILLED


def _own(context: contextvars.Context | None) -> contextvars.Context:
    return contextvars.copy_context() if context is None else context  # an empty one is false


class Call:
    """A callback that waits to be run."""

    __slots__ = ("args", "callback", "context", "dropped", "host", "when")

    def __init__(
        self,
        callback: Callable[..., object],
        args: tuple[Any, ...],
        context: contextvars.Context,
        when: float,
    ) -> None:
        self.callback = callback
        self.args = args
        self.context = context
        self.host = context.get(_HOST)
        self.when = when
        self.dropped = False

    def cancel(self) -> None:
        self.dropped = True

    def cancelled(self) -> bool:
        return self.dropped


class NumberedTask(asyncio.Task[T]):
    """Hashed by its number: a set of tasks has the same order in every run, which addresses do not give."""

    def __init__(self, work: Generator[Any, None, T], *, number: int, **named: Any) -> None:
        self.number = number
        super().__init__(work, **named)

    def __hash__(self) -> int:
        return self.number

    def __eq__(self, other: object) -> bool:
        return self is other


class SimulatedLoop(asyncio.AbstractEventLoop):
    def __init__(self, rng: random.Random, *, most_steps: int = 100_000) -> None:
        self._rng = rng
        self._most_steps = most_steps
        self._now = 0.0
        self._ready: list[Call] = []
        self._timers: list[tuple[float, int, Call]] = []
        self._numbers = count(1)
        self._closed = False
        self.steps = 0

    # What asyncio asks of a loop

    def time(self) -> float:
        return self._now

    def call_soon(  # type: ignore[override]
        self, callback: Callable[..., object], *args: Any, context: contextvars.Context | None = None
    ) -> Call:
        call = Call(callback, args, _own(context), self._now)
        self._ready.append(call)
        return call

    def call_at(  # type: ignore[override]
        self,
        when: float,
        callback: Callable[..., object],
        *args: Any,
        context: contextvars.Context | None = None,
    ) -> Call:
        call = Call(callback, args, _own(context), when)
        heapq.heappush(self._timers, (when, next(self._numbers), call))
        return call

    def call_later(  # type: ignore[override]
        self,
        delay: float,
        callback: Callable[..., object],
        *args: Any,
        context: contextvars.Context | None = None,
    ) -> Call:
        return self.call_at(self._now + delay, callback, *args, context=context)

    def create_future(self) -> asyncio.Future[Any]:
        return asyncio.Future(loop=self)

    def create_task(
        self,
        coro: Any,
        *,
        name: str | None = None,
        context: contextvars.Context | None = None,
    ) -> asyncio.Task[Any]:
        context = _own(context)
        task = NumberedTask(coro, number=next(self._numbers), loop=self, name=name, context=context)
        if host := context.get(_HOST):
            host.tasks.append(task)
        return task

    def get_debug(self) -> bool:
        return False

    def is_running(self) -> bool:
        return True

    def is_closed(self) -> bool:
        return self._closed

    def call_exception_handler(self, context: dict[str, Any]) -> None:
        """Ignore errors of tasks that were not awaited. The scenario watches those that must not fail."""

    # What a scenario needs

    def run(self, main: Coroutine[Any, Any, T]) -> T:
        with self._in_charge():
            task = self.create_task(main)
            while not task.done():
                self._step()
            return task.result()  # type: ignore[no-any-return]

    def bury(self, hosts: list[Host]) -> None:
        """Unwind the tasks of killed hosts, so that they log nothing when they are collected."""
        with self._in_charge():
            for host in hosts:
                host.buried = True
                host.thaw()
            for _ in range(20):
                left = [task for host in hosts for task in host.tasks if not task.done()]
                if not left:
                    break
                for task in left:
                    task.cancel()
                self._drain()
            self._closed = True

    def make_ready(self, calls: list[Call]) -> None:
        self._ready += calls

    def _drain(self) -> None:
        deadline = self._now + 60
        while self._wake_the_due(deadline):
            self._run_one()

    def _step(self) -> None:
        self.steps += 1
        if self.steps > self._most_steps:
            raise Stuck(f"no rest after {self._most_steps:,} steps")
        if not self._wake_the_due(math.inf):
            raise Stuck("every task waits, and no timer is set")
        self._run_one()

    def _wake_the_due(self, deadline: float) -> bool:
        """Whether anything is ready; if not, time goes on to the next timer, but not beyond the deadline."""
        timers = self._timers
        if not self._ready:
            while timers and timers[0][2].dropped:
                heapq.heappop(timers)
            if not timers or timers[0][0] > deadline:
                return False
            self._now = max(self._now, timers[0][0])
        while timers and timers[0][0] <= self._now:
            self._ready.append(heapq.heappop(timers)[2])
        return True

    def _run_one(self) -> None:
        ready = self._ready
        place = int(self._rng.random() * len(ready))
        call = ready[place]
        ready[place] = ready[-1]
        ready.pop()
        if call.dropped:
            return
        host = call.host
        if host is None or host.fate is Fate.ALIVE:
            call.context.run(call.callback, *call.args)
        else:
            host.parked.append(call)

    @contextmanager
    def _in_charge(self) -> Generator[None, None, None]:
        hooks = sys.get_asyncgen_hooks()
        sys.set_asyncgen_hooks(firstiter=None, finalizer=self._finish)
        asyncio._set_running_loop(self)
        try:
            yield
        finally:
            asyncio._set_running_loop(None)
            sys.set_asyncgen_hooks(*hooks)

    def _finish(self, generator: AsyncGenerator[Any, Any]) -> None:
        """A generator that was left half-way: closed by a task, as every loop does."""
        if not self._closed:
            self.create_task(generator.aclose())
