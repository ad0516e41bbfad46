"""A crowd of listeners, many turns at once: everybody hears everything, in order."""

import asyncio
import json
from pathlib import Path

import httpx2
import pytest
from websockets.asyncio.client import connect

from tests.server.listener import Listener
from tests.server.process import LONG, Served, served
from tests.server.script import text_of

CLIENTS, TURNS = (1000, 50) if LONG else (100, 10)
PIECES = 40


async def listen(server: Served, listener: Listener, ready: asyncio.Semaphore) -> None:
    async with connect(server.ws, open_timeout=120) as socket:
        await socket.send(json.dumps({"type": "subscribe", "session": listener.session, "after": 0}))
        first = json.loads(await socket.recv())  # the message that made the session
        listener.hear(first)
        ready.release()
        while not listener.over:
            listener.hear(json.loads(await socket.recv()))


@pytest.mark.serial
async def test_everybody_hears_everything_in_order(tmp_path: Path) -> None:
    ready = asyncio.Semaphore(0)
    listeners = [Listener(f"web:{number % TURNS}") for number in range(CLIENTS)]
    with served(f"sqlite:///{tmp_path}/segue.db") as server:
        async with (
            asyncio.timeout(300),
            httpx2.AsyncClient(base_url=server.http, timeout=60) as http,
            asyncio.TaskGroup() as crowd,
        ):
            for turn in range(TURNS):
                body = {"role": "system", "content": "Be brief."}
                await http.post(f"/sessions/web:{turn}/messages", json=body)
            for listener in listeners:
                crowd.create_task(listen(server, listener, ready))
            for _ in listeners:
                await ready.acquire()
            for turn in range(TURNS):
                await http.post(f"/sessions/web:{turn}/turns", json={"content": f"{PIECES} 20 {turn}"})
    for listener in listeners:
        asked = f"{PIECES} 20 {listener.session.removeprefix('web:')}"
        assert listener.text == text_of(asked)
        assert listener.types == [
            "message",
            "stream_start",
            "tool_started",
            "tool_call",
            "stream_end",
            "session_sync",
        ]
        assert listener.replayed == 0
