"""Serves an ASGI application on a free port of loopback, in the program of a peer."""

import asyncio
import socket
from typing import Any

import uvicorn

_running: set[asyncio.Task[None]] = set()


async def listening(app: Any) -> int:
    """The port; the server runs until the process ends."""
    listener = socket.create_server(("127.0.0.1", 0), backlog=2_048)
    server = uvicorn.Server(uvicorn.Config(app, log_level="error", access_log=False))
    _running.add(asyncio.get_running_loop().create_task(server.serve([listener])))
    while not server.started:  # noqa: ASYNC110
        await asyncio.sleep(0.01)
    return int(listener.getsockname()[1])
