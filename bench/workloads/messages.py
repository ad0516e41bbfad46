"""How late scheduled messages are marked as sent: ten thousand due in one minute, for the page, on SQLite.

Each goes to another chat. Lateness is from the time a message was due to the time its row says that it was
sent, both by the machine's wall clock. The measurement ends only when all are sent.
"""

import asyncio
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

from bench.environment import Environment
from bench.figure import AtMost, Figure
from bench.measure import median_of, percentile
from segue import At, Kernel, Say
from segue.channels.websocket import WebSocket
from segue.cli.support import event_loop
from segue.store.queries import translate

MESSAGES = 10_000
SPAN = timedelta(seconds=60)
STORED_PER_SECOND = 200
"""A slow machine stores at least this many; the first message is due when all are stored."""

_STATES = translate(
    "bench.sent",
    "SELECT deliveries.sent_at, runs.slot FROM deliveries JOIN runs ON runs.id = deliveries.run_id "
    "WHERE deliveries.state = 'sent'",
)


def messages(env: Environment) -> Iterator[Figure]:
    count = env.size(MESSAGES, short=500)
    span = SPAN * (count / MESSAGES)

    def once() -> float:
        with env.folder() as folder:
            return percentile(event_loop.run(_lateness(f"sqlite:///{folder}/segue.db", count, span)), 99)

    workload = f"SQLite: {count:,} messages over {span.total_seconds():g} s, p99 late"
    yield Figure(workload=workload, unit="ms", ours=median_of(env.rounds, once), bar=AtMost(250, "ms"))


async def _lateness(url: str, count: int, span: timedelta) -> list[float]:
    async with Kernel(url, agent=_no_agent, channels=[WebSocket()]) as kernel:
        start = datetime.now(UTC) + timedelta(seconds=2 + count / STORED_PER_SECOND)
        async with asyncio.TaskGroup() as writing:
            for number in range(count):
                moment = start + span * (number / count)
                writing.create_task(kernel.schedule(f"websocket:{number}", At(moment), Say("Drink water.")))
        async with asyncio.TaskGroup() as group:
            running = group.create_task(kernel.run())
            while len(sent := await kernel.store.database.read(_STATES, {})) < count:  # noqa: ASYNC110
                await asyncio.sleep(1)
            running.cancel()
        return [row["sent_at"] - row["slot"] for row in sent]


async def _no_agent(turn: object) -> str:
    raise AssertionError("a scheduled message needs no agent")
