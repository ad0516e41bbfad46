"""Live events about the queue of a session."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import aclosing

import pytest

from segue import Kernel, OpenTurn, Settings
from segue.server.routes import live
from tests.server.conftest import running

KEY = "web:queue"


class StepAgent:
    """An agent that answers a turn for each release of `open`."""

    reports_tools = True

    def __init__(self) -> None:
        self.open = asyncio.Semaphore(0)
        self.started = asyncio.Semaphore(0)

    async def answer(self, turn: OpenTurn) -> AsyncIterator[str]:
        self.started.release()
        await self.open.acquire()
        yield "ok"


async def queue_events(
    kernel: Kernel, listening: asyncio.Event, *, ends: int
) -> list[tuple[str, int | None]]:
    """Starts of turns and queue updates, until that many turns have ended."""
    events: list[tuple[str, int | None]] = []
    session = await kernel.session(KEY)
    async with asyncio.timeout(30), aclosing(live.session_events(kernel, session, 0)) as stream:
        async for event in stream:
            listening.set()
            if event["type"] in ("stream_start", "queue_update"):
                events.append((event["type"], event.get("queued")))
            ends -= event["type"] == "stream_end"
            if not ends:
                break
    return events


@pytest.mark.parametrize("unified", [False, True])
async def test_a_client_gets_queue_updates_until_the_last_turn_has_started(
    database_url: str, unified: bool
) -> None:
    agent = StepAgent()
    settings = Settings(unified_session=unified)
    async with Kernel(database_url, agent=agent, settings=settings) as kernel, running(kernel):
        await kernel.receive(KEY, "One")
        await agent.started.acquire()
        async with asyncio.TaskGroup() as group:
            follower = group.create_task(queue_events(kernel, listening := asyncio.Event(), ends=3))
            await listening.wait()
            await kernel.receive(KEY, "Two")
            await kernel.receive(KEY, "Three")
            for _ in range(3):
                agent.open.release()
        events = follower.result()
        assert events[:4] == [
            ("stream_start", None),
            ("queue_update", 1),
            ("queue_update", 2),
            ("stream_start", None),
        ]
        # A slow client hears of the second start when the third turn has started too.
        assert [queued for kind, queued in events[4:] if kind == "queue_update"] in ([1, 0], [0])


async def test_a_client_that_connects_during_a_wait_gets_the_queue_update(database_url: str) -> None:
    agent = StepAgent()
    async with Kernel(database_url, agent=agent) as kernel, running(kernel):
        await kernel.receive(KEY, "One")
        await agent.started.acquire()
        await kernel.receive(KEY, "Two")
        async with asyncio.TaskGroup() as group:
            follower = group.create_task(queue_events(kernel, listening := asyncio.Event(), ends=2))
            await listening.wait()
            agent.open.release()
            agent.open.release()
        assert follower.result()[-1] == ("queue_update", 0)
