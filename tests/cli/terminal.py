"""A pseudo terminal with `segue chat` in it: what a person would see and type."""

import asyncio
import fcntl
import os
import pty
import re
import termios
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

import psutil  # type: ignore[import-untyped]

from tests.cli.process import Segue

CTRL_C, CTRL_D = "\x03", "\x04"
_PATIENCE = 60
_COLOURS = re.compile(r"\x1b\[[0-9;?]*[a-zA-Z]")


class Terminal:
    def __init__(self, master: int, process: asyncio.subprocess.Process) -> None:
        self._master = master
        self._process = process
        self._news = asyncio.Event()
        self._seen = ""
        self._read_to = 0
        self._gone = False
        asyncio.get_running_loop().add_reader(master, self._read)

    def type(self, keys: str) -> None:
        os.write(self._master, keys.encode())

    async def see(self, words: str) -> str:
        """Until these words come after what was seen before; what came up to their end."""
        try:
            async with asyncio.timeout(_PATIENCE):
                while (found := self._seen.find(words, self._read_to)) < 0:
                    assert not self._gone, f"it ended before {words!r}: {self._seen!r}"
                    self._news.clear()
                    await self._news.wait()
        except TimeoutError:
            raise AssertionError(f"{words!r} never came, but {self._seen[self._read_to :]!r}") from None
        end = found + len(words)
        seen, self._read_to = self._seen[self._read_to : end], end
        return seen

    async def rests(self) -> None:
        """Until its first thread sleeps: between its prompt and the wait for keys readline loses a signal."""
        program = psutil.Process(self._process.pid)
        async with asyncio.timeout(_PATIENCE):
            while program.status() != psutil.STATUS_SLEEPING:  # noqa: ASYNC110 — only the machine knows
                await asyncio.sleep(0.01)

    async def end(self) -> int:
        async with asyncio.timeout(_PATIENCE):
            return await self._process.wait()

    def _read(self) -> None:
        try:
            text = os.read(self._master, 65536).decode("utf-8", "replace")
        except OSError:  # the other side is closed
            asyncio.get_running_loop().remove_reader(self._master)
            self._gone = True
            self._news.set()
            return
        self._seen += _COLOURS.sub("", text).replace("\r\n", "\n")
        self._news.set()


@asynccontextmanager
async def chatting(segue: Segue, *arguments: str) -> AsyncIterator[Terminal]:
    master, slave = pty.openpty()
    process = await asyncio.create_subprocess_exec(
        *segue.command("chat", *arguments),
        cwd=segue.folder,
        env={**segue.environment(), "TERM": "xterm"},
        stdin=slave,
        stdout=slave,
        stderr=slave,
        start_new_session=True,
        # It becomes the terminal of the new session: only then Ctrl-C is a signal.
        preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),
    )
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
