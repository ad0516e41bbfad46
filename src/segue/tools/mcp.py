"""MCP servers as further tools: programs that speak on their standard streams, and servers that speak HTTP.

Each call opens a connection, uses it and closes it. That costs a start of the program or a handshake, and
buys that nothing is held between turns, no server's crash reaches a turn that does not use it, and a stop
closes everything. What a server offers is asked for once in a while and remembered.

The library is imported when the first server is asked: it takes longer to load than all of the house.
"""

import asyncio
import logging
import re
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from importlib import import_module
from typing import TYPE_CHECKING, Any

from segue.errors import BadSetting
from segue.tools.registry import Tool, ToolContext, ToolRefused

if TYPE_CHECKING:
    from mcp import Client
    from mcp.types import CallToolResult

_log = logging.getLogger(__name__)

_REMEMBERED_MS = 300_000
_RETRIED_MS = 30_000
"""When a server that did not answer is asked again for what it offers."""
_LISTING_SECONDS = 15.0
_CALL_SECONDS = 60.0
_MOST_TOOLS = 100
_LONGEST_DESCRIPTION = 1_000
_ODD = re.compile(r"[^a-zA-Z0-9_-]+")
_LONGEST_NAME = 64
"""What the providers allow."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Server:
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
        if not self.name or _ODD.search(self.name):
            raise BadSetting(f"the name of an MCP server has letters, digits, '_' and '-', got {self.name!r}")


class McpTools:
    """The tools of one server, their names behind the server's."""

    def __init__(self, server: Server) -> None:
        self._server = server
        self._known: Sequence[Tool] = ()
        self._ask_at: int | None = None

    async def tools(self, context: ToolContext) -> Sequence[Tool]:
        clock = context.kernel.clock
        if self._ask_at is None or clock.steady_ms() >= self._ask_at:
            asked, remembered = await self._asked()
            self._known = asked
            self._ask_at = clock.steady_ms() + remembered
        return self._known

    async def _asked(self) -> tuple[Sequence[Tool], int]:
        """What the server offers now, and for how long that is good."""
        try:
            async with asyncio.timeout(_LISTING_SECONDS), self._connected() as client:
                return await self._listed(client), _REMEMBERED_MS
        except Exception as error:  # a turn goes on without a server that is down
            _log.warning(
                "the MCP server %s did not say what it offers: %s", self._server.name, _reason(error)
            )
        return self._known, _RETRIED_MS

    async def _listed(self, client: "Client") -> list[Tool]:
        tools: dict[str, Tool] = {}
        cursor: str | None = None
        while True:
            page = await client.list_tools(cursor=cursor)
            for offered in page.tools:
                tool = self._tool(offered.name, offered.description or "", offered.input_schema)
                tools.setdefault(tool.name, tool)
            cursor = page.next_cursor
            if cursor is None or len(tools) >= _MOST_TOOLS:
                return list(tools.values())[:_MOST_TOOLS]

    def _tool(self, name: str, description: str, schema: Mapping[str, Any]) -> Tool:
        async def run(context: ToolContext, /, **arguments: Any) -> str:
            return await self._call(name, arguments)

        return Tool(
            name=_ODD.sub("_", f"{self._server.name}_{name}")[:_LONGEST_NAME],
            description=description[:_LONGEST_DESCRIPTION],
            parameters=schema,
            run=run,
            timeout_seconds=_CALL_SECONDS,
            foreign=True,
            outside=True,
        )

    async def _call(self, name: str, arguments: dict[str, Any]) -> str:
        try:
            async with self._connected() as client:
                result = await client.call_tool(name, arguments)
        except Exception as error:
            raise ToolRefused(
                f"the MCP server {self._server.name} could not do it: {_reason(error)}"
            ) from error
        if result.is_error:
            raise ToolRefused(_text(result) or f"{name} failed and did not say why")
        return _text(result)

    @asynccontextmanager
    async def _connected(self) -> AsyncIterator["Client"]:
        # Seconds of work on a small machine, in which no other turn may stand still.
        await asyncio.to_thread(import_module, "mcp")
        import httpx2
        from mcp import Client, StdioServerParameters
        from mcp.client.streamable_http import streamable_http_client

        server = self._server
        if server.command is not None:
            program = StdioServerParameters(
                command=server.command, args=list(server.args), env=dict(server.env) or None
            )
            async with Client(program) as client:
                yield client
        else:
            async with (
                httpx2.AsyncClient(headers=server.headers, timeout=_CALL_SECONDS) as http,
                Client(streamable_http_client(server.url or "", http_client=http)) as client,
            ):
                yield client


def _text(result: "CallToolResult") -> str:
    """The words of a result; of the rest, that it is there."""
    blocks = (
        block.text if block.type == "text" else f"({block.type} content, not shown)"
        for block in result.content
    )
    return "\n".join(blocks)


def _reason(error: BaseException) -> str:
    """The first cause: the library runs tasks in groups, and their errors come in groups of groups."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return str(error) or type(error).__name__
