"""SQLite: one file, one writer thread, readers beside it.

    run ──► waiting ──► writer: our turn · BEGIN · drive together · COMMIT ──► futures
    read ─► reads ────► readers: one SELECT, on a connection of their own ──► futures

The writer commits whatever is waiting as one group, in lock-step, so that the price of a commit and of each
statement is shared. When somebody in it raises after it has written, the group is rolled back and driven once
more, one by one and each in a savepoint of its own: that costs the others a second pass now and then.

Invariants
  - nobody hears of an outcome before the COMMIT it rests on: a group that fails, fails for all in it
  - who raises takes back its own statements and nobody else's
  - what was accepted is committed or failed, even when its caller has gone, even by `close`
  - nobody waits for another process longer than `busy_seconds`, and who was failed then stays undone
  - nothing is acknowledged that was written to a file which was deleted or replaced meanwhile
"""

import asyncio
import shutil
import sqlite3
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from time import monotonic_ns

from segue.errors import DatabaseGone, StoreUnavailable
from segue.store.database import Begin, Params, Rows, T
from segue.store.last_write import LastWrite
from segue.store.queries import Query
from segue.store.sqlite.execute import just_read
from segue.store.sqlite.file import MEMORY, open_file, open_reader
from segue.store.sqlite.file_identity import OPENING, OpenFiles
from segue.store.sqlite.file_lock import FileLock
from segue.store.sqlite.loop_bridge import LoopBridge
from segue.store.sqlite.threads import Readers, Writer
from segue.times.clock import SystemClock

BUSY_SECONDS = 2.0
READERS = 2
ROOM = 1_048_576
"""Bytes that a disk which was full must have free until it counts as no longer full."""

_MACHINE = SystemClock()


def monotonic_ms() -> int:
    """Since the machine was started: the same for all its processes, and nobody can set it."""
    return monotonic_ns() // 1_000_000


class Sqlite:
    """A SQLite database, opened by `await Sqlite.open(path)`; `:memory:` is one that ends with us."""

    dialect = "sqlite"

    def __init__(
        self,
        path: str,
        connections: list[sqlite3.Connection],
        files: OpenFiles | None,
        busy_seconds: float,
    ) -> None:
        """The first connection writes. Alone it reads as well: what is in memory no other one can see."""
        writer, *readers = connections
        self._path = path
        self._busy_seconds = busy_seconds
        self._closed = False
        self._crossing = LoopBridge(when_nothing_returns=self._let_nobody_wait_for_ever)
        turnstile = None
        self.last_write = LastWrite()
        if files is not None:
            turnstile = FileLock(path)
            self.last_write = LastWrite(lambda: _has_room(path))
        self._writer = Writer(writer, path, turnstile, files, self.last_write, self._crossing)
        self._readers = Readers(readers, path, self._crossing) if readers else None

    @classmethod
    async def open(cls, path: str, *, busy_seconds: float = BUSY_SECONDS) -> "Sqlite":
        """Open the file, or make it. One that is not ours is refused and left as it was."""
        # Also because SQLite would take a relative one that begins with "file:" for a URL.
        whole = path if path == MEMORY else str(Path.cwd() / path)
        connections, files = await asyncio.to_thread(_open, whole, busy_seconds)
        return cls(whole, connections, files, busy_seconds)

    async def run(self, begin: Begin[T]) -> T:
        self._refuse_if_over("written")
        result: T = await self._writer.accept(begin)
        return result

    async def run_alone(self, begin: Begin[T]) -> T:
        return await self.run(begin)

    async def read(self, query: Query, params: Params) -> Rows:
        self._refuse_if_over("read")
        if self._readers is None:
            return await self.run(just_read(query, params))
        rows: Rows = await self._readers.accept(query, params)
        return rows

    @asynccontextmanager
    async def watch(self, ring: Callable[[], None]) -> AsyncIterator[None]:
        if self._path == MEMORY:
            yield
            return
        self._writer.watch(ring)
        try:
            yield
        finally:
            self._writer.unwatch(ring)

    def wall_ms(self) -> int:
        return _MACHINE.ms()

    def lease_now(self) -> int | None:
        return monotonic_ms()

    async def close(self) -> None:
        if self._closed:
            return
        self._closed = True
        if self._readers is not None:
            await asyncio.wait(self._readers.end())
        # The writer is last: it is who folds the log into the file. It may stand in line behind a process
        # that has stopped; nobody is left then who waits for it, and the thread ends with ours.
        await asyncio.wait([self._writer.end()], timeout=self._busy_seconds * 2)

    def _refuse_if_over(self, done: str) -> None:
        if self._writer.gone is not None:
            raise DatabaseGone(*self._writer.gone.args)
        if self._closed:
            raise StoreUnavailable(f"{self._path} was closed here; nothing was {done}")

    def _let_nobody_wait_for_ever(self) -> None:
        self._writer.fail_those_waiting_longer_than(self._busy_seconds)


def _has_room(path: str) -> bool:
    try:
        return shutil.disk_usage(Path(path).parent).free >= ROOM
    except OSError:
        return False


def _open(path: str, busy_seconds: float) -> tuple[list[sqlite3.Connection], OpenFiles | None]:
    if path == MEMORY:
        return [open_file(path, busy_seconds)], None
    with OPENING:
        writer = open_file(path, busy_seconds)
        # The first read makes the log.
        writer.execute("PRAGMA data_version").fetchone()
        files = OpenFiles(path)
    return [writer, *(open_reader(path, busy_seconds) for _ in range(READERS))], files
