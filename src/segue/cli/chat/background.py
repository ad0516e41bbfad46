"""A kernel at work in a thread of its own, so that the main thread can belong to the terminal.

The main thread is where Python raises KeyboardInterrupt, and where a line can be edited. Nothing but the
calls below crosses between the two.
"""

import asyncio
import threading
from collections.abc import Coroutine
from concurrent.futures import Future
from contextlib import suppress
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self, TypeVar

from segue.cli.support.open_kernel import kernel_with_workers
from segue.cli.support.signals import StopSignals, work_until_stopped
from segue.kernel.kernel import Kernel

if TYPE_CHECKING:
    from segue.config import Configuration

T = TypeVar("T")


class Background:
    """Opened, it works; closed, it sees its turns through within the grace."""

    kernel: Kernel

    def __init__(self, configuration: "Configuration") -> None:
        self._configuration = configuration
        self._opened: Future[None] = Future()
        self._thread = threading.Thread(target=self._run, name="segue", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        self._opened.result()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        while self._thread.is_alive():
            with suppress(RuntimeError):  # its loop has just been closed
                self._loop.call_soon_threadsafe(self._told.tell)
            with suppress(KeyboardInterrupt):  # told twice, it hurries
                self._thread.join()

    def start(self, work: Coroutine[Any, Any, T]) -> "Future[T]":
        return asyncio.run_coroutine_threadsafe(work, self._loop)

    def call(self, work: Coroutine[Any, Any, T]) -> T:
        return self.start(work).result()

    def _run(self) -> None:
        try:
            asyncio.run(self._live())
        except BaseException as error:
            if self._opened.done():
                raise
            self._opened.set_exception(error)

    async def _live(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._told = StopSignals()
        async with kernel_with_workers(self._configuration) as self.kernel:
            self._opened.set_result(None)
            if await work_until_stopped(self.kernel, self._told) is not None:
                # The next call of the terminal says why.
                await self._told.to_stop.wait()
