"""A PostgreSQL server: how it is reached, and what its errors mean to us.

Invariants
  - every connection has limits: a client that stops in the middle of a transaction holds up nobody for long
  - a password is in no message and in no log
"""

import asyncio
import logging
import re
from collections.abc import Callable, Mapping
from enum import Enum, auto
from random import uniform
from time import monotonic
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, TypeAlias
from weakref import WeakSet

from segue.errors import StoreError, StoreUnavailable, StoreUnusable
from segue.store.last_write import Reason

if TYPE_CHECKING:
    import asyncpg

    Connection: TypeAlias = asyncpg.Connection[asyncpg.Record]

OLDEST_VERSION = 13

LIMITS = {"statement_timeout": "5s", "lock_timeout": "1s", "idle_in_transaction_session_timeout": "1500ms"}
BY_INDEX = {"enable_hashjoin": "off", "enable_mergejoin": "off"}
"""A writer names its rows: a plan made while a table was small must not walk over it when it is large."""
SETTINGS = {
    **LIMITS,
    "application_name": "segue",
    # Our statements are short: compiling one takes longer than running it.
    "jit": "off",
    "default_transaction_isolation": "read committed",
}

BEGIN = "BEGIN ISOLATION LEVEL READ COMMITTED"

FEWEST = 2
"""Connections: one that listens, and one for everything else."""

CONNECT_SECONDS = 3.0
COMMAND_SECONDS = 7.0
"""Longer than the server's own limit: it speaks first, unless it cannot be reached any more."""
CLOSE_SECONDS = 2.0
FIRST_PAUSE, LONGEST_PAUSE = 0.05, 0.5

_log = logging.getLogger(__name__)


class Endpoint:
    """Where the server is, and how to connect to it."""

    def __init__(self, url: str) -> None:
        try:
            import asyncpg
        except ImportError:
            raise StoreUnusable(
                "PostgreSQL needs the package asyncpg, which is not installed: pip install 'segue[postgres]'"
            ) from None
        self._connect = asyncpg.connect
        self._url = url
        self.shown = without_password(url)
        """The URL as people may see it."""
        self.pooled = False
        """Behind a pooler that gives each transaction whatever connection is free."""
        self.lines: WeakSet[DatabaseConnection] = WeakSet()
        self._scarce = False

    async def connect(self, settings: Mapping[str, str], *, seconds: float | None) -> "Connection":
        """`seconds`: how long a statement may take until the server counts as gone."""
        if not self.pooled:
            try:
                # Our queries are few and never change: a connection plans each of them once.
                return await self._open(
                    seconds, statement_cache_size=1000, server_settings={**SETTINGS, **settings}
                )
            except Exception as error:
                if sqlstate(error) != "08P01":
                    raise
        connection = await self._open(seconds, statement_cache_size=0)
        if not self.pooled:
            _log.info("%s takes no settings at the start: it must be a pooler", self.shown)
            self.pooled = True
        return connection

    async def make_room(self) -> None:
        """Close the connection that has been idle for longest, for a line that needs one and gets none."""
        if not self._scarce:
            self._scarce = True
            _log.warning("%s gives this user fewer connections than Segue uses: it is slower", self.shown)
        idle = [line for line in self.lines if line.is_idle]
        if idle:
            await min(idle, key=lambda line: line.idle_since).close()

    async def _open(self, seconds: float | None, **options: Any) -> "Connection":
        return await self._connect(
            self._url,
            timeout=CONNECT_SECONDS,
            command_timeout=seconds,
            max_cached_statement_lifetime=0,
            **options,
        )


def of_a_writer(lock_milliseconds: int) -> dict[str, str]:
    """The settings of a connection that writes."""
    return {**LIMITS, **BY_INDEX, "lock_timeout": f"{lock_milliseconds}ms"}


class DatabaseConnection:
    """One connection, opened again when it was lost, and lent to another line while it is idle: a role may
    be allowed fewer connections than there are lines."""

    def __init__(self, server: Endpoint, settings: Mapping[str, str] = MappingProxyType({})) -> None:
        self._server = server
        self._settings = settings
        self._connection: Connection | None = None
        self._in_use = False
        self.idle_since = 0.0
        server.lines.add(self)

    @property
    def is_idle(self) -> bool:
        return not self._in_use and self._connection is not None

    def rest(self) -> None:
        """Its user needs the connection no longer, for now."""
        self._in_use = False
        self.idle_since = monotonic()

    @property
    def opening(self) -> str:
        """What begins a transaction. Behind a pooler the connection has no settings: they go with it."""
        local = self._settings.items() if self._server.pooled else ()
        return BEGIN + "".join(f"; SET LOCAL {name} = '{value}'" for name, value in local)

    async def connected(self, keep_trying: Callable[[Exception], bool] = lambda _: True) -> "Connection":
        """The connection; what stands in its way is raised when there is no point in trying on.

        It is the caller's until it says `rest`.
        """
        self._in_use = True
        pause = FIRST_PAUSE
        while self._connection is None or self._connection.is_closed():
            try:
                self._connection = await self._server.connect(self._settings, seconds=COMMAND_SECONDS)
            except Exception as error:
                if not keep_trying(error):
                    raise
                if sqlstate(error) == TOO_MANY:
                    await self._server.make_room()
                elif pause == FIRST_PAUSE:
                    _log.warning("cannot reach %s (%s)", self._server.shown, type(error).__name__)
                # All of a server's clients are cut off in the same moment; they must not return in the same.
                await wait(pause * uniform(0.5, 1.0))
                pause = min(pause * 2, LONGEST_PAUSE)
        return self._connection

    async def recover(self, error: BaseException) -> "ErrorKind":
        """Make the connection fit for use after an error, or give it up; say what the error means."""
        fault = error_kind(error)
        if fault is not ErrorKind.LOST and await self._rolled_back():
            return fault
        self.drop()
        return ErrorKind.LOST

    async def _rolled_back(self) -> bool:
        connection = self._connection
        if connection is None or connection.is_closed():
            return False
        try:
            if connection.is_in_transaction():
                await connection.execute("ROLLBACK")
        except Exception:
            return False
        return True

    def drop(self) -> None:
        if self._connection is not None:
            self._connection.terminate()
            self._connection = None

    async def close(self) -> None:
        # Taken away first: whoever needs the line meanwhile opens another connection.
        connection, self._connection = self._connection, None
        if connection is None:
            return
        try:
            await connection.close(timeout=CLOSE_SECONDS)
        except Exception:
            _log.debug("a connection to %s did not end politely", self._server.shown)
        finally:
            connection.terminate()


class ErrorKind(Enum):
    """What an error means for the transaction that met it."""

    LOST = auto()
    """The connection is gone; nothing is said about the transaction."""
    BLOCKED = auto()
    """Somebody else holds a row for too long."""
    AGAIN = auto()
    """The same once more may well succeed."""
    REFUSED = auto()
    """The transaction itself is at fault."""


# Class 08 is connections. 57P: shut down, crashed, not yet up, idle for too long; 25P03: idle in a
# transaction for too long; 25006: it has become a standby, and the primary is elsewhere.
_LOST = re.compile("08...|57P..|25P03|25006")
_BLOCKED = "55P03"
TOO_MANY = "53300"
_AGAIN = ("40001", "40P01")
# Out of disk, memory or connections; and cancelled because it took too long.
_NOT_NOW = re.compile("53...|57014")


def sqlstate(error: BaseException) -> str:
    return getattr(error, "sqlstate", None) or ""


def error_kind(error: BaseException) -> ErrorKind:
    import asyncpg

    if isinstance(error, OSError | asyncpg.InternalClientError) or _LOST.fullmatch(sqlstate(error)):
        return ErrorKind.LOST
    if sqlstate(error) == _BLOCKED:
        return ErrorKind.BLOCKED
    # A migration has made a plan invalid that the connection had kept; by now it has forgotten it.
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
    """Why nothing can be written; None when that is not what the error says."""
    found = _REASONS.get(sqlstate(error))
    return Reason.UNREACHABLE if found is None and error_kind(error) is ErrorKind.LOST else found


def store_error(error: Exception, query: str) -> Exception:
    """What a caller hears of an error that trying again does not cure."""
    import asyncpg

    if not isinstance(error, asyncpg.PostgresError | asyncpg.InterfaceError):
        return error
    # Only the server's own words: what the driver says, and what is said of data, repeats the user's.
    said = error.args[0] if getattr(error, "severity", None) and not sqlstate(error).startswith("22") else ""
    kind = StoreUnavailable if _NOT_NOW.fullmatch(sqlstate(error)) else StoreError
    refused = kind(f"PostgreSQL refused {query}: {said or 'a value does not fit'} ({type(error).__name__})")
    refused.__cause__ = error
    return refused


def unusable(error: Exception, shown: str) -> StoreUnusable | None:
    """Why a server cannot be used at all; None if it may only be away for the moment."""
    match sqlstate(error):
        case "28P01" | "28000":
            return StoreUnusable(f"{shown} refused the user name or the password; check both in the URL")
        case "3D000":
            return StoreUnusable(f"there is no such database at {shown}; create it with createdb")
        case "53300":
            return StoreUnusable(
                f"{shown} has too few connections left for this user: Segue needs at least {FEWEST} and uses "
                "up to 10; raise the role's CONNECTION LIMIT or the server's max_connections"
            )
        case "42501":
            return StoreUnusable(f"the user of {shown} may not connect to this database; grant CONNECT to it")
    if isinstance(error, ValueError):
        # The driver's own words may contain the password.
        return StoreUnusable(f"{shown} is not a URL that can be read: postgresql://user@host:port/database")
    return None


def without_password(url: str) -> str:
    # Up to the last @, because a password that was not escaped may contain one, or a slash.
    hidden = re.sub(r"(?<=://)([^:@/?]*):.*@", r"\1:***@", url)
    return re.sub(r"(?<=[?&])(\w*password)=[^&]*", r"\1=***", hidden)


async def wait(seconds: float) -> None:
    """Let a server have some time; its time is not the kernel's, and no test moves it by hand."""
    await asyncio.wait([asyncio.get_running_loop().create_future()], timeout=seconds)
