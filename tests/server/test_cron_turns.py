"""A scheduled turn in the API: its trigger, its answer, its run, and the updates of its job."""

import asyncio
import hashlib
from collections.abc import AsyncIterator
from contextlib import aclosing, asynccontextmanager
from typing import Any

import httpx2
import pytest
import pytest_asyncio

from segue import Ask, At, Every, JobKind, Kernel, Settings
from segue.config import Configuration
from segue.server import create_app
from segue.server.routes.live import session_events
from segue.testing import ManualClock, ScriptedAgent, quiet
from tests.server.conftest import reach

CHAT = "websocket:a"
UNIFIED = Settings(unified_session=True)


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest_asyncio.fixture(loop_scope="session")
async def kernel(database_url: str, agent: ScriptedAgent, clock: ManualClock) -> AsyncIterator[Kernel]:
    async with Kernel(database_url, agent=agent, clock=clock) as kernel:
        yield kernel
        assert not await kernel.audit()


@asynccontextmanager
async def served(kernel: Kernel) -> AsyncIterator[httpx2.AsyncClient]:
    """Without workers: the test steps them and the clock by hand."""
    app = create_app(kernel, Configuration(database="sqlite://:memory:"))
    async with app.router.lifespan_context(app), reach(app) as client:
        yield client


async def messages(http: httpx2.AsyncClient, key: str = CHAT) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = (await http.get(f"/sessions/{key}/messages")).json()["messages"]
    return found


async def test_the_trigger_has_the_metadata_of_the_contract_and_the_answer_its_source(
    kernel: Kernel, clock: ManualClock, agent: ScriptedAgent
) -> None:
    """3.2, 5.1, 5.2, 5.3, 6.2: metadata has the names of the contract; the prompt's hash is right."""
    job = await kernel.schedule(CHAT, Every(3600), Ask("Look at the build."), name="Build")
    clock.advance(hours=1)
    await quiet(kernel)
    async with served(kernel) as http:
        trigger, answer = await messages(http)
        run = (await http.get(f"/runs/{trigger['metadata']['cron_run_id']}")).json()
    assert trigger["role"] == "user"
    assert trigger["content"] == "Scheduled cron job triggered: Build\n\nLook at the build."
    assert trigger["metadata"] == {
        "_cron_turn": True,
        "cron_job_id": job.id,
        "cron_job_name": "Build",
        "cron_run_id": f"{job.id}:{job.slot}",
        "cron_prompt_ref": run["prompt_ref"],
    }
    assert answer["metadata"] == {}
    assert answer["source"] == {
        "kind": "cron",
        "job_id": job.id,
        "label": "Build",
        "run_id": f"{job.id}:{job.slot}",
    }
    assert run["rendered_prompt"] == agent.asked[0].turn.prompt
    assert run["prompt_ref"]["sha256"] == hashlib.sha256(run["rendered_prompt"].encode()).hexdigest()
    assert (run["prompt_ref"]["id"], run["prompt_ref"]["version"]) == ("cron.agent_turn.reminder", 2)
    assert run["prompt_vars"]["zone"] == "UTC"


async def test_the_trigger_of_a_recall_is_marked(kernel: Kernel, clock: ManualClock) -> None:
    await kernel.schedule(CHAT, At("in 1 hour"), Ask("Ask."), name="the exam", kind=JobKind.RECALL)
    clock.advance(hours=1)
    await quiet(kernel)
    async with served(kernel) as http:
        trigger, answer = await messages(http)
    assert (trigger["content"], trigger["metadata"]) == ("Recall: the exam", {"is_recall": True})
    assert answer["source"]["kind"] == "recall"


async def test_the_events_of_a_scheduled_turn_are_numbered_like_those_of_a_chat(
    kernel: Kernel, clock: ManualClock
) -> None:
    """Only pieces of text repeat a number."""
    await kernel.schedule(CHAT, Every(3600), Ask("Look."), name="Look")
    session = await kernel.sessions.get(CHAT)
    there = asyncio.Event()

    async def listen() -> list[dict[str, Any]]:
        heard: list[dict[str, Any]] = []
        async with aclosing(session_events(kernel, session, session.last_seq - 1)) as stream:
            async for wired in stream:
                there.set()
                heard.append(wired)
                if wired["type"] == "session_sync":
                    break
        return heard

    async with asyncio.timeout(10), asyncio.TaskGroup() as group:
        listening = group.create_task(listen())
        await there.wait()
        clock.advance(hours=1)
        await quiet(kernel)
    made, *heard = listening.result()
    assert (made["type"], made["replay"]) == ("automation_update", True)
    start = session.last_seq + 1
    assert [(one["type"], one["seq"]) for one in heard if one["type"] != "stream_delta"] == [
        ("stream_start", start),
        ("stream_end", start + 1),
        ("automation_update", start + 2),
        ("session_sync", start + 3),
    ]


@pytest.mark.parametrize("settings", [Settings(), UNIFIED], ids=["apart", "unified"])
async def test_the_next_run_sees_the_report_and_its_answer_after_a_restart(
    database_url: str, clock: ManualClock, agent: ScriptedAgent, settings: Settings
) -> None:
    """1.2, 8.2: the defining test, through the server and over a restart, separate and unified."""
    async with (
        Kernel(database_url, agent=agent, clock=clock, settings=settings) as first,
        served(first) as http,
    ):
        made = await http.post(
            f"/sessions/{CHAT}/automations",
            json={"name": "monitor", "message": "How is the build?", "schedule": "every 1h"},
        )
        assert made.status_code == 201
        agent.script("Build 17 is red.")
        clock.advance(hours=1)
        await quiet(first)
        assert (await messages(http))[-1]["content"] == "Build 17 is red."
        await http.post(f"/sessions/{CHAT}/turns", json={"content": "Ignore it until Monday."})
        await quiet(first)
    async with Kernel(database_url, agent=agent, clock=clock, settings=settings) as second:
        clock.advance(hours=1)
        await quiet(second)
        seen = [message.content for message in agent.asked[-1].history]
        assert agent.asked[-1].text == "How is the build?"
        assert seen == [
            "Scheduled cron job triggered: monitor\n\nHow is the build?",
            "Build 17 is red.",
            "Ignore it until Monday.",
            "ok",
        ]
        assert not await second.audit()
