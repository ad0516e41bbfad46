"""A storm of kill -9: four workers, twenty sessions, messages and jobs flowing, a worker dead every second.

At the end nothing that was acknowledged is lost, no two agents were ever at work in one session, and no turn
changed after it had ended.
"""

import asyncio
import random
import time
from collections.abc import AsyncIterator, Coroutine
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from segue.errors import Conflict
from segue.kernel.kernel import Kernel
from segue.model.action import Ask
from segue.model.states import Outcome, TurnState
from segue.times.trigger import Every
from tests.crash.figures import Record
from tests.crash.journal import fences_out_of_order, overlaps
from tests.crash.processes import LONG, Processes, Worker, processes
from tests.eventually import eventually

SECONDS = 60.0 if LONG else 5.0
BETWEEN_KILLS = 1.2
BETWEEN_MESSAGES = 0.04
SESSIONS = 20
WORKERS = 4
LEASE = 1.5
DRAIN_SECONDS = 90.0

OVER = {TurnState.DONE, TurnState.FAILED, TurnState.CANCELLED}


@dataclass
class Storm:
    processes: Processes
    kernel: Kernel
    """In the test's own process; it takes messages in and runs nothing."""
    rng: random.Random = field(default_factory=lambda: random.Random(2))
    acknowledged: list[str] = field(default_factory=list)
    jobs: list[str] = field(default_factory=list)
    kills: int = 0

    async def talk(self) -> None:
        while True:
            key = f"web:{self.rng.randrange(SESSIONS)}"
            words = f"{self.rng.choice(('work', 'tool'))} {self.rng.randrange(500)}"
            self.acknowledged.append((await self.kernel.receive(key, words)).turn_id)
            await asyncio.sleep(BETWEEN_MESSAGES)

    async def order(self) -> None:
        for number in range(0, SESSIONS, 4):
            job = await self.kernel.schedule(f"web:{number}", Every(1), Ask("work 50"))
            self.jobs.append(job.id)

    async def kill(self) -> None:
        workers = [self._start() for _ in range(WORKERS)]
        await self.processes.ready(*workers)
        while True:
            await asyncio.sleep(BETWEEN_KILLS)
            victim = self.rng.choice(workers)
            await victim.kill()
            self.kills += 1
            workers[workers.index(victim)] = self._start()

    def _start(self) -> Worker:
        return self.processes.start(user_runners=8, runners=3)

    async def drain(self) -> float:
        """Take no more in, and wait until nothing is left; how long that took."""
        for job in self.jobs:
            await self._pause(job)
        begun = time.monotonic()
        await eventually(self._is_drained, "the lanes are drained", within=DRAIN_SECONDS)
        return time.monotonic() - begun

    async def _pause(self, job_id: str) -> None:
        while True:
            try:
                await self.kernel.jobs.pause(job_id)
            except Conflict:  # it has fired between the look and the change
                continue
            return

    async def _is_drained(self) -> bool:
        return not any(session.busy for session in await self.kernel.sessions.list())

    async def ends(self) -> dict[str, tuple[TurnState, Outcome | None, int | None]]:
        turns = [await self.kernel.turns.get(turn_id) for turn_id in self.acknowledged]
        return {turn.id: (turn.state, turn.outcome, turn.finished_at) for turn in turns if turn.state in OVER}


@asynccontextmanager
async def _in_background(*work: Coroutine[Any, Any, None]) -> AsyncIterator[None]:
    """Runs the work while the body runs; the test fails if the work ends by itself."""
    tasks = [asyncio.create_task(each) for each in work]
    try:
        yield
        for task in tasks:
            assert not task.done(), f"it ended by itself: {task.exception()!r}"
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.wait(tasks)


@pytest.mark.serial
async def test_a_storm_of_kills_loses_nothing(database_url: str, tmp_path: Path, figure: Record) -> None:
    async with (
        processes(database_url, tmp_path, lease=LEASE) as doomed,
        doomed.successor("door") as kernel,
    ):
        storm = Storm(doomed, kernel)
        await storm.order()
        async with _in_background(storm.talk(), storm.kill()):
            await asyncio.sleep(SECONDS / 2)
            halfway = await storm.ends()
            await asyncio.sleep(SECONDS / 2)
        drained = await storm.drain()
        ends = await storm.ends()
        assert len(ends) == len(storm.acknowledged)
        assert {turn: ends[turn] for turn in halfway} == halfway
        assert {outcome for _, outcome, _ in ends.values()} <= {Outcome.OK, Outcome.INTERRUPTED}
        for job_id in storm.jobs:
            slots = [run.slot for run in await kernel.runs.list(job=job_id, limit=1000)]
            assert len(slots) == len(set(slots))
            assert all(run.outcome is not None for run in await kernel.runs.list(job=job_id, limit=1000))
        entries = doomed.journal.entries()
        assert not overlaps(entries)
        assert not fences_out_of_order(entries)
        assert not await kernel.audit()
    interrupted = sum(outcome is Outcome.INTERRUPTED for _, outcome, _ in ends.values())
    figure("kills", str(storm.kills))
    figure("turns acknowledged, of which interrupted, lost", f"{len(ends)}, {interrupted}, 0")
    figure(f"drained, lease {LEASE} s", f"{drained:.1f} s")
