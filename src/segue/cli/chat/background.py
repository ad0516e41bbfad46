"""Runs a kernel in a background thread, so that the main thread can read from the terminal.

Python raises KeyboardInterrupt only in the main thread, and line editing needs it too. The two threads
communicate only through the methods below.
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
    """Runs while it is open. On exit, running turns have the grace period to end."""

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
            with suppress(RuntimeError):  # its loop was just closed
                self._loop.call_soon_threadsafe(self._signals.on_signal)
            with suppress(KeyboardInterrupt):  # Ctrl-C again: the loop sends the second signal
                self._thread.join()

    def start(self, work: Coroutine[Any, Any, T]) -> "Future[T]":
        return asyncio.run_coroutine_threadsafe(work, self._loop)

    def call(self, work: Coroutine[Any, Any, T]) -> T:
        return self.start(work).result()

    def _run(self) -> None:
        try:
            asyncio.run(self._run_kernel())
        except BaseException as error:
            if self._opened.done():
                raise
            self._opened.set_exception(error)

    async def _run_kernel(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._signals = StopSignals()
        async with kernel_with_workers(self._configuration) as self.kernel:
            self._opened.set_result(None)
            if await work_until_stopped(self.kernel, self._signals) is not None:
                # The next call from the terminal raises the reason.
                await self._signals.stop_requested.wait()
