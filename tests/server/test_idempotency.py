"""Idempotency keys: a repeated request is executed once and returns the same result."""

import asyncio

import httpx2
import pytest

from segue import Kernel, Owner, Request
from segue.errors import NameTaken
from segue.store import queries
from segue.testing import ManualClock, ScriptedAgent

ONCE = {"Idempotency-Key": "first"}


async def test_a_repeated_turn_returns_the_first_result(http: httpx2.AsyncClient, kernel: Kernel) -> None:
    said = [
        (await http.post("/sessions/web:1/turns", json={"content": "Hi"}, headers=ONCE)).json()
        for _ in range(3)
    ]
    assert said[0] == said[1] == said[2]
    waited = await http.post("/sessions/web:1/turns?wait=20", json={"content": "Hi"}, headers=ONCE)
    assert (waited.status_code, waited.json()["turn_id"]) == (200, said[0]["turn_id"])
    assert len(await kernel.messages("web:1")) == 2


async def test_two_concurrent_requests_are_one(http: httpx2.AsyncClient, kernel: Kernel) -> None:
    async with asyncio.TaskGroup() as both:
        asked = [
            both.create_task(http.post("/sessions/web:1/turns", json={"content": "Hi"}, headers=ONCE))
            for _ in range(20)
        ]
    assert len({task.result().text for task in asked}) == 1
    await kernel.wait(asked[0].result().json()["turn_id"])
    assert [message.role for message in await kernel.messages("web:1")] == ["user", "assistant"]


async def test_messages_and_sessions_are_created_once(http: httpx2.AsyncClient) -> None:
    body = {"messages": [{"role": "user", "content": "a"}, {"role": "user", "content": "b"}]}
    first = await http.post("/sessions/web:1/messages/batch", json=body, headers=ONCE)
    await http.post("/sessions/web:1/messages", json={"role": "user", "content": "c"})
    again = await http.post("/sessions/web:1/messages/batch", json=body, headers=ONCE)
    assert first.json() == again.json()
    assert (await http.get("/sessions/web:1")).json()["message_count"] == 3
    made = [await http.post("/sessions", json={}, headers={"Idempotency-Key": "new"}) for _ in range(2)]
    assert [each.status_code for each in made] == [201, 201]
    assert made[0].json() == made[1].json()


async def test_a_session_is_committed_once(http: httpx2.AsyncClient, kernel: Kernel) -> None:
    nothing = {"Idempotency-Key": "nothing"}
    await http.post("/sessions", json={"key": "web:1"})
    skipped = await http.post("/sessions/web:1/commit", headers=nothing)
    await http.post("/sessions/web:1/messages", json={"role": "user", "content": "a"})
    again = await http.post("/sessions/web:1/commit", headers=nothing)
    assert (skipped.status_code, skipped.json()) == (again.status_code, again.json())
    made = [await http.post("/sessions/web:1/commit", json={}, headers=ONCE) for _ in range(2)]
    assert [each.status_code for each in made] == [202, 202]
    assert made[0].json() == made[1].json()
    assert len(await kernel.memory.archives("web:1")) == 1


async def test_a_key_is_for_one_request_only(http: httpx2.AsyncClient) -> None:
    await http.post("/sessions/web:1/turns", json={"content": "Hi"}, headers=ONCE)
    other = await http.post("/sessions/web:1/turns", json={"content": "Ho"}, headers=ONCE)
    assert (other.status_code, other.json()["code"]) == (409, "idempotency_key_reused")
    bad = await http.post(
        "/sessions/web:1/turns", json={"content": "Hi"}, headers={"Idempotency-Key": "a" * 201}
    )
    assert bad.status_code == 422


async def test_a_refused_request_may_be_repeated_with_its_key(
    http: httpx2.AsyncClient, agent: ScriptedAgent, kernel: Kernel
) -> None:
    agent.pause()
    first = (await http.post("/sessions/web:1/turns", json={"content": "Hi"})).json()
    await agent.under_way()
    body = {"content": "Me too", "when_busy": "reject"}
    assert (await http.post("/sessions/web:1/turns", json=body, headers=ONCE)).status_code == 409
    agent.go_on()
    await kernel.wait(first["turn_id"])
    assert (await http.post("/sessions/web:1/turns", json=body, headers=ONCE)).status_code == 202


async def test_key_work_and_result_are_one_transaction(kernel: Kernel) -> None:
    """A crash leaves all or nothing: there is no row without its result."""
    request = Request(owner=Owner(), name="a", digest="1")
    admitted = await kernel.receive("web:1", "Hi", request=request)
    (row,) = await kernel.store.database.read(
        queries.requests.by_name, {"account": "default", "user_id": "default", "name": "a"}
    )
    assert admitted.turn_id in row["result"]
    with pytest.raises(NameTaken):
        await kernel.receive("web:1", "Ho", request=Request(owner=Owner(), name="a", digest="2"))
    other = await kernel.receive(
        "web:1", "Hi", owner=Owner("else"), request=Request(owner=Owner("else"), name="a", digest="1")
    )
    assert other.turn_id != admitted.turn_id


async def test_a_key_expires_after_a_day(database_url: str) -> None:
    clock = ManualClock()
    request = Request(owner=Owner(), name="a", digest="1")
    async with Kernel(database_url, agent=ScriptedAgent(), clock=clock) as kernel:
        await kernel.log.write_all("web:1", [("user", "Hi")], request=request)
        clock.advance(hours=23)
        await kernel.workers.pruner.step()
        assert (await kernel.log.write_all("web:1", [("user", "Hi")], request=request)).message_count == 1
        clock.advance(hours=2)
        await kernel.workers.pruner.step()
        assert (await kernel.log.write_all("web:1", [("user", "Hi")], request=request)).message_count == 2
