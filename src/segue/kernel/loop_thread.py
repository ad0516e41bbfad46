"""Loop thread: an event loop in a thread, for callers that are not async."""

import asyncio
import os
import threading
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Coroutine, Iterator
from concurrent.futures import Future
from typing import Any, TypeVar

from segue.errors import NotOpen, WouldDeadlock

T = TypeVar("T")


class LoopThread:
    def __init__(self, name: str) -> None:
        self._name = name
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
        # A daemon, so that a program that forgets to close its kernel can end.
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
            raise NotOpen("this kernel was closed during the call") from None

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
            raise NotOpen("this kernel is not open: use `with kernel`, or `kernel.start()`")
        if self._process != os.getpid():
            raise NotOpen(
                f"this kernel was opened in process {self._process}, before a fork; open it in this process"
            )
        if self._thread is threading.current_thread():
            raise WouldDeadlock(
                "a blocking kernel was called by code of its own event loop, such as its agent, and would "
                "wait for itself; call it from another thread with `asyncio.to_thread`"
            )
        return self._loop.result()

    def _serve(self) -> None:
        with asyncio.Runner() as runner:
            runner.run(self._until_stopped())

    async def _until_stopped(self) -> None:
        self._loop.set_result(asyncio.get_running_loop())
        await self._stop.wait()
