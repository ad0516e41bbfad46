"""MCP servers as further tools: programs that speak on their standard streams, and servers that speak HTTP.

The connection to a server is kept from call to call (`connection.py`); a server's crash reaches no turn that
does not use it. What a server offers is asked for once in a while and remembered.
"""

import asyncio
import logging
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Self

from segue.agents.tools.mcp_connection import (
    CALL_SECONDS,
    ODD,
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

_REMEMBERED_MS = 300_000
_RETRIED_MS = 30_000
"""When a server that did not answer is asked again for what it offers."""
_LISTING_SECONDS = OPENING_SECONDS + 5
_MOST_TOOLS = 100
_LONGEST_DESCRIPTION = 1_000
_LONGEST_NAME = 64
"""What the providers allow."""


class McpTools:
    """The tools of one server, their names behind the server's. Used within `async with`."""

    def __init__(self, server: McpEndpoint) -> None:
        self._server = server
        self._connection = McpConnection(server)
        self._known: Sequence[Tool] = ()
        self._ask_at: int | None = None

    async def __aenter__(self) -> Self:
        await self._connection.__aenter__()
        return self

    async def __aexit__(self, *raised: Any) -> None:
        await self._connection.__aexit__(*raised)

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
            async with asyncio.timeout(_LISTING_SECONDS):
                return await self._listed(await self._connection.client()), _REMEMBERED_MS
        except Exception as error:  # a turn goes on without a server that is down
            _log.warning("the MCP server %s did not say what it offers: %s", self._server.name, reason(error))
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
            name=ODD.sub("_", f"{self._server.name}_{name}")[:_LONGEST_NAME],
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
    """The words of a result; of the rest, that it is there."""
    blocks = (
        block.text if block.type == "text" else f"({block.type} content, not shown)"
        for block in result.content
    )
    return "\n".join(blocks)
