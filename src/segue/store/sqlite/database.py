"""SQLite driver: one file, one writer thread, some reader threads.

    run ──► waiting ──► writer: file lock · BEGIN · one caller after the other · COMMIT ──► futures
    read ─► reads ────► readers: one SELECT, on a connection of their own ──► futures

The writer commits all waiting transactions as one group, so that they share the cost of the commit. It drives
one after the other, each in a savepoint: a caller that raises is rolled back to its savepoint alone.

Invariants
  - no caller gets a result before its COMMIT; a COMMIT that fails, fails for the whole group
  - a transaction that raises undoes its own statements and no others
  - an accepted transaction is committed or failed, even if its caller was cancelled, even by `close`
  - no caller waits for another process longer than `busy_seconds`; one that failed then is never committed
  - a write to a file that was deleted or replaced while open is never acknowledged
"""

import asyncio
import shutil
import sqlite3
from collections.abc import AsyncIterator, Callable
from contextlib import ExitStack, asynccontextmanager, closing
from pathlib import Path
from time import monotonic_ns

from segue.errors import DatabaseGone, StoreUnavailable
from segue.store.database import Begin, Params, Rows, T
from segue.store.last_write import LastWrite
from segue.store.queries import Query
from segue.store.settings import DEFAULTS, StoreSettings
from segue.store.sqlite.execute import just_read
from segue.store.sqlite.file import MEMORY, open_file, open_reader
from segue.store.sqlite.file_identity import OPENING, OpenFiles
from segue.store.sqlite.file_lock import FileLock
from segue.store.sqlite.loop_bridge import LoopBridge
from segue.store.sqlite.threads import Readers, Writer
from segue.times.clock import SystemClock

READERS = 2
ENOUGH_BYTES = 1_048_576
"""A disk that was full counts as full until so many bytes are free."""

_MACHINE = SystemClock()


def monotonic_ms() -> int:
    """Milliseconds since the machine was started: the same in all its processes, and cannot be set."""
    return monotonic_ns() // 1_000_000


class Sqlite:
    """A SQLite database, opened by `await Sqlite.open(path)`; `:memory:` ends with the process."""

    dialect = "sqlite"
    scans = None

    def __init__(
        self,
        path: str,
        connections: list[sqlite3.Connection],
        files: OpenFiles | None,
        settings: StoreSettings,
    ) -> None:
        """The first connection writes. If it is the only one (in memory), it also reads."""
        writer, *readers = connections
        self._path = path
        self._busy_seconds = settings.busy_seconds
        self._closed = False
        self._bridge = bridge = LoopBridge(when_nothing_returns=self._fail_after_busy_seconds)
        file_lock = None
        self.last_write = LastWrite()
        if files is not None:
            file_lock = FileLock(path)
            self.last_write = LastWrite(lambda: _has_disk_space(path))
        self._writer = Writer(writer, path, file_lock, files, self.last_write, bridge, settings.poll_seconds)
        self._readers = Readers(readers, path, bridge) if readers else None

    @classmethod
    async def open(cls, path: str, settings: StoreSettings = DEFAULTS) -> "Sqlite":
        """Open or create the file. Raises `StoreUnusable`, and changes nothing, if it is not Segue's."""
        # Absolute, because SQLite would parse a relative path that begins with "file:" as a URL.
        absolute = path if path == MEMORY else str(Path.cwd() / path)
        connections, files = await asyncio.to_thread(_open, absolute, settings.busy_seconds)
        return cls(absolute, connections, files, settings)

    async def run(self, begin: Begin[T]) -> T:
        self._refuse_if_closed("written")
        result: T = await self._writer.accept(begin)
        return result

    async def run_alone(self, begin: Begin[T]) -> T:
        return await self.run(begin)

    async def read(self, query: Query, params: Params) -> Rows:
        self._refuse_if_closed("read")
        if self._readers is None:
            return await self.run(just_read(query, params))
        rows: Rows = await self._readers.accept(query, params)
        return rows

    @asynccontextmanager
    async def watch(
        self, ring: Callable[[], None], watched: Callable[[str], None] | None = None
    ) -> AsyncIterator[None]:
        if self._path == MEMORY:
            yield
            return
        self._writer.watch(ring)
        try:
            yield
        finally:
            self._writer.unwatch(ring)

    def follow_turn(self, turn_id: str) -> None:
        """Processes on one file cannot tell each other anything: drafts come at their usual pace."""

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
        # The writer is last: it checkpoints the log into the file. It may wait for the lock of a process that
        # is stopped; then it is abandoned: no caller waits for it, and the thread ends with this process.
        _, stuck = await asyncio.wait([self._writer.end()], timeout=self._busy_seconds * 2)
        if stuck:
            self._bridge.abandon()

    def _refuse_if_closed(self, done: str) -> None:
        if self._writer.gone is not None:
            raise DatabaseGone(*self._writer.gone.args)
        if self._closed:
            raise StoreUnavailable(f"{self._path} was closed here; nothing was {done}")

    def _fail_after_busy_seconds(self) -> None:
        self._writer.fail_those_waiting_longer_than(self._busy_seconds)


def _has_disk_space(path: str) -> bool:
    try:
        return shutil.disk_usage(Path(path).parent).free >= ENOUGH_BYTES
    except OSError:
        return False


def _open(path: str, busy_seconds: float) -> tuple[list[sqlite3.Connection], OpenFiles | None]:
    if path == MEMORY:
        return [open_file(path, busy_seconds)], None
    with ExitStack() as opened:
        with OPENING:
            writer = opened.enter_context(closing(open_file(path, busy_seconds)))
            # The first read creates the write-ahead log, whose identity `OpenFiles` records.
            writer.execute("PRAGMA data_version").fetchone()
            files = opened.enter_context(closing(OpenFiles(path)))
        readers = [opened.enter_context(closing(open_reader(path, busy_seconds))) for _ in range(READERS)]
        opened.pop_all()
    return [writer, *readers], files
