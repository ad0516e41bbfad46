"""Clients that reconnect during a turn, at a real server, end with exactly its text."""

import asyncio
import json
import random
from pathlib import Path

import httpx2
from websockets.asyncio.client import connect

from tests.server.listener import Listener, follow_with_reconnects
from tests.server.process import LONG, Served, served
from tests.server.script import text_of

RUNS = 200 if LONG else 20
AT_ONCE = 10


async def say(server: Served, session: str, asked: str) -> str:
    async with httpx2.AsyncClient(base_url=server.http) as http:
        said = await http.post(f"/sessions/{session}/turns", json={"content": asked})
        assert said.status_code == 202, said.text
        return str(said.json()["turn_id"])


async def one_run(server: Served, seed: int, limit: asyncio.Semaphore) -> int:
    async with limit:
        rng = random.Random(seed)
        session, asked = f"web:{seed}", f"{rng.randrange(40, 120)} {rng.randrange(1, 8)} {seed}"
        turn_id = await say(server, session, asked)
        listener = Listener(session)
        connections = await follow_with_reconnects(server.ws, listener, rng)
        assert listener.text == text_of(asked)
        assert listener.end is not None
        assert (listener.end["reply"], listener.end["turn_id"]) == (listener.text, turn_id)
        assert (listener.end["state"], listener.end["outcome"]) == ("done", "ok")
        assert listener.types == [
            "stream_start",
            "tool_started",
            "tool_call",
            "stream_end",
            "session_sync",
        ]
        assert listener.synced is not None
        assert (listener.synced["state"], listener.synced["key"]) == ("idle", session)
        return connections


async def test_a_client_that_reconnects_ends_with_exactly_the_text(tmp_path: Path) -> None:
    with served(f"sqlite:///{tmp_path}/segue.db") as server:
        limit = asyncio.Semaphore(AT_ONCE)
        async with asyncio.timeout(60 + RUNS), asyncio.TaskGroup() as runs:
            tasks = [runs.create_task(one_run(server, seed, limit)) for seed in range(RUNS)]
    assert sum(task.result() for task in tasks) > 2 * RUNS, "too few of them came back"


async def test_a_turn_of_another_process_is_read_from_its_log_and_its_draft(
    migrated_postgres_url: str,
) -> None:
    with served(migrated_postgres_url) as works, served(migrated_postgres_url, "--no-workers") as watches:
        asked = "120 20 elsewhere"
        await say(watches, "web:1", asked)
        listener = Listener("web:1")
        async with asyncio.timeout(60), connect(watches.ws) as socket:
            await listener.follow(socket)
        assert listener.text == text_of(asked)
        assert listener.pieces > 2, "all of it came at the end"
        assert works.process.is_alive()


async def test_a_turn_continues_after_its_client_disconnects(database_url: str) -> None:
    asked = "50 5 gone"
    with served(database_url) as server:
        async with connect(server.ws) as socket:
            said = {"type": "message", "session": "web:1", "content": asked, "id": "a"}
            await socket.send(json.dumps(said))
            assert json.loads(await socket.recv())["type"] == "accepted"
        listener = Listener("web:1")
        async with asyncio.timeout(30), connect(server.ws) as socket:
            await listener.follow(socket)
        assert listener.text == text_of(asked)
