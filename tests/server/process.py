"""Starts and stops a server process of `tests.server.serve`."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from tests.docs.pages import ROOT

LONG = bool(os.environ.get("SEGUE_LONG"))


@dataclass(frozen=True, slots=True)
class Served:
    port: int
    process: "subprocess.Popen[str]"

    @property
    def http(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def ws(self) -> str:
        return f"ws://127.0.0.1:{self.port}/ws"


@contextmanager
def served(url: str, *options: str) -> Iterator[Served]:
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.server.serve", url, *options],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    try:
        yield Served(int(process.stdout.readline()), process)
    finally:
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(20)
        except subprocess.TimeoutExpired:
            process.kill()
            raise
        finally:
            process.stdout.close()
