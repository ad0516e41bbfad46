"""Runs uvicorn as a separate process, on a port of its own, as users run it."""

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.docs.pages import ROOT
from tests.server.process import Address

_LISTENS = re.compile(r"running on http://127\.0\.0\.1:(\d+)")
_STARTED = "Application startup complete"
_PATIENCE_SECONDS = 60


@dataclass(frozen=True, slots=True)
class Uvicorn(Address):
    process: "subprocess.Popen[str]"


@contextmanager
def uvicorn(
    app: str, log: Path, *options: str, env: Mapping[str, str] | None = None, processes: int = 1
) -> Iterator[Uvicorn]:
    """Yields when every process has started. Its output is appended to `log`."""
    log.touch()
    before = log.read_text()
    with log.open("a") as output:
        process = subprocess.Popen(
            [sys.executable, "-m", "uvicorn", app, "--port", "0", *options],
            cwd=ROOT,
            env={**os.environ, "PYTHONPATH": str(ROOT), **(env or {})},
            stdout=output,
            stderr=output,
            text=True,
        )
    try:
        _wait_for(lambda: _has_started(log.read_text().removeprefix(before), processes), process, log)
        yield Uvicorn(int(_LISTENS.findall(log.read_text())[-1]), process)
    finally:
        if process.poll() is None:
            process.send_signal(signal.SIGTERM)
        try:
            process.wait(30)
        except subprocess.TimeoutExpired:
            process.kill()
            raise


def _has_started(output: str, processes: int) -> bool:
    return output.count(_STARTED) >= processes and _LISTENS.search(output) is not None


def _wait_for(true: Callable[[], bool], process: "subprocess.Popen[str]", log: Path) -> None:
    deadline = time.monotonic() + _PATIENCE_SECONDS
    while not true():
        assert process.poll() is None, log.read_text()
        assert time.monotonic() < deadline, log.read_text()
        time.sleep(0.05)
