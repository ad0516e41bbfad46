"""MCP connection: one connection to one MCP server, kept between calls.

One task opens, holds and closes the connection, because the MCP library requires that. Before each use the
server is pinged, so that a call need not be repeated to find a dead connection. A caller that stops waiting
does not cancel the connection for the others.

The MCP library is imported with the first connection: it takes longer to load than the rest of Segue.
"""

import asyncio
import logging
import re
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import field
from importlib import import_module
from typing import TYPE_CHECKING, Any, Self

from segue.errors import BadSetting
from segue.extras import needed_for
from segue.record import record

if TYPE_CHECKING:
    from mcp import Client

_log = logging.getLogger(__name__)

OPENING_SECONDS = 15.0
CALL_SECONDS = 60.0
_PING_SECONDS = 5.0
_CLOSING_SECONDS = 5.0
NOT_IN_NAMES = re.compile(r"[^a-zA-Z0-9_-]+")
"""Characters that providers do not allow in the name of a tool."""


@record
class McpEndpoint:
    """How to reach an MCP server: a command to start, or a URL to call."""

    name: str
    command: str | None = None
    args: Sequence[str] = ()
    env: Mapping[str, str] = field(default_factory=dict)
    url: str | None = None
    headers: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if (self.command is None) == (self.url is None):
            raise BadSetting(f"the MCP server {self.name!r} needs a command or a url, and not both")
        if not self.name or NOT_IN_NAMES.search(self.name):
            raise BadSetting(f"the name of an MCP server has letters, digits, '_' and '-', got {self.name!r}")


class NotConnected(Exception):
    """There is no connection; the message says why."""


class _Attempt:
    """One attempt to connect, and the connection if it succeeds."""

    def __init__(self) -> None:
        self.client: Client | None = None
        self.error: Exception | None = None
        self.finished = asyncio.Event()
        """Set when the connection is open, or could not be opened."""
        self.closing = asyncio.Event()


class McpConnection:
    """Connects on first use within `async with`, and reconnects when the server is gone."""

    def __init__(self, server: McpEndpoint) -> None:
        self._server = server
        self._current: _Attempt | None = None
        self._lock = asyncio.Lock()
        self._tasks: asyncio.TaskGroup | None = None

    async def __aenter__(self) -> Self:
        self._tasks = await asyncio.TaskGroup().__aenter__()
        return self

    async def __aexit__(self, *raised: Any) -> None:
        tasks, self._tasks = self._tasks, None
        assert tasks is not None  # set by __aenter__
        self._close()
        try:
            async with asyncio.timeout(_CLOSING_SECONDS):
                await tasks.__aexit__(None, None, None)
        except TimeoutError:
            _log.warning("MCP connection not closed in time, server %s", self._server.name)

    async def client(self) -> "Client":
        """Return a client that answers, connecting if necessary. Raises `NotConnected`."""
        async with self._lock:
            attempt = self._current
            if attempt is None or (attempt.client is not None and not await _is_alive(attempt.client)):
                attempt = self._connect()
            await attempt.finished.wait()
            if attempt.client is None:
                raise NotConnected(reason(attempt.error)) from attempt.error
            return attempt.client

    def _connect(self) -> _Attempt:
        if self._tasks is None:
            raise NotConnected("its tools are used outside of `async with`")
        self._close()
        attempt = self._current = _Attempt()
        self._tasks.create_task(self._hold(attempt))
        return attempt

    def _close(self) -> None:
        if self._current is not None:
            self._current.closing.set()
            self._current = None

    async def _hold(self, attempt: _Attempt) -> None:
        try:
            # The import takes seconds on a small machine, which are not the server's; in a thread it does not
            # block other turns.
            with needed_for("an MCP server", "mcp"):
                await asyncio.to_thread(import_module, "mcp")
            async with AsyncExitStack() as opened:
                async with asyncio.timeout(OPENING_SECONDS):
                    attempt.client = await opened.enter_async_context(_connected(self._server))
                attempt.finished.set()
                await attempt.closing.wait()
        except Exception as error:
            attempt.error = error
            if attempt.client is not None:
                _log.info("MCP connection lost, server %s: %s", self._server.name, reason(error))
        finally:
            attempt.finished.set()
            if self._current is attempt:
                self._current = None


async def _is_alive(client: "Client") -> bool:
    """Ping the server. Any answer counts, also that it does not support ping."""
    from mcp import MCPError
    from mcp.types import CONNECTION_CLOSED

    try:
        async with asyncio.timeout(_PING_SECONDS):
            await client.session.send_ping()
    except MCPError as error:
        return error.code != CONNECTION_CLOSED
    except Exception:
        return False
    return True


@asynccontextmanager
async def _connected(server: McpEndpoint) -> AsyncIterator["Client"]:
    with needed_for("an MCP server", "mcp"):
        import httpx2
    from mcp import Client, StdioServerParameters
    from mcp.client.streamable_http import streamable_http_client

    if server.command is not None:
        program = StdioServerParameters(
            command=server.command, args=list(server.args), env=dict(server.env) or None
        )
        async with Client(program) as client:
            yield client
    else:
        async with (
            httpx2.AsyncClient(headers=server.headers, timeout=CALL_SECONDS) as http,
            Client(streamable_http_client(server.url or "", http_client=http)) as client,
        ):
            yield client


def reason(error: BaseException | None) -> str:
    """Return the first cause as text: the MCP library raises nested exception groups."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return str(error) or type(error).__name__
