"""How long a user waits on PostgreSQL while an old snapshot is held, as a backup does.

The server keeps all row versions since the snapshot, so the indexes still contain every job that has fired,
every lane that was ready and every lease that was held. The load is the same before and during the snapshot:
jobs of 3,000 sessions, 300 a second, and 20 messages a second from other sessions.
"""

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from datetime import timedelta
from time import monotonic

import asyncpg

from bench.environment import Environment
from bench.figure import Figure
from bench.measure import percentile
from segue import Ask, Every, Kernel, Settings
from segue.cli.support import event_loop

SESSIONS, EVERY = 3000, timedelta(seconds=10)
MESSAGES_PER_SECOND = 20
FREE_SECONDS, HELD_SECONDS, LAST_SECONDS = 30.0, 200.0, 30.0


def backup(env: Environment) -> Iterator[Figure]:
    """One round, because it takes minutes."""
    scale = 0.1 if env.short else 1.0
    with env.database() as url:
        free, held = event_loop.run(_waits(url, scale))
    workload = f"PostgreSQL: a snapshot is held for {HELD_SECONDS * scale:g} s"
    for percent in (50, 99):
        before, during = percentile(free, percent), percentile(held, percent)
        yield Figure(
            workload=f"{workload}, a message answered, p{percent}; peer: before",
            unit="ms",
            ours=during,
            peer=before,
            ratio=during / before,
        )


async def _waits(url: str, scale: float) -> tuple[list[float], list[float]]:
    """Milliseconds from a message to its answer: without a snapshot, and at the end of one."""
    settings = Settings(user_runners=50, runners=50)
    async with Kernel(url, agent=_answer, settings=settings) as kernel, asyncio.TaskGroup() as group:
        running = group.create_task(kernel.run())
        sessions = round(SESSIONS * scale)
        for number in range(sessions):
            await kernel.schedule(f"job:{number}", Every(EVERY), Ask("What is new?"))
            if number % 30 == 0:
                await asyncio.sleep(30 * EVERY.total_seconds() / SESSIONS)
        free = await _talk(kernel, FREE_SECONDS * scale)
        async with _snapshot(url):
            await _talk(kernel, (HELD_SECONDS - LAST_SECONDS) * scale)
            held = await _talk(kernel, LAST_SECONDS * scale)
        running.cancel()
    return free, held


async def _talk(kernel: Kernel, seconds: float) -> list[float]:
    waits: list[float] = []

    async def say(number: int) -> None:
        began = monotonic()
        await kernel.wait(await kernel.receive(f"user:{number % SESSIONS}", "Hello"))
        waits.append((monotonic() - began) * 1000)

    async with asyncio.TaskGroup() as group:
        for number in range(round(seconds * MESSAGES_PER_SECOND)):
            group.create_task(say(number))
            await asyncio.sleep(1 / MESSAGES_PER_SECOND)
    return waits


@asynccontextmanager
async def _snapshot(url: str) -> AsyncIterator[None]:
    connection = await asyncpg.connect(url)
    await connection.execute("BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT COUNT(*) FROM sessions")
    try:
        yield
    finally:
        await connection.close()


async def _answer(turn: object) -> str:
    return "ok"
