"""The bench's side of a peer: what its head says, its environment, and its process.

A peer's file begins with inline script metadata (PEP 723): the packages it needs, pinned, and under
`tool.field` its name, the page of its documentation that the file follows, the stores that it is measured
on, and why it is left out of a workload. Its environment is built by `uv` under `build/field` and kept until
a pin changes.
"""

import hashlib
import json
import os
import re
import signal
import subprocess
import sys
import tomllib
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, TypeAlias

from bench.field.program import Job

ROOT = Path(__file__).parents[2]
PEERS = Path(__file__).parent / "peers"
BUILD = ROOT / "build" / "field"
_HEAD = re.compile(r"^# /// script\n(?P<toml>(?:#.*\n)+?)# ///$", re.MULTILINE)
_STORES = {
    "postgresql": "PostgreSQL",
    "sqlite": "SQLite",
    "redis": "Redis",
    "files": "files",
    "temporal": "its server",
    "none": "no store",
}

NOT_SHORT = "not in a short run, because it takes minutes"

Moments: TypeAlias = Sequence[float | None]


class CannotRun(Exception):
    """A peer cannot be installed or started on this machine; the message says why."""


@dataclass(frozen=True)
class Peer:
    """A program on one kind of store."""

    module: str
    store: str
    head: Mapping[str, Any] = field(hash=False, compare=False)

    @property
    def name(self) -> str:
        return f"{self._field['title']}, {_STORES[self.store]}"

    @property
    def _field(self) -> Mapping[str, Any]:
        about: Mapping[str, Any] = self.head["tool"]["field"]
        return about

    @property
    def documentation(self) -> str:
        return str(self._field["documentation"])

    def takes(self, workload: str, *, opt_in: bool) -> bool:
        """Whether a workload is meant for it at all."""
        if only := self._field.get("only"):
            return workload in only
        return not opt_in or workload in self._field.get("also", ())

    def left_out(self, workload: str, *, short: bool) -> str | None:
        """The reason why it is not in a workload, perhaps only of a short run."""
        reasons: dict[str, str] = dict(self._field.get("left-out", {}))
        if short:
            reasons |= dict.fromkeys(self._field.get("not-short", ()), NOT_SHORT)
        return reasons.get(workload)

    def most(self, workload: str) -> int:
        """The largest size of a workload that it is asked for, where a larger one takes too long."""
        return int(self._field.get("most", {}).get(workload, sys.maxsize))

    @cached_property
    def python(self) -> Path:
        """The interpreter of its environment, which is built at the first use."""
        return environment(self.module, self.head["dependencies"])

    def versions(self) -> dict[str, str]:
        """The versions that are installed, by package."""
        program = "import sys; from importlib.metadata import version; print(*map(version, sys.argv[1:]))"
        command = [str(self.python), "-c", program, *self._field["packages"]]
        done = subprocess.run(command, check=True, capture_output=True, text=True)
        return dict(zip(self._field["packages"], done.stdout.split(), strict=True))


def all_peers() -> list[Peer]:
    """Segue first, then by name."""
    peers = [peer for path in sorted(PEERS.glob("[!_]*.py")) for peer in _on_each_store(path)]
    return sorted(peers, key=lambda peer: peer.module != "segue")


def _on_each_store(path: Path) -> list[Peer]:
    head = read_head(path.read_text("utf-8"))
    return [Peer(path.stem, store, head) for store in head["tool"]["field"]["stores"]]


def read_head(text: str) -> Mapping[str, Any]:
    """The inline script metadata of a program."""
    found = _HEAD.search(text)
    assert found, "a peer's file begins with inline script metadata"
    return tomllib.loads("\n".join(line[2:] for line in found["toml"].splitlines()))


def environment(name: str, dependencies: Sequence[str]) -> Path:
    """The interpreter of an environment with these packages; our own for none."""
    if not dependencies:
        return Path(sys.executable)
    pins = hashlib.sha256("\n".join(dependencies).encode()).hexdigest()[:8]
    folder = BUILD / f"{name}-{pins}"
    python, done = folder / "bin" / "python", folder / "done"
    if not done.exists():
        uv = Path(sys.executable).parent / "uv"
        _install([str(uv), "venv", "--quiet", "--clear", "--python", sys.executable, str(folder)])
        _install([str(uv), "pip", "install", "--quiet", "--python", str(python), *dependencies])
        done.touch()
    return python


def _install(command: list[str]) -> None:
    try:
        subprocess.run(command, check=True, capture_output=True, text=True)
    except FileNotFoundError as error:
        raise CannotRun(f"{command[0]} is not there") from error
    except subprocess.CalledProcessError as error:
        raise CannotRun(str(error.stderr).strip().splitlines()[0]) from error


class Process:
    """A running program of a peer, with what the workload wishes of it as far as there is a setting.

    `capacity` is how many turns may run at once. An `eager` process asks its store for work more often than
    by default, if it has to ask; another process is taken for dead after `detection_seconds`.
    """

    def __init__(
        self,
        peer: Peer,
        store: str,
        record: Path,
        *,
        capacity: int = 50,
        eager: bool = True,
        detection_seconds: float | None = None,
    ) -> None:
        self._log = record.with_suffix(".log")
        kept = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
        command = [str(peer.python), "-m", f"bench.field.peers.{peer.module}"]
        with self._log.open("ab") as log:
            self._process = subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
                cwd=ROOT,
                env=kept | {"PYTHONPATH": str(ROOT)},
                start_new_session=True,
            )
        options = {"capacity": capacity, "eager": eager, "detection_seconds": detection_seconds}
        self._stores = {"store": store, "record": str(record), "options": options}

    def __enter__(self) -> "Process":
        self._ask("open", **self._stores)
        return self

    def __exit__(self, *_: object) -> None:
        self.kill()

    def add_many(self, jobs: Sequence[Job], ats: Moments) -> None:
        self._ask("add_many", labels=[job.label for job in jobs], ats=list(ats))

    def fill(self, count: int) -> None:
        self._ask("fill", count=count)

    def listen(self) -> int:
        """The port on which it serves HTTP."""
        return int(self._ask("listen"))

    def time_adding(self, count: int) -> list[float]:
        took: list[float] = self._ask("time_adding", count=count)
        return took

    def work(self) -> None:
        self._ask("work")

    @property
    def id(self) -> int:
        return self._process.pid

    def kill(self) -> None:
        """As by `kill -9`, with the processes that it started."""
        with suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout):
            assert pipe
            with suppress(BrokenPipeError):
                pipe.close()

    def _ask(self, command: str, **given: Any) -> Any:
        assert self._process.stdin
        assert self._process.stdout
        self._process.stdin.write(json.dumps({"command": command, **given}) + "\n")
        self._process.stdin.flush()
        line = self._process.stdout.readline()
        answer = json.loads(line) if line else {"error": self._log.read_text("utf-8", "replace")[-2_000:]}
        if "error" in answer:
            raise RuntimeError(f"its {command} failed\n{answer['error']}")
        return answer["result"]
