"""Every statement of every call and worker fails once, on both databases.

A database is set up, and a fault is put at statement 1, 2, 3 … of the work, until it passes without one.
After each fault nothing is broken and nothing that was promised is gone; then the same is tried again on the
sound database, and works.
"""

import os
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import suppress
from datetime import timedelta
from itertools import count

import pytest

from segue import Ask, At, Call, Every, Idle, Kernel, Say, Stored
from segue.errors import StoreError
from segue.model.records import Job, Turn
from segue.store.database import Database
from segue.store.open import open_database
from segue.testing import Fault, FaultyStore, ManualClock, RecordingChannel, ScriptedAgent, audit, quiet

KEY = "test:1"
MOST_STATEMENTS = 200
LONG = bool(os.environ.get("SEGUE_LONG"))
"""Otherwise slow work fails at every seventh statement only, and other work at every third."""

Trial = Callable[[Kernel], Awaitable[object]]


class Prepared:
    """A database with rows of every kind, and two kernels on it: a sound one and a faulty one."""

    def __init__(self, database: Database) -> None:
        self.database = database
        self.clock = ManualClock()
        self.agent = ScriptedAgent()
        self.channel = RecordingChannel("test", idempotent=True)

    def kernel(self, database: Database) -> Kernel:
        async def tidy(turn: object) -> None:
            return None

        return Kernel(
            database,
            agent=self.agent,
            clock=self.clock,
            channels=[self.channel, Stored("web")],
            functions={"tidy": tidy},
            name="worker",
        )

    async def prepare(self, kernel: Kernel) -> tuple[Turn, list[Job]]:
        """A queued turn, and jobs that are due in a minute."""
        soon = self.clock.now() + timedelta(minutes=1)
        orders = [
            await kernel.schedule(KEY, At(soon), Ask("What is new?")),
            await kernel.schedule(KEY, At(soon), Say("Hello.")),
            await kernel.schedule(KEY, At(soon), Call("tidy")),
            await kernel.schedule(KEY, Every(60), Ask("And now?")),
            await kernel.schedule(KEY, Idle(60), Ask("Quiet?")),
        ]
        admitted = await kernel.receive(KEY, "hello")
        return await kernel.turns.get(admitted.turn_id), orders


@pytest.fixture
async def prepared(database_url: str) -> AsyncIterator[Prepared]:
    database = await open_database(database_url)
    yield Prepared(database)
    await database.close()


def later(prepared: Prepared) -> None:
    prepared.clock.advance(minutes=1)


def much_later(prepared: Prepared) -> None:
    prepared.clock.advance(days=3)


CALLS: dict[str, Callable[[Kernel, Turn, list[Job]], Awaitable[object]]] = {
    "receive": lambda kernel, turn, jobs: kernel.receive(KEY, "again"),
    "receive in a new session": lambda kernel, turn, jobs: kernel.receive("test:2", "first"),
    "write": lambda kernel, turn, jobs: kernel.log.write(KEY, "user", "a note"),
    "stop": lambda kernel, turn, jobs: kernel.turns.stop(KEY),
    "cancel": lambda kernel, turn, jobs: kernel.turns.cancel(turn.id),
    "schedule": lambda kernel, turn, jobs: kernel.schedule(KEY, Every(60), Ask("More?")),
    "pause": lambda kernel, turn, jobs: kernel.jobs.pause(jobs[3].id),
    "edit": lambda kernel, turn, jobs: kernel.jobs.update(jobs[3].id, trigger=Every(90)),
    "skip": lambda kernel, turn, jobs: kernel.jobs.skip(jobs[3].id),
    "remove": lambda kernel, turn, jobs: kernel.jobs.delete(jobs[3].id),
    "delete": lambda kernel, turn, jobs: kernel.sessions.delete(KEY, with_jobs=True),
}

WORKERS: dict[str, tuple[Callable[[Prepared], None], Trial]] = {
    "timer": (later, lambda kernel: kernel.workers.timer.step()),
    "timer after a gap": (much_later, lambda kernel: kernel.workers.timer.step()),
    "user runner": (lambda prepared: None, lambda kernel: kernel.workers.user_runner.step()),
    "everything": (later, quiet),
    "everything after a gap": (much_later, quiet),
}


async def in_order(prepared: Prepared) -> bool:
    return not await audit(prepared.database)


@pytest.mark.parametrize("call", CALLS)
async def test_a_call_that_fails_leaves_nothing_behind_and_works_the_next_time(
    prepared: Prepared, call: str
) -> None:
    async with prepared.kernel(prepared.database) as sound:
        for statement in count(1):
            assert statement < MOST_STATEMENTS
            turn, jobs = await prepared.prepare(sound)
            faulty = FaultyStore(prepared.database, fail_at=statement)
            async with prepared.kernel(faulty) as kernel:
                try:
                    await CALLS[call](kernel, turn, jobs)
                except Fault:
                    assert await in_order(prepared)
                    assert await sound.turns.get(turn.id) == turn
                    await CALLS[call](sound, turn, jobs)
            assert await in_order(prepared)
            await quiet(sound)
            if faulty.statements < statement:
                break
            if call != "delete":
                await sound.sessions.delete(KEY, with_jobs=True)


@pytest.mark.parametrize("worker", WORKERS)
async def test_a_worker_that_fails_does_its_work_the_next_time(prepared: Prepared, worker: str) -> None:
    advance, work = WORKERS[worker]
    stride = 1 if LONG else 7 if work is quiet else 3
    async with prepared.kernel(prepared.database) as sound:
        for statement in count(1, stride):
            assert statement < MOST_STATEMENTS
            turn, jobs = await prepared.prepare(sound)
            advance(prepared)
            faulty = FaultyStore(prepared.database, fail_at=statement)
            async with prepared.kernel(faulty) as kernel:
                with suppress(StoreError, ExceptionGroup):
                    await work(kernel)
            assert await in_order(prepared)
            await everything_is_done(prepared, sound, turn, jobs)
            await sound.sessions.delete(KEY, with_jobs=True)
            if faulty.statements < statement:
                break


async def everything_is_done(prepared: Prepared, kernel: Kernel, turn: Turn, jobs: list[Job]) -> None:
    """Work that was lost by the fault is reclaimed when its lease expires."""
    prepared.clock.advance(minutes=2)
    await quiet(kernel)
    prepared.clock.advance(minutes=2)
    await quiet(kernel)
    assert await in_order(prepared)
    assert (await kernel.turns.get(turn.id)).finished_at is not None
    for job in jobs:
        runs = await kernel.runs.list(job=job.id)
        assert runs
        assert all(run.outcome is not None for run in runs)
