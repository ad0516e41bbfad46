"""Loop thread: an event loop in a thread, and methods that wait for async ones, for callers that block."""

import asyncio
import functools
import os
import threading
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Coroutine, Iterator
from concurrent.futures import Future
from typing import Any, Concatenate, Generic, ParamSpec, Self, TypeVar, overload

from segue.errors import NotOpen, WouldDeadlock

A = TypeVar("A")
T = TypeVar("T")
S = TypeVar("S")
P = ParamSpec("P")


class LoopThread:
    def __init__(
        self, name: str, owner: str = "kernel", how_to_open: str = "use `with kernel`, or `kernel.start()`"
    ) -> None:
        self._name = name
        self._owner = owner
        """What it belongs to, for its errors."""
        self._how_to_open = how_to_open
        self._thread: threading.Thread | None = None
        self._process = 0
        self._loop: Future[asyncio.AbstractEventLoop] = Future()
        self._stop = asyncio.Event()

    @property
    def is_running(self) -> bool:
        return self._thread is not None

    def start(self) -> None:
        """Start the thread; nothing if it runs."""
        if self._thread is not None:
            return
        self._loop, self._stop = Future(), asyncio.Event()
        self._process = os.getpid()
        # A daemon, so that a program that forgets to close it can end.
        self._thread = threading.Thread(target=self._serve, name=f"segue {self._name}", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Cancel what still runs in the loop, and wait for the end of the thread."""
        thread, self._thread = self._thread, None
        if thread is not None and self._process == os.getpid():
            self._loop.result().call_soon_threadsafe(self._stop.set)
            thread.join()

    def run(self, begin: Callable[[], Coroutine[Any, Any, T]]) -> T:
        """Run a coroutine in the loop and return its result.

        An interrupt of the caller cancels the coroutine and waits for its end. Raises `NotOpen` if the loop
        does not run in this process, `WouldDeadlock` if the caller runs in the loop itself.
        """
        loop = self._running_loop()
        started: Future[asyncio.Task[T]] = Future()
        ended = threading.Event()

        async def work() -> T:
            return await begin()

        def start() -> None:
            task = loop.create_task(work())
            task.add_done_callback(lambda _: ended.set())
            started.set_result(task)

        loop.call_soon_threadsafe(start)
        try:
            ended.wait()
        except BaseException:
            loop.call_soon_threadsafe(started.result().cancel)
            ended.wait()
            raise
        try:
            return started.result().result()
        except asyncio.CancelledError:
            raise NotOpen(f"this {self._owner} was closed during the call") from None

    def iterate(self, iterator: AsyncIterator[T]) -> Iterator[T]:
        """Iterate over an async iterator in the loop. When the caller stops iterating, it is closed."""

        async def following() -> T:
            return await anext(iterator)

        try:
            while True:
                try:
                    item = self.run(following)
                except StopAsyncIteration:
                    return
                yield item
        finally:
            if self.is_running and isinstance(iterator, AsyncGenerator):
                self.run(iterator.aclose)

    def _running_loop(self) -> asyncio.AbstractEventLoop:
        if self._thread is None:
            raise NotOpen(f"this {self._owner} is not open: {self._how_to_open}")
        if self._process != os.getpid():
            raise NotOpen(
                f"this {self._owner} was opened in process {self._process}, before a fork; open it in this "
                "process"
            )
        if self._thread is threading.current_thread():
            raise WouldDeadlock(
                f"a blocking {self._owner} was called by code of its own event loop, such as its agent, and "
                "would wait for itself; call it from another thread with `asyncio.to_thread`"
            )
        return self._loop.result()

    def _serve(self) -> None:
        with asyncio.Runner() as runner:
            runner.run(self._until_stopped())

    async def _until_stopped(self) -> None:
        self._loop.set_result(asyncio.get_running_loop())
        await self._stop.wait()


class BlockingPart(Generic[A]):
    """A blocking view of an object of the async API, found when it is used."""

    def __init__(self, loop: LoopThread, find: Callable[[], A]) -> None:
        self._loop = loop
        self._find = find


class BlockingCall(Generic[A, P, T]):
    """A method that waits for an async method."""

    def __init__(self, method: Callable[Concatenate[A, P], Coroutine[Any, Any, T]]) -> None:
        self._method = method

    @overload
    def __get__(self, part: None, kind: object) -> Self: ...
    @overload
    def __get__(self, part: BlockingPart[A], kind: object) -> Callable[P, T]: ...
    def __get__(self, part: BlockingPart[A] | None, kind: object) -> Self | Callable[P, T]:
        if part is None:
            return self

        @functools.wraps(self._method)
        def call(*args: P.args, **kwargs: P.kwargs) -> T:
            return part._loop.run(lambda: self._method(part._find(), *args, **kwargs))

        return call


class BlockingStream(Generic[A, P, T]):
    """A method that iterates over an async iterator."""

    def __init__(self, method: Callable[Concatenate[A, P], AsyncIterator[T]]) -> None:
        self._method = method

    @overload
    def __get__(self, part: None, kind: object) -> Self: ...
    @overload
    def __get__(self, part: BlockingPart[A], kind: object) -> Callable[P, Iterator[T]]: ...
    def __get__(self, part: BlockingPart[A] | None, kind: object) -> Self | Callable[P, Iterator[T]]:
        if part is None:
            return self

        @functools.wraps(self._method)
        def call(*args: P.args, **kwargs: P.kwargs) -> Iterator[T]:
            return part._loop.iterate(self._method(part._find(), *args, **kwargs))

        return call


def made_like(
    make: Callable[P, A],
) -> Callable[[Callable[[S, A], None]], Callable[Concatenate[S, P], None]]:
    """Gives an `__init__` that takes a made object the parameters with which that object is made."""

    def decorate(init: Callable[[S, A], None]) -> Callable[Concatenate[S, P], None]:
        def made(self: S, /, *args: P.args, **kwargs: P.kwargs) -> None:
            init(self, make(*args, **kwargs))

        return made

    return decorate
