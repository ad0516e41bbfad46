"""A limit of all processes: two that lease at once never start one turn too many."""

from dataclasses import replace

import pytest

from segue.kernel.transactions.guards.cluster_limit import lease_within_limits
from segue.kernel.transactions.lane import Pool
from segue.kernel.transactions.lease import HeldLane
from segue.model.settings import Settings
from segue.store.database import Transaction
from segue.store.queries import Query
from tests.leases import terms_of
from tests.races.by_hand import Branches, Stage, stage, walk
from tests.races.scenes import LEASE_MS, NOW, Scene, settled

MOST = 2


TOTAL = Settings(max_running_turns=MOST)
OF_MODEL = Settings(max_running_turns_by_model={"default": MOST})


def leased(holder: str, settings: Settings = TOTAL) -> Transaction[list[HeldLane]]:
    within = yield from lease_within_limits(
        terms_of(holder, lease_ms=LEASE_MS, lease_now=NOW),
        settings=settings,
        pool=Pool.USER,
        after="",
        limit=1,
        now=NOW,
        since=0,
        allow_suspect=True,
    )
    return list(within.value.held)


async def started_at_once(on: Stage, settings: Settings) -> set[int]:
    """How many turns ran at once, after each order in which two processes can lease beside a running turn."""
    found: set[int] = set()
    for choose in Branches():
        for _ in range(MOST + 1):
            await on.perform(Scene(on).arrives())
        held = await on.perform(leased("before", settings))
        actors = [on.actor(name, leased(name, settings)) for name in ("first", "second")]
        await walk(actors, choose)
        for actor in actors:
            assert actor.error is None
            held += actor.result
        found.add(len(held))
        while held:
            await on.perform(settled(held.pop()))
            held += await on.perform(leased("last", settings))
        assert not await on.broken()
    return found


async def test_two_processes_never_start_one_turn_too_many(database_url: str) -> None:
    async with stage(database_url) as on:
        assert await started_at_once(on, TOTAL) == {MOST}


async def test_two_processes_never_start_one_turn_too_many_of_a_model(database_url: str) -> None:
    async with stage(database_url) as on:
        assert await started_at_once(on, OF_MODEL) == {MOST}


@pytest.mark.parametrize("settings", [TOTAL, OF_MODEL], ids=["total", "model"])
async def test_without_the_lock_both_would_count_before_either_leases(
    migrated_postgres_url: str, settings: Settings
) -> None:
    def unlocked(query: Query) -> Query:
        return replace(query, postgres="SELECT 1")

    async with stage(migrated_postgres_url) as on:
        for _ in range(MOST + 1):
            await on.perform(Scene(on).arrives())
        await on.perform(leased("before", settings))
        actors = [
            on.actor(name, leased(name, settings), {"sessions.lock_leasing": unlocked}) for name in ("1", "2")
        ]
        for actor in actors:
            await actor.until("sessions.lease")
        for actor in actors:
            while not actor.finished:
                await actor.step()
        assert [len(actor.result) for actor in actors] == [1, 1], "one more than the limit"
