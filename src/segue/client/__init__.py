"""Typed clients of the HTTP API, with the verbs of the kernel: `Client` blocks, `AsyncClient` is awaited.

    async with AsyncClient("http://localhost:8000", key="…") as client:
        turn = await client.wait(await client.receive("websocket:home", "Good morning"))
        print(turn.reply)

They need the extra `client`.
"""

from segue.client.async_client import AsyncClient
from segue.client.blocking import Client

__all__ = ["AsyncClient", "Client"]
