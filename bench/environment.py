"""The environment of a workload: temporary folders, and a PostgreSQL server that starts on first use.

Durability is what production has: `fsync` and `synchronous_commit` are on, the folders are on disk.
"""

import asyncio
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from itertools import count
from pathlib import Path

from tests.postgres import Server, create_database, drop_database, in_database, temporary_server


class Environment:
    def __init__(self, stack: ExitStack, *, short: bool) -> None:
        self.short = short
        """Small sizes and one round instead of the measurement."""
        self._stack = stack
        self._names = (f"bench_{number}" for number in count(1))
        self._running: Server | None = None

    @property
    def rounds(self) -> int:
        return 1 if self.short else 5

    def size(self, whole: int, short: int) -> int:
        return short if self.short else whole

    @contextmanager
    def folder(self) -> Iterator[Path]:
        with tempfile.TemporaryDirectory(prefix="segue-bench-") as path:
            yield Path(path)

    @contextmanager
    def database(self) -> Iterator[str]:
        """The URL of an empty PostgreSQL database, which is dropped afterwards."""
        server_url, name = self._server().url, next(self._names)
        asyncio.run(create_database(server_url, name))
        try:
            yield in_database(server_url, name)
        finally:
            asyncio.run(drop_database(server_url, name))

    @property
    def server_process(self) -> int:
        """The id of PostgreSQL's first process."""
        return self._server().process.pid

    def _server(self) -> Server:
        if self._running is None:
            self._running = self._stack.enter_context(temporary_server())
        return self._running


@contextmanager
def open_environment(*, short: bool) -> Iterator[Environment]:
    with ExitStack() as stack:
        yield Environment(stack, short=short)
