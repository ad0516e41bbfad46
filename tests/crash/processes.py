"""Worker processes that a test starts, kills, stops and resumes."""

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from types import MappingProxyType

from segue.kernel.kernel import Kernel
from segue.model.records import Run, Turn
from segue.model.settings import Settings
from tests.crash.journal import Did, Journal
from tests.crash.kill_switch import Point
from tests.crash.worker import open_kernel, run_forked
from tests.eventually import eventually
from tests.forks import FORKS
from tests.machines import Machine

LONG = os.environ.get("SEGUE_LONG") == "1"


class Forked:
    """A forked process, with the methods that a worker needs of a started one."""

    stderr = None

    def __init__(self, arguments: Sequence[str]) -> None:
        self._process = FORKS.Process(target=run_forked, args=(arguments,))
        self._process.start()
        assert self._process.pid is not None  # it was started
        self.pid = self._process.pid

    @property
    def returncode(self) -> int | None:
        return self._process.exitcode

    def poll(self) -> int | None:
        return self._process.exitcode

    def send_signal(self, number: int) -> None:
        if self.poll() is None:
            os.kill(self.pid, number)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)

    def wait(self) -> None:
        self._process.join()


class Worker:
    def __init__(self, process: subprocess.Popen[bytes] | Forked, journal: Journal) -> None:
        self._process = process
        self._journal = journal
        self.pid = process.pid

    def has_ended(self) -> bool:
        return self._process.poll() is not None

    async def death(self) -> int:
        """Its exit code; negative when it was killed."""
        await eventually(self.has_ended, f"worker {self.pid} ends")
        code = self._process.returncode
        assert code is not None  # it has ended
        return code

    async def kill(self) -> None:
        self._process.send_signal(signal.SIGKILL)
        await self.death()
        self._journal.write(Did.DIED, pid=self.pid)

    def stop(self) -> None:
        self._process.send_signal(signal.SIGSTOP)
        self._journal.write(Did.STOPPED, pid=self.pid)

    def resume(self) -> None:
        self._journal.write(Did.RESUMED, pid=self.pid)
        self._process.send_signal(signal.SIGCONT)

    @property
    def complaint(self) -> str:
        assert self._process.stderr is not None  # it is a pipe
        return self._process.stderr.read().decode()

    def end(self) -> None:
        if not self.has_ended():
            self._process.kill()
            self._process.wait()
        if self._process.stderr:
            self._process.stderr.close()


class Processes:
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
        max_running_turns: int = 0,
        kernels: int = 1,
        account_runs: int = 0,
        max_running_default: int = 0,
        opens: Path | None = None,
        go: Path | None = None,
        listen: bool = False,
        source: Path | None = None,
        machine: Machine | None = None,
        env: Mapping[str, str] = MappingProxyType({}),
    ) -> Worker:
        """Start a process: a forked one, unless one of the last four is given. With `listen`, what it
        complains about can be read when it has ended. `source`: a checkout of another version, whose worker
        is started. `machine`: where it runs. `env`: what its environment has besides that of the test."""
        command = [self.url, "--journal", str(self.journal.path)]
        command += ["--lease", str(self.lease), "--runners", str(runners)]
        command += ["--user-runners", str(user_runners)]
        command += ["--max-running-turns", str(max_running_turns)] if max_running_turns else []
        command += ["--kernels", str(kernels)] if kernels != 1 else []
        command += ["--account-runs", str(account_runs)] if account_runs else []
        command += ["--max-running-default", str(max_running_default)] if max_running_default else []
        command += ["--point", point] if point else []
        command += ["--open", str(opens)] if opens else []
        command += ["--go", str(go)] if go else []
        process: subprocess.Popen[bytes] | Forked
        if listen or source or machine or env:
            inherited = os.environ if source is None else {**os.environ, "PYTHONPATH": str(source / "src")}
            process = subprocess.Popen(
                [
                    *(machine.prefix if machine else ()),
                    *(sys.executable, "-m", "tests.crash.worker", *command, "--parent", str(os.getpid())),
                ],
                stdin=subprocess.DEVNULL,
                stderr=subprocess.PIPE if listen else subprocess.DEVNULL,
                cwd=source,
                env={**inherited, **env},
            )
        else:
            process = Forked(command)
        worker = Worker(process, self.journal)
        self._workers.append(worker)
        return worker

    def gate(self) -> Path:
        """A file that is not there yet."""
        self._gates += 1
        return self._folder / f"gate {self._gates}"

    async def ready(self, *workers: Worker) -> None:
        """Wait until they have opened the database."""
        pids = {worker.pid for worker in workers}

        def all_are() -> bool:
            assert not any(worker.has_ended() for worker in workers), "a worker ended before it was ready"
            return pids <= {entry.pid for entry in self.journal.entries(Did.READY)}

        await eventually(all_are, "workers are ready")

    @asynccontextmanager
    async def successor(
        self, name: str = "successor", *, unified_session: bool = False, url: str | None = None
    ) -> AsyncIterator[Kernel]:
        """A kernel in this process, which takes over when the test runs it. `url`: another way to the same
        database than that of the workers."""
        settings = Settings(
            lease_seconds=self.lease, shutdown_grace_seconds=0, unified_session=unified_session
        )
        async with open_kernel(url or self.url, self.journal, settings, name=name) as kernel:
            yield kernel

    def end(self) -> None:
        for worker in self._workers:
            worker.end()


async def over(kernel: Kernel, turn_id: str, *, unless: Callable[[], bool] = lambda: False) -> Turn:
    """Poll until the turn has ended, or `unless` holds. Its workers are in other processes."""

    async def ended() -> Turn | None:
        turn = await kernel.turns.get(turn_id)
        return turn if turn.outcome is not None or unless() else None

    turn = await eventually(ended, f"turn {turn_id} ends")
    assert turn is not None
    return turn


async def first_run(kernel: Kernel, job_id: str) -> Run:
    """The run of a job's first slot, when there is one."""
    return (await eventually(lambda: kernel.runs.list(job=job_id), f"job {job_id} runs"))[-1]


@asynccontextmanager
async def processes(url: str, folder: Path, *, lease: float = 1.0) -> AsyncIterator[Processes]:
    made = Processes(url, folder, lease)
    try:
        yield made
    finally:
        made.end()


@asynccontextmanager
async def running(kernel: Kernel) -> AsyncIterator[None]:
    """The body runs while the kernel's workers run."""
    task = asyncio.create_task(kernel.run())
    try:
        yield
    finally:
        task.cancel()
        await asyncio.wait([task])
