"""A connection to one MCP server, kept from call to call.

A task of its own opens it, holds it and closes it: the library wants all of that in one place. One that may
have died in the meantime is asked for a sign of life before it is used, so that no call is made twice to find
out. Whoever gives up waiting for it gives up nothing for the others.

The library is imported with the first connection: it takes longer to load than all of the house.
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
from segue.record import record

if TYPE_CHECKING:
    from mcp import Client

_log = logging.getLogger(__name__)

OPENING_SECONDS = 15.0
CALL_SECONDS = 60.0
_SIGN_SECONDS = 5.0
_CLOSING_SECONDS = 5.0
ODD = re.compile(r"[^a-zA-Z0-9_-]+")
"""What a provider does not allow in the name of a tool."""


@record
class McpEndpoint:
    """Where one is: a command to start, or a URL to call."""

    name: str
    command: str | None = None
    args: Sequence[str] = ()
    env: Mapping[str, str] = field(default_factory=dict)
    url: str | None = None
    headers: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if (self.command is None) == (self.url is None):
            raise BadSetting(f"the MCP server {self.name!r} needs a command or a url, and not both")
        if not self.name or ODD.search(self.name):
            raise BadSetting(f"the name of an MCP server has letters, digits, '_' and '-', got {self.name!r}")


class NotConnected(Exception):
    """There is no connection, and this is why."""


class _Held:
    """One connection, from the moment it is wanted to its end."""

    def __init__(self) -> None:
        self.client: Client | None = None
        self.error: Exception | None = None
        self.decided = asyncio.Event()
        """It is open, or cannot be opened."""
        self.let_go = asyncio.Event()


class McpConnection:
    """Opened, it may connect; closed, it has left its server."""

    def __init__(self, server: McpEndpoint) -> None:
        self._server = server
        self._held: _Held | None = None
        self._one_at_a_time = asyncio.Lock()
        self._tasks: asyncio.TaskGroup | None = None

    async def __aenter__(self) -> Self:
        self._tasks = await asyncio.TaskGroup().__aenter__()
        return self

    async def __aexit__(self, *raised: Any) -> None:
        tasks, self._tasks = self._tasks, None
        assert tasks is not None  # it was opened
        self._leave()
        try:
            async with asyncio.timeout(_CLOSING_SECONDS):
                await tasks.__aexit__(None, None, None)
        except TimeoutError:
            _log.warning("the MCP server %s did not let go in time", self._server.name)

    async def client(self) -> "Client":
        """One that answers: the one at hand, or a new one."""
        async with self._one_at_a_time:
            held = self._held
            if held is None or (held.client is not None and not await _shows_life(held.client)):
                held = self._connect()
            await held.decided.wait()
            if held.client is None:
                raise NotConnected(reason(held.error)) from held.error
            return held.client

    def _connect(self) -> _Held:
        if self._tasks is None:
            raise NotConnected("its tools are used outside of `async with`")
        self._leave()
        held = self._held = _Held()
        self._tasks.create_task(self._hold(held))
        return held

    def _leave(self) -> None:
        if self._held is not None:
            self._held.let_go.set()
            self._held = None

    async def _hold(self, held: _Held) -> None:
        try:
            async with AsyncExitStack() as opened:
                async with asyncio.timeout(OPENING_SECONDS):
                    held.client = await opened.enter_async_context(_connected(self._server))
                held.decided.set()
                await held.let_go.wait()
        except Exception as error:
            held.error = error
            if held.client is not None:
                _log.info("the connection to the MCP server %s ended: %s", self._server.name, reason(error))
        finally:
            held.decided.set()
            if self._held is held:
                self._held = None


async def _shows_life(client: "Client") -> bool:
    """Whatever it answers; a server that has no ping says so, which will do."""
    from mcp import MCPError
    from mcp.types import CONNECTION_CLOSED

    try:
        async with asyncio.timeout(_SIGN_SECONDS):
            await client.session.send_ping()
    except MCPError as error:
        return error.code != CONNECTION_CLOSED
    except Exception:
        return False
    return True


@asynccontextmanager
async def _connected(server: McpEndpoint) -> AsyncIterator["Client"]:
    # Seconds of work on a small machine, in which no other turn may stand still.
    await asyncio.to_thread(import_module, "mcp")
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
    """The first cause: the library runs tasks in groups, and their errors come in groups of groups."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return str(error) or type(error).__name__
