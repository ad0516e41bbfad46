"""A server killed between a request and its answer: the repeat gets the first result, and nothing twice."""

import asyncio
import signal
from pathlib import Path

import httpx2
import pytest

from segue import Kernel, OpenTurn
from tests.server.process import Served, served

ONCE = {"Idempotency-Key": "order-1"}
ASKED = "3 0 killed"


async def say(server: Served, *, wait: int = 0) -> httpx2.Response:
    async with httpx2.AsyncClient(base_url=server.http, timeout=60) as http:
        return await http.post(f"/sessions/web:1/turns?wait={wait}", json={"content": ASKED}, headers=ONCE)


async def kill(server: Served) -> None:
    server.process.send_signal(signal.SIGKILL)
    await asyncio.to_thread(server.process.wait, 20)


@pytest.mark.parametrize("answered", [True, False])
async def test_a_named_request_is_done_once_though_the_server_was_killed(
    answered: bool, database_url: str, tmp_path: Path
) -> None:
    """CONTRACT §3, `Idempotency-Key`: whether or not the first answer had arrived when the server died."""
    first = None
    with served(database_url, "--no-workers") as server:
        if answered:
            first = (await say(server)).json()
        else:
            async with asyncio.TaskGroup() as both:
                # It is stored, and its caller waits for a turn that nobody works on.
                both.create_task(_cut_off(server))
                await _stored(database_url)
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
    async with Kernel(database_url, agent=_nobody) as kernel:
        told = [(message.role, message.content) for message in await kernel.messages("web:1")]
        assert [role for role, _ in told] == ["user", "assistant"]
        assert told[0][1] == ASKED
        assert not await kernel.audit()


async def _cut_off(server: Served) -> None:
    with pytest.raises(httpx2.TransportError):
        await say(server, wait=30)


async def _stored(url: str) -> None:
    """Until the words stand in the store, seen by another process."""
    async with Kernel(url, agent=_nobody) as kernel, asyncio.timeout(30):
        while not await kernel.sessions():  # noqa: ASYNC110 — it looks at what another process wrote
            await asyncio.sleep(0.01)


async def _nobody(turn: OpenTurn) -> str:
    raise AssertionError("nobody works here")
