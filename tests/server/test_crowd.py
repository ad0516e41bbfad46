"""Many clients and many turns at once: every client receives every event, in order."""

import asyncio
import json
import socket
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
        first = json.loads(await socket.recv())  # the message that created the session
        listener.receive(first)
        ready.release()
        while not listener.over:
            listener.receive(json.loads(await socket.recv()))


@pytest.mark.serial
async def test_every_client_receives_every_event_in_order(tmp_path: Path) -> None:
    ready = asyncio.Semaphore(0)
    listeners = [Listener(f"web:{number % TURNS}") for number in range(CLIENTS)]
    with served(f"sqlite:///{tmp_path}/segue.db") as server:
        async with (
            asyncio.timeout(300),
            httpx2.AsyncClient(base_url=server.http, timeout=60) as http,
            asyncio.TaskGroup() as clients,
        ):
            for turn in range(TURNS):
                body = {"role": "system", "content": "Be brief."}
                await http.post(f"/sessions/web:{turn}/messages", json=body)
            for listener in listeners:
                clients.create_task(listen(server, listener, ready))
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
        # Of a thousand clients, the last may still be reading the log when their turn begins. They get the
        # text so far as one piece, which is marked as a replay.
        assert listener.replayed <= (1 if LONG else 0)


@pytest.mark.serial
async def test_a_client_that_does_not_read_slows_neither_the_turn_nor_the_others(tmp_path: Path) -> None:
    """Issue 3. Its unread events fill all buffers; then it falls behind and reads on from the log."""
    asked = "30000 0 slow"
    idle, busy = Listener("web:1"), Listener("web:1")
    with socket.socket() as narrow, served(f"sqlite:///{tmp_path}/segue.db") as server:
        narrow.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        narrow.connect(("127.0.0.1", server.port))
        narrow.setblocking(False)
        async with (
            asyncio.timeout(120),
            httpx2.AsyncClient(base_url=server.http, timeout=60) as http,
            connect(server.ws, sock=narrow, max_queue=1, ping_interval=None) as slow,
            connect(server.ws) as quick,
        ):
            await http.post("/sessions/web:1/messages", json={"role": "system", "content": "Be brief."})
            await slow.send(json.dumps({"type": "subscribe", "session": "web:1", "after": 0}))
            idle.receive(json.loads(await slow.recv()))
            async with asyncio.TaskGroup() as both:
                both.create_task(busy.follow(quick))
                await http.post("/sessions/web:1/turns", json={"content": asked})
            # The turn has ended and the quick client has its end, before the slow client reads on.
            ended = (await http.get("/sessions/web:1")).json()
            assert ended["state"] == "idle"
            while not idle.over:
                idle.receive(json.loads(await slow.recv()))
    assert busy.text == idle.text == text_of(asked)
    # Pieces that could not be sent in time arrive joined.
    assert idle.pieces < busy.pieces
