"""A flood: 500 jobs of 500 sessions due in the same second, while 20 of the sessions have long turns.

How long until all the others have started, by the records of their turns: with an agent that answers at once,
and through a real server that asks a provider's double.
"""

import asyncio
import tempfile
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from bench.figure import AtMost, Figure
from bench.measure import median_of
from bench.room import Room
from segue import Ask, At, Kernel, OpenTurn, Run, Settings
from segue.cli.support import event_loop
from tests.agents.double import Double, Waits, says
from tests.cli.process import Segue

SESSIONS, BUSY, RUNNERS = 500, 20, 50
AHEAD = timedelta(seconds=8)
"""Time to store the jobs, to keep the busy sessions busy, and to come to rest."""


def flood(room: Room) -> Iterator[Figure]:
    yield _until_started("an agent that answers at once", 1, room, _in_process)
    yield _until_started("a server and a provider", 10, room, _through_a_server)


def _until_started(
    agent: str, limit: float, room: Room, measure: Callable[[str], Coroutine[Any, Any, float]]
) -> Figure:
    def once() -> float:
        with room.folder() as folder:
            return event_loop.run(measure(str(folder)))

    late = median_of(room.rounds, once)
    workload = f"SQLite: 500 jobs at once, 20 sessions busy, {agent}: all others started"
    return Figure(workload=workload, unit="s", ours=late, bar=AtMost(limit, "s"))


async def _in_process(folder: str) -> float:
    gate = asyncio.Event()

    async def agent(turn: OpenTurn) -> str:
        if turn.source is None:
            await gate.wait()
        return "ok"

    settings = Settings(runners=RUNNERS)
    async with (
        Kernel(f"sqlite:///{folder}/segue.db", agent=agent, settings=settings) as kernel,
        asyncio.TaskGroup() as group,
    ):
        running = group.create_task(kernel.run())
        await asyncio.gather(*(kernel.receive(_key(n), "Think long.") for n in range(BUSY)))
        seconds = await _started(kernel)
        gate.set()
        await _all_ended(kernel)
        running.cancel()
    return seconds


async def _through_a_server(folder: str) -> float:
    provider = Double()
    gate = asyncio.Event()
    provider.script(*(says(Waits(gate), "ok") for _ in range(BUSY)))
    async with provider.listening():
        segue = Segue(Path(folder))
        segue.env = {
            "SEGUE_MODEL": "openai-chat:gpt-4o",
            "SEGUE_RUNNERS": str(RUNNERS),
            "OPENAI_BASE_URL": f"{provider.url}/v1",
            "OPENAI_API_KEY": "sk-for-the-double",
        }
        async with segue.serving() as server, _beside(segue) as kernel:
            for number in range(BUSY):
                await server.client.post(f"/sessions/{_key(number)}/turns", json={"content": "Think long."})
            seconds = await _started(kernel)
            gate.set()
            await _all_ended(kernel)
    return seconds


@asynccontextmanager
async def _beside(segue: Segue) -> AsyncIterator[Kernel]:
    async def nobody(turn: OpenTurn) -> str:
        raise AssertionError("this process runs no turns")

    async with Kernel(segue.database, agent=nobody) as kernel:
        yield kernel


async def _started(kernel: Kernel) -> float:
    """Seconds from the slot to the last start of those that had nobody to wait for."""
    moment = datetime.now(UTC) + AHEAD
    await asyncio.gather(*(kernel.schedule(_key(n), At(moment), Ask("go on")) for n in range(SESSIONS)))
    runs = await _runs(kernel, range(BUSY, SESSIONS), lambda run: run.started_at is not None)
    return max((run.started_at or 0) - run.slot for run in runs) / 1000


async def _all_ended(kernel: Kernel) -> None:
    """None lost, none twice, and nothing is broken."""
    runs = await _runs(kernel, range(SESSIONS), lambda run: run.outcome is not None)
    assert {run.outcome for run in runs} == {"ok"}
    assert len({run.id for run in runs}) == SESSIONS
    assert not await kernel.audit()


async def _runs(kernel: Kernel, numbers: range, wanted: Callable[[Run], bool]) -> list[Run]:
    """The run of each of those sessions, once all of them are as wanted."""
    while True:
        found = [run for n in numbers for run in await kernel.runs(_key(n))]
        if len(found) == len(numbers) and all(map(wanted, found)):
            return found
        await asyncio.sleep(0.5)  # to ask more often would be part of what is measured


def _key(number: int) -> str:
    return f"websocket:{number}"


if __name__ == "__main__":
    with tempfile.TemporaryDirectory(prefix="segue-flood-") as one, tempfile.TemporaryDirectory() as other:
        print(f"with an agent that answers at once: {event_loop.run(_in_process(one)):.2f} s")
        print(f"through a server and a provider: {event_loop.run(_through_a_server(other)):.2f} s")
