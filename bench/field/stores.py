"""Where the peers keep their state: each measurement has an empty store of its own.

PostgreSQL, SQLite and files are durable as in production (`fsync` on). Redis runs with its append-only file,
which it flushes every second. Temporal's server is the one of its command line, on a file.
"""

import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil  # type: ignore[import-untyped]

from bench.environment import Environment
from bench.field.peer import CannotRun, Peer

START_SECONDS = 30.0


@dataclass(frozen=True, slots=True)
class Store:
    url: str
    record: Path
    """An empty path for the record of turns."""
    servers: tuple[int, ...] = ()
    """The processes of its server."""


@contextmanager
def empty_store(env: Environment, peer: Peer) -> Iterator[Store]:
    with tempfile.TemporaryDirectory(prefix="segue-field-", ignore_cleanup_errors=True) as name:
        folder = Path(name)
        record = folder / "turns"
        match peer.store:
            case "postgresql":
                with env.database() as url:
                    yield Store(url, record, (env.server_process,))
            case "redis":
                with _redis(folder) as (url, process):
                    yield Store(url, record, (process,))
            case "temporal":
                with _temporal(folder, peer) as (url, process):
                    yield Store(url, record, (process,))
            case "sqlite":
                yield Store(f"sqlite:///{folder}/store.db", record)
            case _:
                yield Store(str(folder), record)


def processor_seconds(*processes: int) -> float:
    """The processor time that processes have used, with those that they started."""
    return sum(_used(one) for process in processes for one in family(process))


def _used(process: Any) -> float:
    """With the children that ended; nothing for a process that just did, because its parent counts it."""
    with suppress(psutil.NoSuchProcess):
        return float(sum(process.cpu_times()[:4]))
    return 0.0


def family(process: int) -> list[Any]:
    itself = psutil.Process(process)
    return [itself, *itself.children(recursive=True)]


@contextmanager
def _redis(folder: Path) -> Iterator[tuple[str, int]]:
    program = shutil.which("redis-server")
    if program is None:
        raise CannotRun("redis-server is not installed (`apt-get install redis-server`)")
    port = _free_port()
    options = f"--port {port} --bind 127.0.0.1 --dir {folder} --appendonly yes --save".split()
    with _server([program, *options, ""], folder, port) as process:
        yield f"redis://127.0.0.1:{port}/0", process


@contextmanager
def _temporal(folder: Path, peer: Peer) -> Iterator[tuple[str, int]]:
    port = _free_port()
    program = peer.python.parent / "temporal"
    options = f"server start-dev --headless --ip 127.0.0.1 --port {port} --log-level error"
    file = ["--db-filename", str(folder / "temporal.db")]
    with _server([str(program), *options.split(), *file], folder, port) as process:
        yield f"127.0.0.1:{port}", process


@contextmanager
def _server(command: list[str], folder: Path, port: int) -> Iterator[int]:
    with (folder / "server.log").open("wb") as log:
        server = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, cwd=folder)
    try:
        _wait_for(port)
        yield server.pid
    finally:
        server.kill()
        server.wait()


def _wait_for(port: int) -> None:
    deadline = time.monotonic() + START_SECONDS
    while True:
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
            return
        except OSError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.05)


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
