"""Turns per second: a no-op agent, 1,000 sessions, 50 runners, full durability.

  - users' turns      every turn is admitted beforehand; measured is lease → agent → settle
  - scheduled turns   the same, but the timer admitted them: each has a run and a job that counts failures
  - due jobs          nothing is admitted beforehand; measured is look → fire → lease → agent → settle

SQLite is compared with a bare loop that writes the same rows in groups of 100, PostgreSQL with PgQueuer's own
benchmark on the same server. Both are described in `bench.peers`. The ratios have no bar: the peers do less.
`bench.versus` compares turns per second with an earlier commit.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from datetime import UTC, datetime, timedelta
from typing import TypeAlias

from bench.drain import Echo, drain
from bench.environment import Environment
from bench.figure import Figure, compared
from bench.measure import alternate
from bench.peers import bare_sqlite, pgqueuer
from segue import Ask, At, Kernel, Settings
from segue.cli.support import event_loop

Fill: TypeAlias = Callable[[Kernel, int], Awaitable[None]]
"""Stores that many waiting turns in the kernel's database."""

SESSIONS = 1_000
RUNNERS = 50
SOON = timedelta(seconds=1)


def sqlite_turns(env: Environment) -> Iterator[Figure]:
    each = env.size(10, short=2)
    users = bare_sqlite.Turns(sessions=SESSIONS, each=each)
    scheduled = bare_sqlite.Turns(sessions=SESSIONS, each=each, scheduled=True)
    due = bare_sqlite.Turns(sessions=SESSIONS * each, each=1, scheduled=True, due=True)
    yield _against_bare_loop("SQLite: users' turns", env, users_turns, users)
    yield _against_bare_loop("SQLite: scheduled turns", env, _scheduled_turns, scheduled)
    yield _against_bare_loop("SQLite: due jobs, fired and run", env, _due_jobs, due)


def postgres_turns(env: Environment) -> Iterator[Figure]:
    theirs = pgqueuer.Drain(jobs=env.size(20_000, short=2_000))
    wide = pgqueuer.Drain(jobs=theirs.jobs, batch=100)
    yield _against_pgqueuer("PostgreSQL: users' turns", env, users_turns, theirs)
    yield _against_pgqueuer("  PgQueuer with batches of 100", env, users_turns, wide)
    yield _against_pgqueuer("PostgreSQL: scheduled turns", env, _scheduled_turns, theirs)


def _against_bare_loop(workload: str, env: Environment, fill: Fill, bare: bare_sqlite.Turns) -> Figure:
    def ours() -> float:
        with env.folder() as folder:
            return event_loop.run(_drained(f"sqlite:///{folder}/segue.db", fill, bare.total))

    def peer() -> float:
        with env.folder() as folder:
            return bare_sqlite.run(folder, bare).per_second

    return compared(workload, "turns/s", alternate(env.rounds, ours, peer), None)


def _against_pgqueuer(workload: str, env: Environment, fill: Fill, theirs: pgqueuer.Drain) -> Figure:
    def ours() -> float:
        with env.database() as url:
            return event_loop.run(_drained(url, fill, env.size(10, short=2) * SESSIONS))

    def peer() -> float:
        with env.database() as url:
            return pgqueuer.run(url, theirs).drain.per_second

    return compared(workload, "/s", alternate(env.rounds, ours, peer), None)


async def _drained(url: str, fill: Fill, turns: int) -> float:
    echo = Echo(turns)
    settings = Settings(user_runners=RUNNERS, runners=RUNNERS)
    async with Kernel(url, agent=echo, settings=settings) as kernel:
        await fill(kernel, turns)
        return (await drain(kernel, echo)).per_second


async def users_turns(kernel: Kernel, turns: int) -> None:
    for _ in range(turns // SESSIONS):
        await asyncio.gather(*(kernel.receive(_key(number), "go on") for number in range(SESSIONS)))


async def _scheduled_turns(kernel: Kernel, turns: int) -> None:
    for _ in range(turns // SESSIONS):
        await _schedule(kernel, range(SESSIONS))
    while await kernel.store.next_due() is not None:
        await kernel.workers.timer.step()


async def _due_jobs(kernel: Kernel, turns: int) -> None:
    """One job per session: a lane in which turns wait would also have to announce each new one."""
    for first in range(0, turns, SESSIONS):
        await _schedule(kernel, range(first, first + SESSIONS))


async def _schedule(kernel: Kernel, sessions: range) -> None:
    await asyncio.gather(*(_schedule_one(kernel, number) for number in sessions))
    await asyncio.sleep(SOON.total_seconds())


async def _schedule_one(kernel: Kernel, number: int) -> None:
    await kernel.schedule(_key(number), At(datetime.now(UTC) + SOON), Ask("go on"))


def _key(number: int) -> str:
    return f"websocket:{number}"
