"""Runs `segue` in its own folder, without the settings of this machine.

`Segue(…)` runs in the test's process, which takes a twentieth of the time; `process` and `running` start a
process of its own. It is forked from one that has imported Segue (`tests/forks.py`), which takes a fifth of
the time of a start; with `forked=False` it is started as users start it.
"""

import asyncio
import fcntl
import os
import re
import signal
import sys
import termios
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, closing
from dataclasses import dataclass, field
from io import FileIO
from pathlib import Path

import httpx2
from typer.testing import CliRunner

from segue.cli.app import app
from tests.docs.pages import ROOT
from tests.forks import Forked, start_program

_TIMEOUT_SECONDS = 60
"""Reached only if something hangs."""


@dataclass(frozen=True, slots=True)
class Ended:
    code: int
    out: str
    err: str


@dataclass
class Segue:
    """The `segue` command with its working folder and data in `folder`."""

    folder: Path
    env: dict[str, str] = field(default_factory=dict)
    module: str = "segue.cli.main"
    forked: bool = True
    before: Callable[[], None] | None = None
    """Called in a forked process first."""

    @property
    def data(self) -> Path:
        return self.folder / "data"

    @property
    def database(self) -> str:
        return f"sqlite:///{self.data}/segue.db"

    def environment(self) -> dict[str, str]:
        ours = {name: value for name, value in os.environ.items() if not name.startswith("SEGUE_")}
        return {
            **ours,
            "HOME": str(self.folder),
            "SEGUE_DATA": str(self.data),
            "SEGUE_TIMEZONE": "Europe/Berlin",
            "PYTHONPATH": str(ROOT),
            **self.env,
        }

    def command(self, *arguments: str) -> list[str]:
        return [sys.executable, "-m", self.module, *arguments]

    async def __call__(self, *arguments: str, text: str = "") -> Ended:
        """Run a command to its end in this process. The working folder must be `folder`."""
        env: dict[str, str | None] = dict.fromkeys(os.environ.keys() - self.environment().keys())
        result = await asyncio.to_thread(
            CliRunner().invoke, app, arguments, input=text, env={**env, **self.environment()}
        )
        if result.exception is not None and not isinstance(result.exception, SystemExit):
            raise result.exception
        return Ended(result.exit_code, result.stdout, result.stderr)

    async def process(self, *arguments: str, text: str = "") -> Ended:
        """Run a command to its end in its own process."""
        async with self.running(*arguments, text=text) as process:
            async with asyncio.timeout(_TIMEOUT_SECONDS):
                out = await process.rest()
            code = await process.end()
        return Ended(code, out, process.log)

    @asynccontextmanager
    async def running(self, *arguments: str, text: str = "") -> AsyncIterator["Running"]:
        """Start a process; it is killed at the end if it still runs."""
        with closing(Pipes(text)) as pipes:
            process = await self.start(*arguments, streams=pipes.inner)
            pipes.close_inner()
            running = Running(process, await pipes.reader(1))
            reading = asyncio.create_task(running.read_log(await pipes.reader(2)))
            try:
                yield running
            finally:
                if process.returncode is None:
                    process.kill()
                await process.wait()
                await running.rest()
                await reading

    async def start(
        self, *arguments: str, streams: tuple[int, int, int], in_terminal: bool = False, **env: str
    ) -> "Forked | asyncio.subprocess.Process":
        """Start a process with these standard streams."""
        env = {**self.environment(), **env}
        if self.forked:
            return await start_program(
                self.module,
                list(arguments),
                folder=self.folder,
                environment=env,
                streams=streams,
                in_terminal=in_terminal,
                before=self.before,
            )
        stdin, stdout, stderr = streams
        return await asyncio.create_subprocess_exec(
            *self.command(*arguments),
            cwd=self.folder,
            env=env,
            stdin=stdin,
            stdout=stdout,
            stderr=stderr,
            start_new_session=in_terminal,
            # Makes it the controlling terminal: only then Ctrl-C sends a signal.
            preexec_fn=(lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0)) if in_terminal else None,
        )

    @asynccontextmanager
    async def serving(self, *arguments: str) -> AsyncIterator["Serving"]:
        async with self.running("serve", "--port", "0", *arguments) as running:
            async with asyncio.timeout(_TIMEOUT_SECONDS):
                announced = await running.line()
            found = re.search(r"http://\S+", announced)
            assert found, announced + running.log
            async with httpx2.AsyncClient(base_url=found[0], timeout=_TIMEOUT_SECONDS) as client:
                yield Serving(running, client)


class Pipes:
    """The standard streams of a process: a text to read, and two pipes to write to."""

    def __init__(self, text: str = "") -> None:
        assert len(text) < 10_000, "more may not fit into a pipe before it is read"
        stdin, writer = os.pipe()
        with open(writer, "wb") as given:
            given.write(text.encode())
        out, err = os.pipe(), os.pipe()
        self.inner = (stdin, out[1], err[1])
        self._outer = {1: out[0], 2: err[0]}
        self._transports: list[asyncio.ReadTransport] = []

    async def reader(self, number: int) -> asyncio.StreamReader:
        reader = asyncio.StreamReader()
        transport, _ = await asyncio.get_running_loop().connect_read_pipe(
            lambda: asyncio.StreamReaderProtocol(reader), FileIO(self._outer.pop(number))
        )
        self._transports.append(transport)
        return reader

    def close_inner(self) -> None:
        for stream in self.inner:
            os.close(stream)

    def close(self) -> None:
        for transport in self._transports:
            transport.close()
        for stream in self._outer.values():
            os.close(stream)


class Running:
    def __init__(self, process: "Forked | asyncio.subprocess.Process", out: asyncio.StreamReader) -> None:
        self._process = process
        self._out = out
        self._changed = asyncio.Condition()
        self.log = ""
        """Its standard error so far."""

    async def line(self) -> str:
        return (await self._out.readline()).decode()

    async def rest(self) -> str:
        """Its output to the end."""
        return (await self._out.read()).decode()

    async def read_log(self, err: asyncio.StreamReader) -> None:
        while line := await err.readline():
            async with self._changed:
                self.log += line.decode()
                self._changed.notify_all()

    async def logged(self, words: str) -> None:
        """Wait until its log contains these words."""
        async with asyncio.timeout(_TIMEOUT_SECONDS), self._changed:
            await self._changed.wait_for(lambda: words in self.log)

    def tell(self, which: signal.Signals) -> None:
        self._process.send_signal(which)

    async def end(self) -> int:
        """Wait for its end and return the exit code; -9 if it was killed."""
        async with asyncio.timeout(_TIMEOUT_SECONDS):
            return await self._process.wait()


@dataclass(frozen=True, slots=True)
class Serving:
    process: Running
    client: httpx2.AsyncClient
