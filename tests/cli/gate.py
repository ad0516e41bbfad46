"""A gate that agents of other processes come to, and wait at."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

_PATIENCE = 60


class Gate:
    port: int

    def __init__(self) -> None:
        self._open = asyncio.Event()
        self._somebody = asyncio.Event()

    async def somebody_waits(self) -> None:
        async with asyncio.timeout(_PATIENCE):
            await self._somebody.wait()

    def open(self) -> None:
        """For whoever waits, and for whoever comes."""
        self._open.set()

    async def _let_in(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._somebody.set()
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
