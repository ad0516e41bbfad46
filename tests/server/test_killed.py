"""A server killed between a request and its response: a repeat gets the first result."""

import asyncio
from pathlib import Path

import httpx2
import pytest

from segue import Kernel, OpenTurn
from tests.eventually import eventually
from tests.server.process import Served, served

HEADERS = {"Idempotency-Key": "order-1"}
CONTENT = "3 0 killed"


async def say(server: Served, *, wait: int = 0) -> httpx2.Response:
    async with httpx2.AsyncClient(base_url=server.http, timeout=60) as http:
        return await http.post(
            f"/sessions/web:1/turns?wait={wait}", json={"content": CONTENT}, headers=HEADERS
        )


async def kill(server: Served) -> None:
    server.process.kill()
    await asyncio.to_thread(server.process.join, 20)


@pytest.mark.parametrize("answered", [True, False])
async def test_an_idempotent_request_is_executed_once_across_a_kill(
    answered: bool, database_url: str, tmp_path: Path
) -> None:
    """CONTRACT §3, `Idempotency-Key`: whether or not the first response arrived before the kill."""
    first = None
    with served(database_url, "--no-workers") as server:
        if answered:
            first = (await say(server)).json()
        else:
            async with asyncio.TaskGroup() as both:
                # The message is stored, and its caller waits for a turn that no worker runs.
                both.create_task(_send_and_lose_connection(server))
                await _wait_until_stored(database_url)
                await kill(server)
        if answered:
            await kill(server)
    with served(database_url) as server:
        again = await say(server, wait=30)
        repeated = await say(server)
    assert again.status_code == 200
    assert repeated.json()["turn_id"] == again.json()["turn_id"]
    if first is not None:
        assert repeated.json() == first
    async with Kernel(database_url, agent=_no_agent) as kernel:
        messages = [(message.role, message.content) for message in await kernel.messages("web:1")]
        assert [role for role, _ in messages] == ["user", "assistant"]
        assert messages[0][1] == CONTENT
        assert not await kernel.audit()


async def _send_and_lose_connection(server: Served) -> None:
    with pytest.raises(httpx2.TransportError):
        await say(server, wait=30)


async def _wait_until_stored(url: str) -> None:
    """Wait until another process sees the stored message."""
    async with Kernel(url, agent=_no_agent) as kernel:
        await eventually(kernel.sessions.list, "the message is stored")


async def _no_agent(turn: OpenTurn) -> str:
    raise AssertionError("this process must run no turn")
