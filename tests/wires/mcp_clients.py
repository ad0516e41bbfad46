"""The official MCP client over HTTP, and a server on loopback in the test's process for it."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, Literal

import httpx2
from fastapi import FastAPI
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from mcp.types import CallToolResult, TextContent, TextResourceContents

from segue.cli.support.http_server import HttpServer, address_of, listening_socket
from tests.server.conftest import bearer

Mode = Literal["legacy", "auto"]
REVISIONS: dict[Mode, str] = {"auto": "2026-07-28", "legacy": "2025-11-25"}
SECONDS = 60


@asynccontextmanager
async def listening(app: FastAPI) -> AsyncIterator[str]:
    """Serve an app as `segue serve` does, and run its lifespan. Yields the address."""
    with listening_socket("127.0.0.1", 0) as listening:
        async with asyncio.TaskGroup() as tasks:
            server = HttpServer(app)
            tasks.create_task(server.serve([listening]))
            await server.ready.wait()
            try:
                yield address_of(listening)
            finally:
                server.should_exit = True


@asynccontextmanager
async def connected(
    address: str,
    session: str | None = None,
    *,
    key: str | None = None,
    mode: Mode = "auto",
    path: str = "/mcp",
    **options: Any,
) -> AsyncIterator[Client]:
    """The official client, bound to a session by the header."""
    headers = {**(bearer(key) if key else {}), **({"X-Segue-Session": session} if session else {})}
    async with (
        httpx2.AsyncClient(headers=headers, timeout=SECONDS) as http,
        Client(
            streamable_http_client(f"{address}{path}", http_client=http),
            mode=mode,
            read_timeout_seconds=SECONDS,
            **options,
        ) as client,
    ):
        yield client


def text_of(result: CallToolResult) -> str:
    (block,) = result.content
    assert isinstance(block, TextContent)
    return block.text


async def call(client: Client, tool: str, **arguments: Any) -> str:
    """Call a tool that must succeed, and return its text."""
    result = await client.call_tool(tool, arguments)
    assert not result.is_error, text_of(result)
    return text_of(result)


async def refused(client: Client, tool: str, **arguments: Any) -> str:
    """Call a tool that must refuse, and return its sentence."""
    result = await client.call_tool(tool, arguments)
    assert result.is_error, text_of(result)
    return text_of(result)


async def resource(client: Client, uri: str) -> str:
    (contents,) = (await client.read_resource(uri)).contents
    assert isinstance(contents, TextResourceContents)
    return contents.text
