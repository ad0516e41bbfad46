"""A flood: 500 jobs of 500 sessions are due in the same second, while 20 of the sessions have long turns.

Measures how long it takes until all the others have started, by their runs: with an agent that answers at
once, and through a real server that calls a test double of a model provider.
"""

import asyncio
import tempfile
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from bench.environment import Environment
from bench.figure import AtMost, Figure
from bench.measure import median_of
from segue import Ask, At, Kernel, OpenTurn, Run, Settings
from segue.cli.support import event_loop
from segue.testing.scripted_provider import ScriptedProvider, says
from segue.testing.wire_formats import Waits
from tests.cli.process import Segue

SESSIONS, BUSY, RUNNERS = 500, 20, 50
AHEAD = timedelta(seconds=8)
"""Time to store the jobs, to start the long turns, and to settle down."""


def flood(env: Environment) -> Iterator[Figure]:
    yield _until_started("an agent that answers at once", 1, env, _in_process)
    yield _until_started("a server and a provider", 10, env, _through_a_server)


def _until_started(
    agent: str, limit: float, env: Environment, measure: Callable[[str], Coroutine[Any, Any, float]]
) -> Figure:
    def once() -> float:
        with env.folder() as folder:
            return event_loop.run(measure(str(folder)))

    late = median_of(env.rounds, once)
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
    provider = ScriptedProvider()
    gate = asyncio.Event()
    provider.script(*(says(Waits(gate), "ok") for _ in range(BUSY)))
    async with provider.listening():
        segue = Segue(Path(folder), forked=False)
        segue.env = {
            "SEGUE_MODEL": "openai-chat:gpt-4o",
            "SEGUE_RUNNERS": str(RUNNERS),
            "OPENAI_BASE_URL": f"{provider.url}/v1",
            "OPENAI_API_KEY": "sk-for-the-double",
        }
        async with segue.serving() as server, _second_kernel(segue) as kernel:
            for number in range(BUSY):
                await server.client.post(f"/sessions/{_key(number)}/turns", json={"content": "Think long."})
            seconds = await _started(kernel)
            gate.set()
            await _all_ended(kernel)
    return seconds


@asynccontextmanager
async def _second_kernel(segue: Segue) -> AsyncIterator[Kernel]:
    async def no_agent(turn: OpenTurn) -> str:
        raise AssertionError("this process runs no turns")

    async with Kernel(segue.database, agent=no_agent) as kernel:
        yield kernel


async def _started(kernel: Kernel) -> float:
    """Seconds from the slot to the last start in the sessions that were not busy."""
    moment = datetime.now(UTC) + AHEAD
    await asyncio.gather(*(kernel.schedule(_key(n), At(moment), Ask("go on")) for n in range(SESSIONS)))
    runs = await _runs(kernel, range(BUSY, SESSIONS), lambda run: run.started_at is not None)
    return max((run.started_at or 0) - run.slot for run in runs) / 1000


async def _all_ended(kernel: Kernel) -> None:
    """No run is lost or doubled, and the audit finds nothing."""
    runs = await _runs(kernel, range(SESSIONS), lambda run: run.outcome is not None)
    assert {run.outcome for run in runs} == {"ok"}
    assert len({run.id for run in runs}) == SESSIONS
    assert not await kernel.audit()


async def _runs(kernel: Kernel, numbers: range, wanted: Callable[[Run], bool]) -> list[Run]:
    """Waits until the run of each session is as wanted, and returns the runs."""
    while True:
        runs = [run for n in numbers for run in await kernel.runs.list(_key(n))]
        if len(runs) == len(numbers) and all(map(wanted, runs)):
            return runs
        await asyncio.sleep(0.5)  # more frequent queries would disturb the measurement


def _key(number: int) -> str:
    return f"websocket:{number}"


if __name__ == "__main__":
    with tempfile.TemporaryDirectory(prefix="segue-flood-") as one, tempfile.TemporaryDirectory() as other:
        print(f"with an agent that answers at once: {event_loop.run(_in_process(one)):.2f} s")
        print(f"through a server and a provider: {event_loop.run(_through_a_server(other)):.2f} s")
