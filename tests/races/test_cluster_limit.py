"""A limit of all processes: two that lease at once never start one turn too many."""

from dataclasses import replace

from segue.kernel.transactions.guards.cluster_limit import lease_within_limit
from segue.kernel.transactions.lane import Pool
from segue.kernel.transactions.lease import HeldLane
from segue.store.database import Transaction
from segue.store.queries import Query
from tests.leases import terms_of
from tests.races.by_hand import Branches, Stage, stage, walk
from tests.races.scenes import LEASE_MS, NOW, Scene, settled

MOST = 2


def leased(holder: str) -> Transaction[list[HeldLane] | None]:
    within = yield from lease_within_limit(
        terms_of(holder, lease_ms=LEASE_MS, lease_now=NOW),
        most=MOST,
        pool=Pool.USER,
        after="",
        limit=1,
        now=NOW,
        since=0,
        allow_suspect=True,
    )
    return None if within is None else within.value


async def started_at_once(on: Stage) -> set[int]:
    """How many turns ran at once, after each order in which two processes can lease beside a running turn."""
    found: set[int] = set()
    for choose in Branches():
        for _ in range(MOST + 1):
            await on.perform(Scene(on).arrives())
        held = await on.perform(leased("before")) or []
        actors = [on.actor(name, leased(name)) for name in ("first", "second")]
        await walk(actors, choose)
        for actor in actors:
            assert actor.error is None
            held += actor.result or []
        found.add(len(held))
        while held:
            await on.perform(settled(held.pop()))
            last = await on.perform(leased("last"))
            held += last or []
        assert not await on.broken()
    return found


async def test_two_processes_never_start_one_turn_too_many(database_url: str) -> None:
    async with stage(database_url) as on:
        assert await started_at_once(on) == {MOST}


async def test_without_the_lock_both_would_count_before_either_leases(postgres_url: str) -> None:
    def unlocked(query: Query) -> Query:
        return replace(query, postgres="SELECT 1")

    async with stage(postgres_url) as on:
        for _ in range(MOST + 1):
            await on.perform(Scene(on).arrives())
        await on.perform(leased("before"))
        actors = [on.actor(name, leased(name), {"sessions.lock_leasing": unlocked}) for name in ("1", "2")]
        for actor in actors:
            await actor.until("sessions.lease")
        for actor in actors:
            while not actor.finished:
                await actor.step()
        assert [len(actor.result) for actor in actors] == [1, 1], "one more than the limit"
