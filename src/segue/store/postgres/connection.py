"""PostgreSQL connections: connecting, reconnecting, and what errors mean.

Invariants
  - every connection has time limits: a client that hangs in a transaction does not block others for long
  - a password is in no message and in no log
"""

import asyncio
import logging
import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from enum import Enum, auto
from random import uniform
from time import monotonic
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, TypeAlias
from weakref import WeakSet

from segue.errors import StoreError, StoreUnavailable, StoreUnusable, Undecided
from segue.extras import needed_for
from segue.store.last_write import Reason

if TYPE_CHECKING:
    import asyncpg

    Connection: TypeAlias = asyncpg.Connection[asyncpg.Record]

OLDEST_VERSION = 13

LIMITS = {"statement_timeout": "5s", "lock_timeout": "1s", "idle_in_transaction_session_timeout": "1500ms"}
BY_INDEX = {"enable_hashjoin": "off", "enable_mergejoin": "off"}
"""Writers select rows by id: a plan made while a table was small must not scan it when it is large."""
SETTINGS = {
    **LIMITS,
    "application_name": "segue",
    # Statements are short: compiling one takes longer than running it.
    "jit": "off",
    "default_transaction_isolation": "read committed",
}

USUAL: Mapping[str, str] = MappingProxyType({})
"""No extra settings."""

BEGIN = "BEGIN ISOLATION LEVEL READ COMMITTED"

FEWEST = 2
"""The fewest connections that work: one that listens, and one for everything else."""

CONNECT_SECONDS = 3.0
CLOSE_SECONDS = 2.0
FIRST_PAUSE, LONGEST_PAUSE = 0.05, 0.5

_log = logging.getLogger(__name__)


class Endpoint:
    """Where the server is, and how to connect to it."""

    def __init__(self, url: str, command_seconds: float) -> None:
        """`command_seconds`: how long a statement may take until the server counts as lost."""
        with needed_for("PostgreSQL"):
            import asyncpg
        self._connect = asyncpg.connect
        self._url = url
        self.command_seconds = command_seconds
        self.safe_url = without_password(url)
        """The URL without its password."""
        self.pooled = False
        """Whether a pooler is in between, which gives each transaction any free connection."""
        self.connections: WeakSet[DatabaseConnection] = WeakSet()
        self._scarce = False

    async def connect(self, settings: Mapping[str, str], seconds: float | None) -> "Connection":
        """A new connection. `seconds`: how long a statement may take until the server counts as lost."""
        if not self.pooled:
            try:
                # There is a fixed set of queries: a connection plans each of them once.
                return await self._open(
                    seconds, statement_cache_size=1000, server_settings={**SETTINGS, **settings}
                )
            except Exception as error:
                if sqlstate(error) != "08P01":
                    raise
        connection = await self._open(seconds, statement_cache_size=0)
        if not self.pooled:
            _log.info("pooler detected: %s takes no settings at connect", self.safe_url)
            self.pooled = True
        return connection

    async def close_an_idle_connection(self) -> None:
        """Close the connection that has been idle for longest, because the server refuses more of them."""
        if not self._scarce:
            self._scarce = True
            _log.warning("too few connections, slower: %s allows fewer than Segue uses", self.safe_url)
        idle = [connection for connection in self.connections if connection.is_idle]
        if idle:
            await min(idle, key=lambda connection: connection.idle_since).close()

    async def _open(self, seconds: float | None, **options: Any) -> "Connection":
        return await self._connect(
            self._url,
            timeout=CONNECT_SECONDS,
            command_timeout=seconds,
            max_cached_statement_lifetime=0,
            **options,
        )


def writer_settings(lock_milliseconds: int) -> dict[str, str]:
    """The settings of a connection that writes."""
    return {**LIMITS, **BY_INDEX, "lock_timeout": f"{lock_milliseconds}ms"}


class DatabaseConnection:
    """A connection that reopens when it was lost. It may be closed while idle, because a role may be allowed
    fewer connections than Segue uses."""

    def __init__(
        self, server: Endpoint, settings: Mapping[str, str] = USUAL, *, limited: bool = True
    ) -> None:
        """`limited`: whether a statement that takes too long counts as a lost connection."""
        self._server = server
        self._settings = settings
        self._seconds = server.command_seconds if limited else None
        self._connection: Connection | None = None
        self._in_use = False
        self.idle_since = 0.0
        server.connections.add(self)

    @property
    def is_idle(self) -> bool:
        return not self._in_use and self._connection is not None

    def release(self) -> None:
        """Mark the connection as idle."""
        self._in_use = False
        self.idle_since = monotonic()

    @property
    def opening(self) -> str:
        """The statements that begin a transaction. Behind a pooler they include the settings."""
        local = self._settings.items() if self._server.pooled else ()
        return BEGIN + "".join(f"; SET LOCAL {name} = '{value}'" for name, value in local)

    async def connected(self, keep_trying: Callable[[Exception], bool] = lambda _: True) -> "Connection":
        """The open connection, in use until `release`. Retries while `keep_trying` is true of the error."""
        self._in_use = True
        pause = FIRST_PAUSE
        while self._connection is None or self._connection.is_closed():
            try:
                self._connection = await self._server.connect(self._settings, self._seconds)
            except Exception as error:
                if not keep_trying(error):
                    raise
                if sqlstate(error) == TOO_MANY:
                    await self._server.close_an_idle_connection()
                elif pause == FIRST_PAUSE:
                    lost = type(error).__name__
                    _log.warning("cannot reach %s (%s), retrying", self._server.safe_url, lost)
                # Jitter: a server's clients are all cut off at once and must not reconnect at once.
                await wait(pause * uniform(0.5, 1.0))
                pause = min(pause * 2, LONGEST_PAUSE)
        return self._connection

    async def recover(self, error: BaseException) -> "ErrorKind":
        """Roll back after an error, or drop the connection. Returns what the error means."""
        kind, connection = error_kind(error), self._connection
        if kind is not ErrorKind.LOST and connection is not None and not connection.is_closed():
            with suppress(Exception):
                if connection.is_in_transaction():
                    await connection.execute("ROLLBACK")
                return kind
        self.drop()
        return ErrorKind.LOST

    def drop(self) -> None:
        if self._connection is not None:
            self._connection.terminate()
            self._connection = None

    async def close(self) -> None:
        # Cleared first: `connected` then opens another one while this one is being closed.
        connection, self._connection = self._connection, None
        if connection is None:
            return
        try:
            await connection.close(timeout=CLOSE_SECONDS)
        except Exception:
            _log.debug("connection to %s not closed cleanly", self._server.safe_url)
        finally:
            connection.terminate()


class ErrorKind(Enum):
    """What an error means for its transaction."""

    LOST = auto()
    """The connection is lost; whether the transaction was committed is unknown."""
    BLOCKED = auto()
    """Another transaction held a row for too long."""
    AGAIN = auto()
    """A retry may succeed."""
    REFUSED = auto()
    """The transaction itself is at fault."""


# Class 08: connection errors. 57P: shut down, crashed, starting up, idle for too long; 25P03: idle in a
# transaction for too long; 25006: the server has become a standby.
_LOST = re.compile("08...|57P..|25P03|25006")
_BLOCKED = "55P03"
TOO_MANY = "53300"
_AGAIN = ("40001", "40P01")
# Out of disk, memory or connections; or cancelled because it took too long.
_NOT_NOW = re.compile("53...|57014")


def sqlstate(error: BaseException) -> str:
    return getattr(error, "sqlstate", None) or ""


def error_kind(error: BaseException) -> ErrorKind:
    import asyncpg

    if isinstance(error, OSError | asyncpg.InternalClientError) or _LOST.fullmatch(sqlstate(error)):
        return ErrorKind.LOST
    if sqlstate(error) == _BLOCKED:
        return ErrorKind.BLOCKED
    # A migration has invalidated a cached plan, which asyncpg has dropped by now.
    if sqlstate(error) in _AGAIN or isinstance(error, asyncpg.InvalidCachedStatementError):
        return ErrorKind.AGAIN
    return ErrorKind.REFUSED


_REASONS = {
    "25006": Reason.READ_ONLY,
    "53100": Reason.DISK_FULL,
    "53200": Reason.NO_MEMORY,
    TOO_MANY: Reason.TOO_MANY_CONNECTIONS,
    "58030": Reason.DISK_ERROR,
    "XX001": Reason.DAMAGED,
    "XX002": Reason.DAMAGED,
}


def reason_of(error: BaseException) -> Reason | None:
    """Why nothing can be written; None if the error does not prevent other writes."""
    reason = _REASONS.get(sqlstate(error))
    return Reason.UNREACHABLE if reason is None and error_kind(error) is ErrorKind.LOST else reason


def store_error(error: Exception, query: str) -> Exception:
    """The error for the caller, when a retry does not help."""
    import asyncpg

    if not isinstance(error, asyncpg.PostgresError | asyncpg.InterfaceError):
        return error
    # Only the server's own messages: those of the driver, and of class 22 (data), quote the user's values.
    is_safe = getattr(error, "severity", None) and not sqlstate(error).startswith("22")
    message = (error.args[0] if is_safe else "") or "a value does not fit"
    kind = StoreUnavailable if _NOT_NOW.fullmatch(sqlstate(error)) else StoreError
    refused = kind(f"PostgreSQL refused {query}: {message} ({type(error).__name__})")
    refused.__cause__ = error
    return refused


def undecided(url: str) -> Undecided:
    return Undecided(
        f"the connection to {url} was lost during COMMIT; check whether the change was made before you try "
        "again"
    )


_REFUSED_USER = "{url} refused the user name or the password; check both in the URL"
_UNUSABLE = {
    "28P01": _REFUSED_USER,
    "28000": _REFUSED_USER,
    "3D000": "there is no such database at {url}; create it with createdb",
    TOO_MANY: f"{{url}} has too few connections left for this user: Segue needs at least {FEWEST} and uses "
    "up to 10; raise the role's CONNECTION LIMIT or the server's max_connections",
    "42501": "the user of {url} may not connect to this database; grant CONNECT to it",
}


def unusable(error: Exception, url: str) -> StoreUnusable | None:
    """Why a server cannot be used at all; None if a retry may help."""
    sentence = _UNUSABLE.get(sqlstate(error))
    if isinstance(error, ValueError):
        # The driver's message may contain the password.
        sentence = "{url} is not a URL that can be read: postgresql://user@host:port/database"
    return StoreUnusable(sentence.format(url=url)) if sentence else None


def without_password(url: str) -> str:
    # Up to the last @: a password that was not escaped may contain @ or a slash.
    hidden = re.sub(r"(?<=://)([^:@/?]*):.*@", r"\1:***@", url)
    return re.sub(r"(?<=[?&])(\w*password)=[^&]*", r"\1=***", hidden)


async def wait(seconds: float) -> None:
    """Sleep in real time, also in tests with a manual clock."""
    await asyncio.wait([asyncio.get_running_loop().create_future()], timeout=seconds)


async def end_tasks(tasks: Sequence[asyncio.Task[None]]) -> None:
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
