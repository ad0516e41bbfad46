"""A small MCP server over HTTP: `python -m tests.tools.http_server PORT`."""

import os
import sys

from mcp.server.mcpserver import MCPServer
from mcp.server.mcpserver.exceptions import ToolError

server = MCPServer("desk")


@server.tool()
def add(first: int, second: int) -> int:
    """Add two numbers."""
    return first + second


@server.tool()
def fail() -> str:
    """Fail."""
    raise ToolError("the desk is locked")


@server.tool()
def leave() -> str:
    """Go away in the middle of a call."""
    os._exit(3)


if __name__ == "__main__":
    server.run("streamable-http", host="127.0.0.1", port=int(sys.argv[1]))
