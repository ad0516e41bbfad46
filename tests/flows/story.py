"""Helpers of the flow tests: read a session, wait for events, agents that wait."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import aclosing, asynccontextmanager

from segue import Delta, Event, Job, Kernel, OpenTurn, Owner, Run
from segue.store import queries
from segue.testing import ScriptedAgent, quiet
from tests.eventually import eventually

CHAT = "web:1"
"""A session without a registered channel: storing a message is sending it."""

ME = Owner()

_COUNTS = {
    table: queries.translate(f"test.count_{table}", f"SELECT COUNT(*) AS found FROM {table}")
    for table in ("sessions", "turns", "jobs", "runs", "events", "deliveries")
}
_PATIENCE = 60.0
"""Seconds after which a test that hangs fails; no working test takes as long, even on a busy machine."""


async def said(kernel: Kernel, key: str = CHAT, *, owner: Owner = ME) -> list[tuple[str, str]]:
    """The transcript, as (role, text)."""
    return [(m.role, m.content) for m in await kernel.messages(key, owner=owner, limit=1000)]


async def log(kernel: Kernel, key: str = CHAT) -> list[str]:
    """The types of the session's events, in the order of the log."""
    return [event.type for event in await kernel.log.events(key, limit=1000)]


async def slots(kernel: Kernel, job: Job) -> list[Run]:
    """The runs of a job, oldest slot first."""
    session = await kernel.store.session_by_id(job.session_id)
    return (await kernel.runs.list(job=job.id, owner=session.owner, limit=1000))[::-1]


async def outcomes(kernel: Kernel, job: Job) -> list[str | None]:
    return [run.outcome for run in await slots(kernel, job)]


async def known_as_sent(kernel: Kernel, message_id: str) -> None:
    """Wait until the message is sent; any status but `pending` before that fails."""

    async def is_sent() -> bool:
        message = await kernel.scheduled_messages.get(message_id)
        assert message.status in ("pending", "sent"), message.last_error
        return message.status == "sent"

    await eventually(is_sent, "the message is sent")


async def count_rows(kernel: Kernel) -> dict[str, int]:
    """How many rows each table has."""
    database = kernel.store.database
    return {table: (await database.read(query, {}))[0]["found"] for table, query in _COUNTS.items()}


async def until(kernel: Kernel, kind: str, key: str = CHAT, *, after: int = 0) -> Event:
    """Wait for the first event of that type after a number."""
    async with asyncio.timeout(_PATIENCE), aclosing(kernel.follow(key, after=after)) as heard:
        async for one in heard:
            if isinstance(one, Event) and one.type == kind:
                return one
    raise AssertionError(f"{key} is over, and had no {kind}")


@asynccontextmanager
async def under_way(kernel: Kernel, agent: ScriptedAgent) -> AsyncIterator[None]:
    """The body runs while the first ready turn is in the middle of its answer. Then all work is completed."""
    agent.pause()
    async with asyncio.TaskGroup() as group:
        group.create_task(quiet(kernel))
        async with asyncio.timeout(_PATIENCE):
            await agent.under_way()
        yield
        agent.go_on()


@asynccontextmanager
async def working(kernel: Kernel) -> AsyncIterator[None]:
    """The body runs while the kernel runs; then the kernel is shut down, as by a signal."""
    async with asyncio.TaskGroup() as group:
        run = group.create_task(kernel.run())
        async with asyncio.timeout(_PATIENCE):
            yield
        run.cancel()


class BlockingAgent:
    """An agent that answers at once, but waits in the named sessions until it is released."""

    reports_tools = True

    def __init__(self, *keys: str) -> None:
        self._gates = {key: asyncio.Event() for key in keys}
        self._waiting = {key: asyncio.Event() for key in keys}
        self.answered: list[str] = []
        """Keys of the sessions, in the order of their answers."""

    async def is_waiting_in(self, *keys: str) -> None:
        async with asyncio.timeout(_PATIENCE):
            for key in keys:
                await self._waiting[key].wait()

    def release(self) -> None:
        for gate in self._gates.values():
            gate.set()

    async def answer(self, turn: OpenTurn) -> AsyncIterator[Delta | str]:
        key = turn.session.key
        if key in self._gates:
            self._waiting[key].set()
            await self._gates[key].wait()
        self.answered.append(key)
        yield "ok"
