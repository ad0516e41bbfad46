"""PostgreSQL driver: for any number of processes on any number of machines.

Writes go through `writers`, which commit waiting transactions as groups. Reads run concurrently, each in one
round trip. NOTIFY wakes other processes early; correctness rests on polling once a second whether anything
was committed.

Invariants
  - what `run` has returned is committed, and stays so through a crash of the server or of this process
  - losing the server ends no process: callers wait, then get StoreUnavailable, and the next call tries again
  - a notification is a hint: empty, never inside a transaction, and at most ten a second from one process
"""

import asyncio
import logging
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from functools import partial
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
    end_tasks,
    error_kind,
    sqlstate,
    store_error,
    undecided,
    unusable,
    wait,
)
from segue.store.postgres.group import CommitUnanswered, GroupFailed, drive_alone
from segue.store.postgres.writers import Writers
from segue.store.queries import Query
from segue.store.settings import DEFAULTS, StoreSettings

if TYPE_CHECKING:
    from segue.store.postgres.connection import Connection

CHANNEL = "segue"

_log = logging.getLogger(__name__)

_NOTIFY = "SELECT pg_notify($1, payload) FROM unnest($2::text[]) AS payload"

_POLL = """
SELECT CAST(EXTRACT(EPOCH FROM clock_timestamp()) * 1000 AS BIGINT) AS now,
       CAST(pg_current_snapshot() AS TEXT) AS snapshot
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
        settings: StoreSettings,
    ) -> None:
        # One connection each to listen, to notify, and for callers that name no session; two for retries.
        groups = max(1, (settings.connections - 5) // 2)
        self._reader_count = max(1, settings.connections - 5 - groups)
        self._settings = settings
        self.scans = settings.scans
        self._server = server
        self._offset = offset
        self._closed = False
        self._to_notify = asyncio.Event()
        self._unsent: set[str] = set()
        """Payloads of the next notifications: the id of a turn to follow, or nothing for a commit."""
        self._notifier = second
        self._notifier_pid: int | None = None
        self._snapshot = ""
        """What was committed on the server at the last poll, by any client."""
        self._polled_at = 0.0
        self.last_write = LastWrite()
        self._writers = Writers(server, settings, groups, self.last_write, on_commit=partial(self._send, ""))
        self._readers: asyncio.LifoQueue[DatabaseConnection] = asyncio.LifoQueue()
        for reader in [*(DatabaseConnection(server) for _ in range(self._reader_count - 1)), first]:
            self._readers.put_nowait(reader)
        self._notifying = asyncio.get_running_loop().create_task(self._notify_after_commits())

    @classmethod
    async def open(cls, url: str, settings: StoreSettings = DEFAULTS) -> "Postgres":
        """Connect. Opens two connections now, the others on demand. Raises `StoreUnusable`."""
        server = Endpoint(url, settings.command_seconds)
        first, second = DatabaseConnection(server), DatabaseConnection(server)
        offset = Offset()
        deadline = monotonic() + settings.open_seconds

        def keep_trying(error: Exception) -> bool:
            may_pass = sqlstate(error) == TOO_MANY or not unusable(error, server.safe_url)
            return may_pass and monotonic() < deadline

        try:
            connection = await first.connected(keep_trying)
            await _poll(connection, offset)
            # Both while the first is in use: one connection alone would be taken by `watch`.
            await second.connected(keep_trying)
        except Exception as error:
            first.drop()
            raise unusable(error, server.safe_url) or StoreUnusable(
                f"no server answers at {server.safe_url} ({str(error) or type(error).__name__}): "
                "see that PostgreSQL is running there and can be reached"
            ) from None
        version = connection.get_server_version().major
        first.release()
        second.release()
        if version < OLDEST_VERSION:
            await first.close()
            await second.close()
            needed = f"Segue needs {OLDEST_VERSION} or newer: upgrade it"
            raise StoreUnusable(f"{server.safe_url} is PostgreSQL {version}; {needed}")
        return cls(server, first, second, offset, settings)

    async def run(self, begin: Begin[T]) -> T:
        return await self._writers.run(begin)

    async def run_alone(self, begin: Begin[T]) -> T:
        deadline = monotonic() + self._settings.patience_seconds
        own = DatabaseConnection(self._server, limited=False)
        try:
            connection = await own.connected(
                lambda error: sqlstate(error) == TOO_MANY and monotonic() < deadline
            )
            return await drive_alone(connection, own.opening, begin)
        except Exception as failure:
            if not isinstance(failure, GroupFailed):
                failure = GroupFailed([], failure, "a transaction")
            cause, url = failure.cause, self._server.safe_url
            if error_kind(cause) is not ErrorKind.LOST:
                error = store_error(cause, failure.where)
                raise error from error.__cause__
            if isinstance(failure, CommitUnanswered):
                raise undecided(url) from cause
            lost = type(cause).__name__
            raise StoreUnavailable(f"the connection to {url} was lost ({lost}); try again") from cause
        finally:
            own.drop()

    async def read(self, query: Query, params: Params) -> Rows:
        if self._closed:
            raise StoreUnavailable(f"{self._server.safe_url} was closed here; nothing was read")
        patience = self._settings.patience_seconds
        try:
            async with asyncio.timeout(patience):
                return await self._fetch(query, query.pick(params))
        except TimeoutError:
            sentence = f"{self._server.safe_url} did not answer within {patience:.0f} s; try again"
            raise StoreUnavailable(sentence) from None

    async def _fetch(self, query: Query, values: tuple[Any, ...]) -> Rows:
        while True:
            reader = await self._readers.get()
            try:
                connection = await reader.connected()
                return await connection.fetch(query.postgres, *values)
            except Exception as error:
                if await reader.recover(error) is ErrorKind.REFUSED:
                    raise store_error(error, query.name) from error
            except BaseException:
                # Cancelled half-way: the rest of the answer must not reach the next reader.
                reader.drop()
                raise
            finally:
                reader.release()
                self._readers.put_nowait(reader)
            await wait(FIRST_PAUSE)

    @asynccontextmanager
    async def watch(
        self, ring: Callable[[], None], watched: Callable[[str], None] | None = None
    ) -> AsyncIterator[None]:
        changed = asyncio.Event()
        loop = asyncio.get_running_loop()
        listening = loop.create_task(self._listen(changed, watched))
        ringing = loop.create_task(self._ring_when(changed, ring))
        try:
            yield
        finally:
            await end_tasks([listening, ringing])

    def follow_turn(self, turn_id: str) -> None:
        self._send(turn_id)

    def lease_now(self) -> int | None:
        """None: leases are judged by the database's own clock, the same for every machine."""
        return None

    def wall_ms(self) -> int:
        """Milliseconds since 1970 by the database's clock, without a round trip."""
        return round(monotonic() * 1000) + self._offset.ms

    async def close(self) -> None:
        if self._closed:
            return
        self._closed = True
        await self._writers.close()
        await end_tasks([self._notifying])
        if self._to_notify.is_set():
            await self._notify()
        await self._notifier.close()
        for _ in range(self._reader_count):
            # A connection in use comes back to the queue when its read has ended.
            reader = await self._readers.get()
            await reader.close()

    def _send(self, payload: str) -> None:
        self._unsent.add(payload)
        self._to_notify.set()

    async def _notify_after_commits(self) -> None:
        """Notify other processes of commits: at once, then at most every `notify_seconds`."""
        while True:
            await self._to_notify.wait()
            await self._notify()
            await wait(self._settings.notify_seconds)

    async def _notify(self) -> None:
        # Not inside the group's transaction: NOTIFY takes a lock on the whole database at commit.
        self._to_notify.clear()
        payloads, self._unsent = sorted(self._unsent), set()
        try:
            connection = await self._notifier.connected(lambda _: False)
            self._notifier_pid = connection.get_server_pid()
            await connection.execute(_NOTIFY, CHANNEL, payloads)
        except Exception as error:
            # It was only a hint; the other processes poll anyway.
            await self._notifier.recover(error)
        finally:
            self._notifier.release()

    async def _listen(self, changed: asyncio.Event, watched: Callable[[str], None] | None) -> None:
        def on_notify(_: object, pid: int, __: object, turn_id: object) -> None:
            if pid == self._notifier_pid:
                return
            if not turn_id:
                changed.set()
            elif watched is not None:
                watched(str(turn_id))

        listener = DatabaseConnection(self._server)
        try:
            while True:
                try:
                    await self._stay_connected(await listener.connected(), on_notify, changed)
                except Exception as error:
                    _log.info("listener lost %s (%s), retrying", self._server.safe_url, type(error).__name__)
                    listener.drop()
                    await wait(FIRST_PAUSE)
        finally:
            await listener.close()

    async def _stay_connected(
        self, connection: "Connection", on_notify: Callable[..., None], changed: asyncio.Event
    ) -> None:
        # A pooler would give the next transaction another connection, and no notification would arrive.
        if not self._server.pooled:
            await connection.add_listener(CHANNEL, on_notify)
        while True:
            snapshot = await _poll(connection, self._offset)
            # An unchanged snapshot means that nothing was committed.
            if snapshot != self._snapshot:
                changed.set()
            self._snapshot, self._polled_at = snapshot, monotonic()
            await wait(self._settings.poll_seconds)

    async def _ring_when(self, changed: asyncio.Event, ring: Callable[[], None]) -> None:
        poll_seconds = self._settings.poll_seconds
        while True:
            with suppress(TimeoutError):
                async with asyncio.timeout(poll_seconds):
                    await changed.wait()
            if changed.is_set() or monotonic() - self._polled_at > 2 * poll_seconds:
                changed.clear()
                ring()
                await wait(self._settings.ring_seconds)


async def _poll(connection: "Connection", offset: Offset) -> str:
    """The server's current snapshot; the answer is also a sample for the clock offset."""
    asked = monotonic()
    (row,) = await connection.fetch(_POLL)
    offset.learn(asked=asked * 1000, answer=row["now"], answered=monotonic() * 1000)
    snapshot: str = row["snapshot"]
    return snapshot
