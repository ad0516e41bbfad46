"""Trap 4: a lease that is counted by a worker's own clock is only as good as that clock.

PostgreSQL counts leases by its own clock, at the moment it grants them. On a SQLite file all workers are on
one machine and share its monotonic clock, which cannot be set. The wall clock of a worker plays no part.
"""

import asyncio

import pytest

from segue.kernel.kernel import Kernel
from segue.kernel.transactions import lease
from segue.kernel.transactions.lane import Pool
from segue.kernel.transactions.lease import HeldLane
from segue.store.database import Database
from segue.store.open import open_database
from segue.testing import ScriptedAgent
from segue.times.clock import SystemClock
from tests.leases import terms_of

HOUR = 3_600_000
LEASE_MS = 15_000


@pytest.mark.parametrize("wrong_by", [-HOUR, HOUR], ids=["an hour slow", "an hour fast"])
async def test_a_lease_of_a_worker_whose_clock_is_wrong_is_as_good_as_any(
    database_url: str, wrong_by: int
) -> None:
    agent = ScriptedAgent()
    agent.pause()
    async with (
        Kernel(database_url, agent=ScriptedAgent()) as right,
        Kernel(database_url, agent=agent, clock=_wrong(wrong_by)) as wrong,
    ):
        admitted = await wrong.receive("web:1", "hello")
        step = asyncio.create_task(wrong.workers.user_runner.step())
        await agent.under_way()
        assert await right.store.expired_lanes(10) == []
        assert await right.workers.reaper.step() == 0
        agent.go_on()
        await step
        turn = await right.turns.get(admitted.turn_id)
        assert (turn.outcome, turn.attempt) == ("ok", 1)


def _wrong(by: int) -> SystemClock:
    right = SystemClock()
    return SystemClock(lambda: right.ms() + by)


async def _leased(database: Database, lease_now: int | None) -> HeldLane:
    """The ready lane, with a lease that begins at that moment."""
    leased = await database.run(
        lambda: lease.lease(
            terms_of("owner", lease_ms=LEASE_MS, lease_now=lease_now),
            pool=Pool.USER,
            after="",
            limit=1,
            now=database.wall_ms(),
        )
    )
    (held,) = leased.value.held
    return held


async def test_trap_4_a_lease_by_a_clock_that_was_read_before_a_pause_is_born_expired(
    migrated_postgres_url: str,
) -> None:
    database = await open_database(migrated_postgres_url)
    async with Kernel(database, agent=ScriptedAgent()) as kernel:
        await kernel.receive("web:1", "hello")
        before_the_pause = database.wall_ms() - 60_000
        held = await _leased(database, before_the_pause)
        assert await kernel.store.expired_lanes(10) == [held.session.id]
        # It is reclaimed from an owner that has just started and is still working.
        assert await kernel.workers.reaper.step() == 1

        held = await _leased(database, database.lease_now())
        assert await kernel.store.expired_lanes(10) == []
    await database.close()
