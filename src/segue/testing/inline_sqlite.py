"""SQLite without threads: every transaction runs to its end inside the call.

For tests and simulation. Nothing waits, so the result depends only on the order of the calls. Several handles
may share one database, as several processes would: `other = database.share()`.
"""

import asyncio
import sqlite3
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from segue.errors import StoreUnavailable
from segue.store.database import Begin, Params, Rows, T
from segue.store.last_write import LastWrite
from segue.store.queries import Query
from segue.store.settings import DEFAULTS
from segue.store.sqlite.database import monotonic_ms
from segue.store.sqlite.execute import drive, execute
from segue.store.sqlite.file import MEMORY, explain, open_file
from segue.times.clock import SystemClock

_MACHINE = SystemClock()


@dataclass(slots=True)
class _Shared:
    connection: sqlite3.Connection
    path: str
    handles: int = 0
    watching: list[tuple["InlineSqlite", Callable[[], None]]] = field(default_factory=list)


class InlineSqlite:
    """A handle on a SQLite database, from `InlineSqlite.open()`. Closing the last handle closes the file."""

    dialect = "sqlite"
    scans = None

    def __init__(self, shared: _Shared) -> None:
        self._shared = shared
        self.last_write = LastWrite()
        self._closed = False
        shared.handles += 1

    @classmethod
    def open(cls, path: str = MEMORY) -> "InlineSqlite":
        return cls(_Shared(open_file(path, DEFAULTS.busy_seconds), path))

    def share(self) -> "InlineSqlite":
        """Another handle on the same database."""
        return InlineSqlite(self._shared)

    async def run(self, begin: Begin[T]) -> T:
        connection = self._connection()
        try:
            connection.execute("BEGIN IMMEDIATE")
            result = drive(connection, begin)
            connection.execute("COMMIT")
        except sqlite3.Error as error:
            raise explain(error, self._shared.path) from error
        finally:
            if connection.in_transaction:
                connection.execute("ROLLBACK")
        self._ring_the_others()
        return result

    async def run_alone(self, begin: Begin[T]) -> T:
        return await self.run(begin)

    async def read(self, query: Query, params: Params) -> Rows:
        try:
            return execute(self._connection(), (query, params))
        except sqlite3.Error as error:
            raise explain(error, self._shared.path) from error

    @asynccontextmanager
    async def watch(
        self, ring: Callable[[], None], watched: Callable[[str], None] | None = None
    ) -> AsyncIterator[None]:
        watching = (self, ring)
        self._shared.watching.append(watching)
        try:
            yield
        finally:
            self._shared.watching.remove(watching)

    def follow_turn(self, turn_id: str) -> None:
        """As of `Sqlite`: no other process is told."""

    def wall_ms(self) -> int:
        return _MACHINE.ms()

    def lease_now(self) -> int | None:
        return monotonic_ms()

    async def close(self) -> None:
        if self._closed:
            return
        self._closed = True
        self._shared.handles -= 1
        if not self._shared.handles:
            self._shared.connection.close()

    def _connection(self) -> sqlite3.Connection:
        if self._closed:
            raise StoreUnavailable(f"{self._shared.path} was closed here; nothing was done")
        return self._shared.connection

    def _ring_the_others(self) -> None:
        for handle, ring in self._shared.watching:
            if handle is not self:
                asyncio.get_running_loop().call_soon(ring)
