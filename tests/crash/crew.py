"""Workers in processes of their own, to be killed, stopped and resumed by a test."""

import asyncio
import os
import signal
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

from segue.kernel.kernel import Kernel
from segue.model.records import Run, Turn
from segue.model.settings import Settings
from tests.crash.journal import Did, Journal
from tests.crash.marked import Point
from tests.crash.worker import house

LONG = os.environ.get("SEGUE_LONG") == "1"

_A_MOMENT = 0.005
_FOR_EVER = 60.0


async def until(what: str, holds: Callable[[], bool]) -> None:
    """Wait for something that happens in another process. There is no bell between us: we look."""
    deadline = time.monotonic() + _FOR_EVER
    while not holds():
        assert time.monotonic() < deadline, f"it never came to this: {what}"
        await asyncio.sleep(_A_MOMENT)


class Worker:
    def __init__(self, process: subprocess.Popen[bytes], journal: Journal) -> None:
        self._process = process
        self._journal = journal
        self.pid = process.pid

    def is_dead(self) -> bool:
        return self._process.poll() is not None

    async def death(self) -> int:
        """Its exit code; negative when it was killed."""
        await until(f"worker {self.pid} ends", self.is_dead)
        code: int = self._process.returncode
        return code

    async def kill(self) -> None:
        self._process.send_signal(signal.SIGKILL)
        await self.death()
        self._journal.write(Did.DIED, pid=self.pid)

    def resume(self) -> None:
        self._journal.write(Did.RESUMED, pid=self.pid)
        self._process.send_signal(signal.SIGCONT)

    @property
    def complaint(self) -> str:
        assert self._process.stderr is not None  # it is a pipe
        return self._process.stderr.read().decode()

    def end(self) -> None:
        if not self.is_dead():
            self._process.kill()
            self._process.wait()
        if self._process.stderr:
            self._process.stderr.close()


class Crew:
    """The workers of one test, on one database, with one journal."""

    def __init__(self, url: str, folder: Path, lease: float) -> None:
        self.url = url
        self.journal = Journal(folder / "journal")
        self.lease = lease
        self._folder = folder
        self._workers: list[Worker] = []
        self._gates = 0

    def start(
        self,
        *,
        point: Point | None = None,
        user_runners: int = 1,
        runners: int = 1,
        opens: Path | None = None,
        go: Path | None = None,
        listen: bool = False,
    ) -> Worker:
        """Start a process. With `listen`, what it complains about can be read when it has ended."""
        command = [sys.executable, "-m", "tests.crash.worker", self.url]
        command += ["--parent", str(os.getpid()), "--journal", str(self.journal.path)]
        command += ["--lease", str(self.lease), "--runners", str(runners)]
        command += ["--user-runners", str(user_runners)]
        command += ["--point", point] if point else []
        command += ["--open", str(opens)] if opens else []
        command += ["--go", str(go)] if go else []
        heard = subprocess.PIPE if listen else subprocess.DEVNULL
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stderr=heard)
        worker = Worker(process, self.journal)
        self._workers.append(worker)
        return worker

    def gate(self) -> Path:
        """A file that is not there yet."""
        self._gates += 1
        return self._folder / f"gate {self._gates}"

    async def ready(self, *workers: Worker) -> None:
        """Until they have opened the database."""
        pids = {worker.pid for worker in workers}

        def all_are() -> bool:
            assert not any(worker.is_dead() for worker in workers), "a worker ended before it was ready"
            return pids <= {entry.pid for entry in self.journal.entries(Did.READY)}

        await until("workers are ready", all_are)

    @asynccontextmanager
    async def heir(self, name: str = "heir") -> AsyncIterator[Kernel]:
        """A kernel in this process, which takes over when somebody lets it run."""
        settings = Settings(lease_seconds=self.lease, shutdown_grace_seconds=0)
        async with house(self.url, self.journal, settings, name=name) as kernel:
            yield kernel

    def end(self) -> None:
        for worker in self._workers:
            worker.end()


async def over(kernel: Kernel, turn_id: str, *, unless: Callable[[], bool] = lambda: False) -> Turn:
    """The turn when it has ended, or as it is when the other thing has happened.

    Its workers are in other processes, and this one does not watch: it looks.
    """
    deadline = time.monotonic() + _FOR_EVER
    while (turn := await kernel.turn(turn_id)).outcome is None and not unless():
        assert time.monotonic() < deadline, f"turn {turn_id} never ended"
        await asyncio.sleep(_A_MOMENT)
    return turn


async def first_run(kernel: Kernel, job_id: str) -> Run:
    """The run of a job's first slot, when there is one."""
    deadline = time.monotonic() + _FOR_EVER
    while not (runs := await kernel.runs_of(job_id)):
        assert time.monotonic() < deadline, f"job {job_id} never ran"
        await asyncio.sleep(_A_MOMENT)
    return runs[-1]


@asynccontextmanager
async def crew(url: str, folder: Path, *, lease: float = 1.0) -> AsyncIterator[Crew]:
    made = Crew(url, folder, lease)
    try:
        yield made
    finally:
        made.end()


@asynccontextmanager
async def running(kernel: Kernel) -> AsyncIterator[None]:
    """While inside, its workers are at work."""
    task = asyncio.create_task(kernel.run())
    try:
        yield
    finally:
        task.cancel()
        await asyncio.wait([task])
