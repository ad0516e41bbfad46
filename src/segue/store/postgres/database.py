"""PostgreSQL: for any number of processes on any number of machines.

Writes go through `lockstep`, which commits whatever is waiting as one group. Reads go beside them, each in
one round trip. A NOTIFY tells other processes to look; a look once a second, at whether anything was
committed at all, is the truth.

Invariants
  - what `run` has returned is committed, and stays so through a crash of the server or of this process
  - losing the server ends no process: callers wait, then hear StoreUnavailable, and the next call tries again
  - a notification is a hint: empty, never inside a transaction, and at most ten a second from one process
"""

import asyncio
import logging
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from time import monotonic
from typing import TYPE_CHECKING, Any

from segue.errors import StoreUnavailable, StoreUnusable
from segue.store.database import Begin, Params, Rows, T
from segue.store.last_write import LastWrite
from segue.store.postgres.clock_offset import Offset
from segue.store.postgres.connection import (
    FIRST_PAUSE,
    OLDEST_VERSION,
    TOO_MANY,
    DatabaseConnection,
    Endpoint,
    ErrorKind,
    error_kind,
    sqlstate,
    store_error,
    unusable,
    wait,
)
from segue.store.postgres.run_group import drive_alone
from segue.store.postgres.writers import PATIENCE_SECONDS, Writers
from segue.store.queries import Query

if TYPE_CHECKING:
    from segue.store.postgres.connection import Connection

CHANNEL = "segue"
OPEN_SECONDS = 5.0
LOOK_SECONDS = 1.0
"""Another process may have written without our hearing of it; this is how long that may go unnoticed."""
NOTIFY_SECONDS = 0.1
RING_SECONDS = 0.05
"""Many processes may notify at once; one ring does for all that come within this time."""

_log = logging.getLogger(__name__)

_LOOK = """
SELECT CAST(EXTRACT(EPOCH FROM clock_timestamp()) * 1000 AS BIGINT) AS now,
       CAST(pg_current_snapshot() AS TEXT) AS seen
"""


class Postgres:
    """A PostgreSQL database, opened by `await Postgres.open(url)`."""

    dialect = "postgres"

    def __init__(
        self,
        server: Endpoint,
        first: DatabaseConnection,
        second: DatabaseConnection,
        offset: Offset,
        connections: int,
    ) -> None:
        # One connection each to listen, to notify, and for who names no session, is driven alone, or waits
        # for a lock.
        groups = max(1, (connections - 5) // 2)
        self._reader_count = max(1, connections - 5 - groups)
        self._server = server
        self._offset = offset
        self._closed = False
        self._news = asyncio.Event()
        self._herald = second
        self._herald_pid: int | None = None
        self._seen = ""
        """What was committed when somebody last looked, by everybody on the server."""
        self._seen_at = 0.0
        self.last_write = LastWrite()
        self._writers = Writers(server, groups, self.last_write, on_commit=self._news.set)
        self._readers: asyncio.LifoQueue[DatabaseConnection] = asyncio.LifoQueue()
        for line in [*(DatabaseConnection(server) for _ in range(self._reader_count - 1)), first]:
            self._readers.put_nowait(line)
        self._telling = asyncio.get_running_loop().create_task(self._tell())

    @classmethod
    async def open(cls, url: str, *, connections: int = 10) -> "Postgres":
        """Connect. At most so many connections are opened in all: two now, the others when they are needed.
        Where the server gives fewer, they are shared."""
        server = Endpoint(url)
        line, second = DatabaseConnection(server), DatabaseConnection(server)
        offset = Offset()
        deadline = monotonic() + OPEN_SECONDS

        def keep_trying(error: Exception) -> bool:
            may_pass = sqlstate(error) == TOO_MANY or not unusable(error, server.shown)
            return may_pass and monotonic() < deadline

        try:
            connection = await line.connected(keep_trying)
            await _look(connection, offset)
            # Both at once: with one alone, nothing could be done while another process is listened to.
            await second.connected(keep_trying)
        except Exception as error:
            line.drop()
            raise unusable(error, server.shown) or StoreUnusable(
                f"nobody answers at {server.shown} ({str(error) or type(error).__name__}): "
                "see that PostgreSQL is running there and can be reached"
            ) from None
        version = connection.get_server_version().major
        line.rest()
        second.rest()
        if version < OLDEST_VERSION:
            await line.close()
            await second.close()
            raise StoreUnusable(
                f"{server.shown} is PostgreSQL {version}; Segue needs {OLDEST_VERSION} or newer: upgrade it"
            )
        return cls(server, line, second, offset, connections)

    async def run(self, begin: Begin[T]) -> T:
        return await self._writers.run(begin)

    async def run_alone(self, begin: Begin[T]) -> T:
        connection: Connection | None = None
        try:
            connection = await self._connect_apart()
            return await drive_alone(connection, begin)
        except Exception as error:
            if error_kind(error) is not ErrorKind.LOST:
                raise store_error(error, "a statement") from error.__cause__
            sentence = f"{self._server.shown} was lost meanwhile ({type(error).__name__}); try again"
            raise StoreUnavailable(sentence) from error
        finally:
            if connection is not None:
                connection.terminate()

    async def _connect_apart(self) -> "Connection":
        deadline = monotonic() + PATIENCE_SECONDS
        while True:
            try:
                return await self._server.connect({}, seconds=None)
            except Exception as error:
                if sqlstate(error) != TOO_MANY or monotonic() > deadline:
                    raise
            await self._server.make_room()
            await wait(FIRST_PAUSE)

    async def read(self, query: Query, params: Params) -> Rows:
        if self._closed:
            raise StoreUnavailable(f"{self._server.shown} was closed here; nothing was read")
        try:
            async with asyncio.timeout(PATIENCE_SECONDS):
                return await self._fetch(query, query.pick(params))
        except TimeoutError:
            sentence = f"{self._server.shown} did not answer within {PATIENCE_SECONDS:.0f} s; try again"
            raise StoreUnavailable(sentence) from None

    async def _fetch(self, query: Query, values: tuple[Any, ...]) -> Rows:
        while True:
            line = await self._readers.get()
            try:
                connection = await line.connected()
                return await connection.fetch(query.postgres, *values)
            except Exception as error:
                if await line.recover(error) is ErrorKind.REFUSED:
                    raise store_error(error, query.name) from error
            except BaseException:
                # Cancelled half-way: what the connection has still to say is for nobody.
                line.drop()
                raise
            finally:
                line.rest()
                self._readers.put_nowait(line)
            await wait(FIRST_PAUSE)

    @asynccontextmanager
    async def watch(self, ring: Callable[[], None]) -> AsyncIterator[None]:
        heard = asyncio.Event()
        loop = asyncio.get_running_loop()
        tasks = [loop.create_task(self._listen(heard)), loop.create_task(self._ring_when(heard, ring))]
        try:
            yield
        finally:
            await _end(*tasks)

    def lease_now(self) -> int | None:
        """None: leases are judged by the database's own clock, the same for every machine."""
        return None

    @property
    def clock_offset_ms(self) -> int:
        """The database's clock minus this machine's monotonic one."""
        return self._offset.ms

    def wall_ms(self) -> int:
        """Milliseconds since 1970 by the database's clock, without asking it."""
        return round(monotonic() * 1000) + self._offset.ms

    async def close(self) -> None:
        if self._closed:
            return
        self._closed = True
        await self._writers.close()
        await _end(self._telling)
        if self._news.is_set():
            await self._notify()
        await self._herald.close()
        for _ in range(self._reader_count):
            # A line that is lent out comes back when its reader has finished.
            line = await self._readers.get()
            await line.close()

    async def _tell(self) -> None:
        """Tell other processes of our commits: at once, then at most once in a while."""
        while True:
            await self._news.wait()
            await self._notify()
            await wait(NOTIFY_SECONDS)

    async def _notify(self) -> None:
        # Alone, and not in the transactions it tells of: it takes a lock on the whole database at commit.
        self._news.clear()
        try:
            connection = await self._herald.connected(lambda _: False)
            self._herald_pid = connection.get_server_pid()
            await connection.execute(f"NOTIFY {CHANNEL}")
        except Exception as error:
            # It was only a hint; the others look once a second anyway.
            await self._herald.recover(error)
        finally:
            self._herald.rest()

    async def _listen(self, heard: asyncio.Event) -> None:
        def hear(_: object, pid: int, *rest: object) -> None:
            if pid != self._herald_pid:
                heard.set()

        line = DatabaseConnection(self._server)
        try:
            while True:
                try:
                    await self._stay_connected(await line.connected(), hear, heard)
                except Exception as error:
                    _log.info("stopped listening to %s (%s)", self._server.shown, type(error).__name__)
                    line.drop()
                    await wait(FIRST_PAUSE)
        finally:
            await line.close()

    async def _stay_connected(
        self, connection: "Connection", hear: Callable[..., None], heard: asyncio.Event
    ) -> None:
        # A pooler would give the next transaction another connection, and nobody would hear of it.
        if not self._server.pooled:
            await connection.add_listener(CHANNEL, hear)
        while True:
            seen = await _look(connection, self._offset)
            # The same snapshot as before: nobody has committed anything, and there is nothing to look at.
            if seen != self._seen:
                heard.set()
            self._seen, self._seen_at = seen, monotonic()
            await wait(LOOK_SECONDS)

    async def _ring_when(self, heard: asyncio.Event, ring: Callable[[], None]) -> None:
        while True:
            with suppress(TimeoutError):
                async with asyncio.timeout(LOOK_SECONDS):
                    await heard.wait()
            if heard.is_set() or monotonic() - self._seen_at > 2 * LOOK_SECONDS:
                heard.clear()
                ring()
                await wait(RING_SECONDS)


async def _look(connection: "Connection", offset: Offset) -> str:
    asked = monotonic()
    (found,) = await connection.fetch(_LOOK)
    offset.learn(asked=asked * 1000, answer=found["now"], answered=monotonic() * 1000)
    seen: str = found["seen"]
    return seen


async def _end(*tasks: asyncio.Task[None]) -> None:
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
