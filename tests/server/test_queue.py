"""The queue of a session as live clients are told of it."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import aclosing

import pytest

from segue import Kernel, OpenTurn, Settings
from segue.server.routes import live
from tests.server.conftest import running

KEY = "web:queue"


class Gate:
    """An agent that answers each turn when it is told to."""

    reports_tools = True

    def __init__(self) -> None:
        self.open = asyncio.Semaphore(0)
        self.asked = asyncio.Semaphore(0)

    async def answer(self, turn: OpenTurn) -> AsyncIterator[str]:
        self.asked.release()
        await self.open.acquire()
        yield "ok"


async def told(kernel: Kernel, listens: asyncio.Event, *, ends: int) -> list[tuple[str, int | None]]:
    """Starts of turns and what is told of the queue, until so many turns have ended."""
    heard: list[tuple[str, int | None]] = []
    session = await kernel.session(KEY)
    async with asyncio.timeout(30), aclosing(live.events(kernel, session, 0)) as happening:
        async for event in happening:
            listens.set()
            if event["type"] in ("stream_start", "queue_update"):
                heard.append((event["type"], event.get("queued")))
            ends -= event["type"] == "stream_end"
            if not ends:
                break
    return heard


@pytest.mark.parametrize("unified", [False, True])
async def test_a_client_is_told_of_the_queue_until_its_last_turn_has_started(
    database_url: str, unified: bool
) -> None:
    agent = Gate()
    settings = Settings(unified_session=unified)
    async with Kernel(database_url, agent=agent, settings=settings) as kernel, running(kernel):
        await kernel.receive(KEY, "One")
        await agent.asked.acquire()
        async with asyncio.TaskGroup() as group:
            follower = group.create_task(told(kernel, listens := asyncio.Event(), ends=3))
            await listens.wait()
            await kernel.receive(KEY, "Two")
            await kernel.receive(KEY, "Three")
            for _ in range(3):
                agent.open.release()
        assert follower.result() == [
            ("stream_start", None),
            ("queue_update", 1),
            ("queue_update", 2),
            ("stream_start", None),
            ("queue_update", 1),
            ("stream_start", None),
            ("queue_update", 0),
        ]


async def test_a_client_that_comes_while_a_turn_waits_is_told_when_it_starts(database_url: str) -> None:
    agent = Gate()
    async with Kernel(database_url, agent=agent) as kernel, running(kernel):
        await kernel.receive(KEY, "One")
        await agent.asked.acquire()
        await kernel.receive(KEY, "Two")
        async with asyncio.TaskGroup() as group:
            follower = group.create_task(told(kernel, listens := asyncio.Event(), ends=2))
            await listens.wait()
            agent.open.release()
            agent.open.release()
        assert follower.result()[-1] == ("queue_update", 0)
