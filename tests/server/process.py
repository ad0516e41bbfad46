"""Starts and stops a server process of `tests.server.serve`."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing.context import ForkServerProcess

from tests.forks import start_server
from tests.server.serve import run_server

LONG = bool(os.environ.get("SEGUE_LONG"))


@dataclass(frozen=True, slots=True)
class Address:
    port: int

    @property
    def http(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def ws(self) -> str:
        return f"ws://127.0.0.1:{self.port}/ws"


@dataclass(frozen=True, slots=True)
class Served(Address):
    process: ForkServerProcess


@contextmanager
def served(url: str, *options: str) -> Iterator[Served]:
    process, port = start_server(run_server, url, *options)
    try:
        yield Served(port, process)
    finally:
        process.terminate()
        process.join(20)
        if process.is_alive():
            process.kill()
            raise AssertionError("the server did not stop within 20 seconds")
