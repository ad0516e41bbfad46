"""Unified mode: a turn outlives the chat that it came through, and is then shown in the common session."""

from collections.abc import AsyncIterator
from contextlib import aclosing

import httpx2
import pytest_asyncio

from segue import Kernel, Settings
from segue.config import Configuration
from segue.kernel.transactions.unified import KEY
from segue.server import create_app
from segue.server.routes.live import session_events
from segue.server.schemas.events import WireEvent
from segue.testing import ManualClock, ScriptedAgent, quiet
from tests.server.conftest import reach

CHAT = "websocket:tea"
UNIFIED = Settings(unified_session=True)
ONCE = {"Idempotency-Key": "a-key-of-one-request"}
RUN = {
    "assistant_id": "segue",
    "input": {"messages": [{"role": "user", "content": "Hello"}]},
    "if_not_exists": "create",
}


@pytest_asyncio.fixture(loop_scope="session")
async def kernel(database_url: str, agent: ScriptedAgent) -> AsyncIterator[Kernel]:
    async with Kernel(database_url, agent=agent, settings=UNIFIED) as kernel:
        yield kernel
        assert not await kernel.audit()


async def turn_of_a_deleted_chat(kernel: Kernel) -> str:
    turn = await kernel.wait(await kernel.receive(CHAT, "Hello"))
    await kernel.sessions.delete(CHAT)
    return turn.id


async def test_a_turn_is_read(http: httpx2.AsyncClient, kernel: Kernel) -> None:
    turn_id = await turn_of_a_deleted_chat(kernel)
    for path in (f"/turns/{turn_id}", f"/turns/{turn_id}?wait=1"):
        turn = (await http.get(path)).raise_for_status().json()
        assert (turn["session_key"], turn["reply"]) == (KEY, "ok")


async def test_a_turn_is_cancelled(database_url: str, agent: ScriptedAgent) -> None:
    """A server in another mode does not withdraw the turns of a chat that it deletes."""
    async with Kernel(database_url, agent=agent, settings=UNIFIED) as before:
        waiting = await before.receive(CHAT, "Hello")
    async with Kernel(database_url, agent=agent) as kernel:
        await kernel.sessions.delete(CHAT)
        async with reach(create_app(kernel, Configuration(database=database_url))) as http:
            cancelled = (await http.post(f"/turns/{waiting.turn_id}/cancel")).raise_for_status().json()
    assert (cancelled["session_key"], cancelled["state"]) == (KEY, "cancelled")


async def test_a_response_of_openai_is_retrieved_and_continued(
    http: httpx2.AsyncClient, kernel: Kernel, agent: ScriptedAgent
) -> None:
    response = f"resp_{await turn_of_a_deleted_chat(kernel)}"
    found = (await http.get(f"/v1/responses/{response}")).raise_for_status()
    assert (found.json()["conversation"]["id"], found.headers["X-Segue-Session"]) == (KEY, KEY)
    body = {"model": "segue", "input": "And then?", "previous_response_id": response}
    (await http.post("/v1/responses", json=body)).raise_for_status()
    assert [message.content for message in agent.asked[-1].history] == ["Hello", "ok"]


async def test_a_repeated_request_to_langgraph_finds_its_run(
    http: httpx2.AsyncClient, kernel: Kernel
) -> None:
    path = "/langgraph/threads/tea/runs"
    first = (await http.post(path, json=RUN, headers=ONCE)).raise_for_status().json()
    waits = ONCE | {"Idempotency-Key": "a-key-of-another-request"}
    (await http.post(f"{path}/wait", json=RUN, headers=waits)).raise_for_status()
    await kernel.sessions.delete(CHAT)
    again = (await http.post(path, json=RUN, headers=ONCE)).raise_for_status().json()
    assert (again["run_id"], again["thread_id"]) == (first["run_id"], KEY)
    values = (await http.post(f"{path}/wait", json=RUN, headers=waits)).raise_for_status().json()
    assert [message["content"] for message in values["messages"]] == ["Hello", "ok"] * 2
    run = (await http.get(f"/langgraph/threads/{KEY}/runs/{first['run_id']}")).raise_for_status()
    assert run.json() == again | {"status": "success", "updated_at": run.json()["updated_at"]}


async def test_the_common_log_is_followed_past_a_recall_of_the_chat(
    database_url: str, agent: ScriptedAgent
) -> None:
    clock = ManualClock()
    async with Kernel(database_url, agent=agent, settings=UNIFIED, clock=clock) as kernel:
        await kernel.receive(CHAT, "Hello")
        await quiet(kernel)
        await kernel.recalls.add(CHAT, "Look.", when="30m")
        clock.advance(minutes=30)
        await quiet(kernel)
        await kernel.sessions.delete(CHAT)
        common = await kernel.sessions.get(KEY)
        events: list[WireEvent] = []
        async with aclosing(session_events(kernel, common, 0)) as following:
            async for event in following:
                events.append(event)
                if event["seq"] == common.last_seq:
                    break
    assert {event["recall"] for event in events if event["type"] == "recall_update"} == {None}
