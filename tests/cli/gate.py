"""A gate on loopback: agents of other processes wait at it until the test opens it."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

_TIMEOUT_SECONDS = 60


class Gate:
    port: int

    def __init__(self) -> None:
        self._open = asyncio.Event()
        self._arrived = asyncio.Event()

    async def wait_for_agent(self) -> None:
        async with asyncio.timeout(_TIMEOUT_SECONDS):
            await self._arrived.wait()

    def open(self) -> None:
        """Let all waiting and later agents pass."""
        self._open.set()

    async def _let_in(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._arrived.set()
        await self._open.wait()
        writer.close()


@asynccontextmanager
async def gate_on_loopback() -> AsyncIterator[Gate]:
    gate = Gate()
    server = await asyncio.start_server(gate._let_in, "127.0.0.1", 0)
    gate.port = server.sockets[0].getsockname()[1]
    try:
        yield gate
    finally:
        gate.open()
        server.close()
