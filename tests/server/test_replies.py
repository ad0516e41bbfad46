"""Replies to a job over HTTP and WebSocket: a control answers 200 at once, and starts no turn."""

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx2
import pytest_asyncio
from websockets.asyncio.client import connect

from segue import Ask, Cron, Job, Kernel
from segue.testing import ManualClock, ScriptedAgent
from tests.eventually import eventually
from tests.server.process import served

KEY = "web:1"
TURNS = f"/sessions/{KEY}/turns"


@pytest_asyncio.fixture(loop_scope="session")
async def kernel(database_url: str, agent: ScriptedAgent) -> AsyncIterator[Kernel]:
    async with Kernel(database_url, agent=agent, clock=ManualClock()) as kernel:
        yield kernel
        assert not await kernel.audit()


async def spoken(kernel: Kernel) -> tuple[Job, str]:
    """A job that has just said something, and the id of its message."""
    job = await kernel.schedule(KEY, Cron("0 10 * * *", tz="UTC"), Ask("Report."), name="morning report")
    assert isinstance(kernel.clock, ManualClock)
    kernel.clock.advance(hours=1)

    async def has_spoken() -> bool:
        return len(await kernel.messages(KEY)) == 2

    await eventually(has_spoken, "the job has spoken")
    session = await kernel.sessions.get(KEY)
    return job, f"{session.id}-{(await kernel.messages(KEY))[-1].seq:x}"


async def test_a_control_is_answered_at_once_and_repeated_once(
    http: httpx2.AsyncClient, kernel: Kernel, agent: ScriptedAgent
) -> None:
    job, quoted = await spoken(kernel)
    [_, listed] = (await http.get(f"/sessions/{KEY}/messages")).json()["messages"]
    assert listed["id"] == quoted
    headers = {"Idempotency-Key": "tap-1"}
    answers = [
        await http.post(TURNS, json={"content": "stop", "reply_to": quoted}, headers=headers)
        for _ in range(2)
    ]
    assert [answer.status_code for answer in answers] == [200, 200]
    assert answers[0].json() == answers[1].json()
    assert answers[0].json() == {
        "turn_id": None,
        "state": "done",
        "reply": "Paused: morning report. Say ‘go on’ to resume.",
        "control": {"action": "stop", "job_id": job.id, "undo": "go on"},
    }
    [*_, word, line] = (await http.get(f"/sessions/{KEY}/messages")).json()["messages"]
    assert (word["role"], word["content"], word["turn_id"]) == ("user", "stop", None)
    assert (line["source"]["job_id"], line["source"]["kind"]) == (job.id, "cron")
    assert len(agent.asked) == 1


async def test_as_turn_starts_a_turn_in_any_case(http: httpx2.AsyncClient, kernel: Kernel) -> None:
    _, quoted = await spoken(kernel)
    body = {"content": "stop", "reply_to": quoted, "as_turn": True}
    answer = await http.post(TURNS, json=body, params={"wait": 20})
    assert (answer.status_code, answer.json()["reply"]) == (200, "ok")


async def test_an_unknown_message_and_another_sessions_message_are_refused(
    http: httpx2.AsyncClient, kernel: Kernel
) -> None:
    _, quoted = await spoken(kernel)
    for key, reply_to in ((KEY, "nothing-1"), ("web:2", quoted)):
        answer = await http.post(f"/sessions/{key}/turns", json={"content": "stop", "reply_to": reply_to})
        assert (answer.status_code, answer.json()["code"]) == (422, "unknown_message")


async def test_a_reply_over_the_websocket_is_accepted_as_done(tmp_path: Path) -> None:
    with served(f"sqlite:///{tmp_path}/segue.db") as server:
        async with httpx2.AsyncClient(base_url=server.http) as http:
            body = {"name": "tea", "message": "1 1 tea", "schedule": "in 1 second"}
            made = await http.post(f"/sessions/{KEY}/automations", json=body)
            assert made.status_code == 201, made.text

            async def quoted() -> Any:
                messages = (await http.get(f"/sessions/{KEY}/messages")).json()["messages"]
                return messages[1]["id"] if len(messages) > 1 else None

            reply_to = await eventually(quoted, "the job has spoken")
        async with connect(server.ws) as socket, asyncio.timeout(30):
            said = {"type": "message", "session": KEY, "content": "snooze", "id": "1", "reply_to": reply_to}
            await socket.send(json.dumps(said))
            accepted = json.loads(await socket.recv())
    assert (accepted["type"], accepted["id"], accepted["turn_id"]) == ("accepted", "1", None)
    assert (accepted["state"], accepted["control"]["action"]) == ("done", "snooze")
