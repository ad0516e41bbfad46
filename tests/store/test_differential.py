"""The same history on SQLite and on PostgreSQL gives the same data.

Calls are made one after another from a seed, the clock goes from one due moment to the next, and the
workers are stepped until nothing is left to do. Then every table is compared, with ids replaced by names in
the order in which they appear. What is due at one moment has no order, so no two jobs share one here.
"""

import os
import random
import re
from collections import Counter
from collections.abc import AsyncIterator
from datetime import timedelta
from typing import Any

import pytest

from segue import Ask, At, Call, Cron, Every, Idle, Kernel, Policy, Say, Stored
from segue.errors import SegueError
from segue.model.agent import OpenTurn
from segue.model.policy import Busy, Late, Overlap
from segue.model.records import Owner
from segue.model.settings import Settings
from segue.model.states import WhenBusy
from segue.store.queries import translate
from segue.testing import ManualClock, RecordingChannel, quiet
from segue.times.clock import to_moment
from segue.times.trigger import Phase, Trigger

SEEDS = range(200 if os.environ.get("SEGUE_LONG") else 8)
MOVES = 25
_ID = re.compile(r"\b(?:[0-9a-f]{12})?[0-9a-f]{28}\b")

_TABLES = {
    "sessions": "SELECT * FROM sessions ORDER BY account, user_id, key",
    "turns": "SELECT * FROM turns ORDER BY id",
    "jobs": "SELECT * FROM jobs_told ORDER BY id",
    "runs": "SELECT * FROM runs_told ORDER BY job_id, slot",
    "events": "SELECT * FROM events ORDER BY session_id, seq",
    "deliveries": "SELECT * FROM deliveries ORDER BY session_id, id",
}


class History:
    """A simulated user: calls on a kernel, chosen by a seed."""

    def __init__(self, seed: int, kernel: Kernel, clock: ManualClock) -> None:
        self.rng = random.Random(seed)
        self.kernel = kernel
        self.clock = clock
        self.errors: list[str] = []
        self.jobs: list[tuple[str, Owner]] = []
        self.turns: list[tuple[str, Owner]] = []
        self.orders = 0

    async def unfold(self) -> list[str]:
        for number in range(MOVES):
            call = self.rng.choice(
                (self.talk, self.talk, self.order, self.order, self.change, self.write, self.delete)
            )
            try:
                await call()
            except SegueError as error:
                self.errors.append(f"{number} {call.__name__}: {error.code}")
            if self.rng.random() < 0.5:
                await self.pass_time(self.rng.choice((1, 61, 400)))
        await self.pass_time(600)
        return self.errors

    async def pass_time(self, seconds: float) -> None:
        until = self.clock.now() + timedelta(seconds=seconds)
        while (due := await self.kernel.store.next_due()) is not None and to_moment(due) <= until:
            self.clock.set(max(to_moment(due), self.clock.now()))
            await quiet(self.kernel)
        self.clock.set(until)
        await quiet(self.kernel)

    def own_moment(self) -> float:
        """Seconds that no other job uses."""
        self.orders += 1
        return self.rng.choice((20, 60, 200)) + self.orders / 1000 * 7

    def where(self) -> tuple[str, Owner]:
        place = f"{self.rng.choice(('web', 'test'))}:{self.rng.randrange(2)}"
        return place, Owner(self.rng.choice(("a", "b")), "ann")

    async def talk(self) -> None:
        key, owner = self.where()
        mode = self.rng.choice((None, *WhenBusy))
        admitted = await self.kernel.receive(key, "hello", owner=owner, when_busy=mode)
        self.turns.append((admitted.turn_id, owner))
        if self.rng.random() < 0.2:
            turn_id, whose = self.rng.choice(self.turns)
            await self.kernel.turns.cancel(turn_id, owner=whose)

    async def write(self) -> None:
        key, owner = self.where()
        await self.kernel.log.write(key, "user", "a note — ✓", owner=owner)

    async def order(self) -> None:
        key, owner = self.where()
        action = self.rng.choice((Ask("What is new?"), Say("Hello."), Call("tidy")))
        policy = Policy(
            late=self.rng.choice(list(Late)),
            overlap=self.rng.choice(list(Overlap)),
            busy=self.rng.choice(list(Busy)),
            max_runs=self.rng.choice((None, 2)),
            jitter_seconds=self.rng.choice((0, 3)),
            grace_seconds=self.rng.choice((1, 86_400)),
        )
        job = await self.kernel.schedule(key, self.trigger(), action, owner=owner, policy=policy)
        self.jobs.append((job.id, owner))

    def trigger(self) -> Trigger:
        seconds = self.own_moment()
        return self.rng.choice(
            (
                At(self.clock.now() + timedelta(seconds=seconds)),
                Every(seconds),
                Every(seconds, phase=Phase.RELATIVE),
                Cron(f"{self.orders % 60} * * * *", tz="Europe/Berlin"),
                Idle(seconds),
            )
        )

    async def change(self) -> None:
        if not self.jobs:
            return
        job_id, owner = self.rng.choice(self.jobs)
        match self.rng.randrange(5):
            case 0:
                await self.kernel.jobs.pause(job_id, owner=owner)
            case 1:
                await self.kernel.jobs.resume(job_id, owner=owner)
            case 2:
                await self.kernel.jobs.skip(job_id, owner=owner)
            case 3:
                await self.kernel.jobs.update(job_id, owner=owner, trigger=self.trigger())
            case _:
                await self.kernel.jobs.delete(job_id, owner=owner)

    async def delete(self) -> None:
        key, owner = self.where()
        if self.rng.random() < 0.3:
            await self.kernel.sessions.delete(key, owner=owner, with_jobs=self.rng.random() < 0.7)


class MoodyAgent:
    """Its answers depend on the session and on how often it was asked there, because the order of two
    sessions that are ready at once is open."""

    reports_tools = True

    def __init__(self) -> None:
        self._asked: Counter[tuple[str, str]] = Counter()

    async def answer(self, turn: OpenTurn) -> AsyncIterator[str]:
        place = (turn.session.owner.account, turn.session.key)
        self._asked[place] += 1
        mood = random.Random(f"{place} {self._asked[place]}").randrange(4)
        if mood == 0:
            raise ValueError("broken")
        if mood > 1:
            history = await turn.history()
            yield f"{len(history)} messages before this one"


async def _tidy(turn: object) -> str:
    return "tidied"


async def tables_after(url: str, seed: int) -> dict[str, Any]:
    clock = ManualClock()
    kernel = Kernel(
        url,
        agent=MoodyAgent(),
        clock=clock,
        channels=[RecordingChannel("test"), Stored("web")],
        functions={"tidy": _tidy},
        settings=Settings(timezone="UTC", runners=1, user_runners=1),
        rng=random.Random(seed),
        name="worker",
    )
    async with kernel:
        errors = await History(seed, kernel, clock).unfold()
        assert not await kernel.audit()
        names: dict[str, str] = {}
        tables: dict[str, Any] = {"errors": errors}
        for table, text in _TABLES.items():
            rows = await kernel.store.database.read(translate(f"compare.{table}", text), {})
            tables[table] = [{name: _known(value, names) for name, value in _cells(row)} for row in rows]
        return tables


def _cells(row: Any) -> list[tuple[str, Any]]:
    return sorted((name, row[name]) for name in row.keys())  # noqa: SIM118 — a sqlite3.Row yields its values


def _known(value: Any, names: dict[str, str]) -> Any:
    """The value, with each id replaced by a name in the order in which it is first met."""
    if not isinstance(value, str):
        return value
    return _ID.sub(lambda found: names.setdefault(found[0], f"<{len(names)}>"), value)


@pytest.mark.parametrize("seed", SEEDS)
async def test_both_databases_hold_the_same_data(
    seed: int, migrated_sqlite_url: str, migrated_postgres_url: str
) -> None:
    here = await tables_after(migrated_sqlite_url, seed)
    there = await tables_after(migrated_postgres_url, seed)
    for part, rows in here.items():
        assert there[part] == rows, f"{part} differ"
