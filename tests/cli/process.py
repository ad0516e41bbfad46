"""Runs `segue` in its own folder, without the settings of this machine.

`Segue(…)` runs in the test's process, which takes a twentieth of the time; `process` and `running` start real
processes.
"""

import asyncio
import os
import re
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

import httpx2
from typer.testing import CliRunner

from segue.cli.app import app
from tests.docs.pages import ROOT

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
        process = await asyncio.create_subprocess_exec(
            *self.command(*arguments),
            cwd=self.folder,
            env=self.environment(),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
        try:
            async with asyncio.timeout(_TIMEOUT_SECONDS):
                out, err = await process.communicate(text.encode())
        finally:
            if process.returncode is None:
                process.kill()
                await process.wait()
        return Ended(process.returncode or 0, out.decode(), err.decode())

    @asynccontextmanager
    async def running(self, *arguments: str) -> AsyncIterator["Running"]:
        """Start a process; it is killed at the end if it still runs."""
        process = await asyncio.create_subprocess_exec(
            *self.command(*arguments),
            cwd=self.folder,
            env=self.environment(),
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
        running = Running(process)
        reading = asyncio.create_task(running.read_log())
        try:
            yield running
        finally:
            if process.returncode is None:
                process.kill()
            await process.wait()
            await reading
            assert process.stdout is not None
            await process.stdout.read()

    @asynccontextmanager
    async def serving(self, *arguments: str) -> AsyncIterator["Serving"]:
        async with self.running("serve", "--port", "0", *arguments) as running:
            async with asyncio.timeout(_TIMEOUT_SECONDS):
                announced = await running.line()
            found = re.search(r"http://\S+", announced)
            assert found, announced + running.log
            async with httpx2.AsyncClient(base_url=found[0], timeout=_TIMEOUT_SECONDS) as client:
                yield Serving(running, client)


class Running:
    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self._process = process
        self._changed = asyncio.Condition()
        self.log = ""
        """Its standard error so far."""

    async def line(self) -> str:
        assert self._process.stdout is not None
        return (await self._process.stdout.readline()).decode()

    async def read_log(self) -> None:
        assert self._process.stderr is not None
        while line := await self._process.stderr.readline():
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
