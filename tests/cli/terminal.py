"""Runs `segue` in a pseudo-terminal: a test types keys and reads the output."""

import asyncio
import os
import pty
import re
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress

import psutil  # type: ignore[import-untyped]

from tests.cli.process import Segue
from tests.eventually import eventually
from tests.forks import Forked

CTRL_C, CTRL_D = "\x03", "\x04"
_TIMEOUT_SECONDS = 60
_COLOURS = re.compile(r"\x1b\[[0-9;?]*[a-zA-Z]")


class Terminal:
    def __init__(self, master: int, process: Forked | asyncio.subprocess.Process) -> None:
        self._master = master
        self._process = process
        self._changed = asyncio.Event()
        self._output = ""
        self._read_to = 0
        self._closed = False
        asyncio.get_running_loop().add_reader(master, self._read)

    def type(self, keys: str) -> None:
        os.write(self._master, keys.encode())

    @property
    def output(self) -> str:
        """All of its output so far, without colours."""
        return self._output

    async def see(self, words: str) -> str:
        """Wait for these words after those seen before. Returns the new output up to their end."""
        try:
            async with asyncio.timeout(_TIMEOUT_SECONDS):
                while (found := self._output.find(words, self._read_to)) < 0:
                    assert not self._closed, f"it ended before {words!r}: {self._output!r}"
                    self._changed.clear()
                    await self._changed.wait()
        except TimeoutError:
            raise AssertionError(f"{words!r} never came, but {self._output[self._read_to :]!r}") from None
        end = found + len(words)
        seen, self._read_to = self._output[self._read_to : end], end
        return seen

    async def rests(self) -> None:
        """Wait until its main thread sleeps: readline loses signals between prompt and wait for keys."""
        program = psutil.Process(self._process.pid)
        await eventually(lambda: program.status() == psutil.STATUS_SLEEPING, "it waits for keys")

    async def end(self) -> int:
        async with asyncio.timeout(_TIMEOUT_SECONDS):
            return await self._process.wait()

    def _read(self) -> None:
        try:
            text = os.read(self._master, 65536).decode("utf-8", "replace")
        except OSError:  # the other side is closed
            asyncio.get_running_loop().remove_reader(self._master)
            self._closed = True
            self._changed.set()
            return
        self._output += _COLOURS.sub("", text).replace("\r\n", "\n")
        self._changed.set()


def chatting(segue: Segue, *arguments: str) -> AbstractAsyncContextManager[Terminal]:
    return at_terminal(segue, "chat", *arguments)


@asynccontextmanager
async def at_terminal(segue: Segue, *arguments: str) -> AsyncIterator[Terminal]:
    master, slave = pty.openpty()
    process = await segue.start(*arguments, streams=(slave, slave, slave), in_terminal=True, TERM="xterm")
    os.close(slave)
    try:
        yield Terminal(master, process)
    finally:
        if process.returncode is None:
            process.kill()
        await process.wait()
        asyncio.get_running_loop().remove_reader(master)
        with suppress(OSError):
            os.close(master)
