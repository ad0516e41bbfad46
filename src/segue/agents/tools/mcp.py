"""MCP tools: offers the tools of MCP servers, over standard streams or HTTP.

The connection to a server is kept between calls (`mcp_connection.py`). A server's crash affects only turns
that use it. The list of a server's tools is cached for five minutes.
"""

import asyncio
import logging
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Self

from segue.agents.tools.mcp_connection import (
    CALL_SECONDS,
    NOT_IN_NAMES,
    OPENING_SECONDS,
    McpConnection,
    McpEndpoint,
    reason,
)
from segue.agents.tools.registry import Tool, ToolContext, ToolRefused

if TYPE_CHECKING:
    from mcp import Client
    from mcp.types import CallToolResult

_log = logging.getLogger(__name__)

_CACHE_MS = 300_000
_RETRY_MS = 30_000
"""Until a server that did not list its tools is asked again."""
_LISTING_SECONDS = OPENING_SECONDS + 5
_MOST_TOOLS = 100
_LONGEST_DESCRIPTION = 1_000
_LONGEST_NAME = 64
"""The longest tool name that providers allow."""


class McpTools:
    """The tools of one server, prefixed with its name. Use it within `async with`."""

    def __init__(self, server: McpEndpoint) -> None:
        self._server = server
        self._connection = McpConnection(server)
        self._known: Sequence[Tool] = ()
        self._refresh_at: int | None = None

    async def __aenter__(self) -> Self:
        await self._connection.__aenter__()
        return self

    async def __aexit__(self, *raised: Any) -> None:
        await self._connection.__aexit__(*raised)

    async def tools(self, context: ToolContext) -> Sequence[Tool]:
        clock = context.kernel.clock
        if self._refresh_at is None or clock.steady_ms() >= self._refresh_at:
            self._known, valid_ms = await self._refreshed()
            self._refresh_at = clock.steady_ms() + valid_ms
        return self._known

    async def _refreshed(self) -> tuple[Sequence[Tool], int]:
        """Return the server's tools, and for how many milliseconds to keep them."""
        try:
            async with asyncio.timeout(_LISTING_SECONDS):
                return await self._listed(await self._connection.client()), _CACHE_MS
        except Exception as error:  # a turn continues without a server that is down
            _log.warning("MCP tools not listed by server %s: %s", self._server.name, reason(error))
        return self._known, _RETRY_MS

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
            name=NOT_IN_NAMES.sub("_", f"{self._server.name}_{name}")[:_LONGEST_NAME],
            description=description[:_LONGEST_DESCRIPTION],
            parameters=schema,
            run=run,
            timeout_seconds=CALL_SECONDS,
            foreign=True,
            outside=True,
        )

    async def _call(self, name: str, arguments: dict[str, Any]) -> str:
        try:
            client = await self._connection.client()
            result = await client.call_tool(name, arguments)
        except Exception as error:
            raise ToolRefused(
                f"the MCP server {self._server.name} could not do it: {reason(error)}"
            ) from error
        if result.is_error:
            raise ToolRefused(_text(result) or f"{name} failed and did not say why")
        return _text(result)


def _text(result: "CallToolResult") -> str:
    """Return the text of a result; other content is only named."""
    blocks = (
        block.text if block.type == "text" else f"({block.type} content, not shown)"
        for block in result.content
    )
    return "\n".join(blocks)
