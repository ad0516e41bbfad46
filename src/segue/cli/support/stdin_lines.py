"""Standard input as lines for an event loop, read by a daemon thread.

A read of a pipe cannot be interrupted. In a daemon thread it does not keep the process from ending.
"""

import asyncio
import os
import threading
from contextlib import suppress
from typing import Self

_PIECE = 1 << 16


class StdinLines:
    """An asynchronous iterator over the lines, which ends with standard input."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._lines: asyncio.Queue[str | None] = asyncio.Queue()
        threading.Thread(target=self._read, name="stdin", daemon=True).start()

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> str:
        line = await self._lines.get()
        if line is None:
            raise StopAsyncIteration
        return line

    def _read(self) -> None:
        rest = b""
        with suppress(OSError):  # it was closed
            while piece := os.read(0, _PIECE):
                *lines, rest = (rest + piece).split(b"\n")
                for line in lines:
                    self._put(line.decode("utf-8", "replace"))
        if rest:
            self._put(rest.decode("utf-8", "replace"))
        self._put(None)

    def _put(self, line: str | None) -> None:
        with suppress(RuntimeError):  # the loop is closed
            self._loop.call_soon_threadsafe(self._lines.put_nowait, line)
