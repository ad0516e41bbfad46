"""Trap 1: a claim that finds its turn in an old snapshot starts it twice.

Under READ COMMITTED a statement that waited for a row reads that row again, but its sub-selects still see the
snapshot of its start. So a claim in one statement can take a lane that is free again, with a turn that has
already ended. Segue leases the lane first and selects the turn in a second statement, which also guards the
turn's state.
"""

import asyncio
import random
from collections import Counter
from collections.abc import Callable
from dataclasses import replace

import pytest

from segue.kernel.transactions import lane, settle
from segue.kernel.transactions import lease as leasing
from segue.kernel.transactions.lane import Admission, Pool
from segue.kernel.transactions.lease import HeldLane
from segue.kernel.transactions.result import Result
from segue.kernel.transactions.unified import Address
from segue.model import closure
from segue.model.records import Ids, Lookup, Owner
from segue.model.states import WhenBusy
from segue.store.database import Database, Transaction
from segue.store.open import open_database
from segue.store.queries import Query, translate
from segue.testing import audit
from tests.leases import terms_of
from tests.races.by_hand import LONG, Stage, stage
from tests.races.scenes import LEASE_MS, NOW, Scene, settled

GATE = 7
"""An advisory lock at which a statement waits after it has taken its snapshot."""

ONE_STATEMENT = f"""
WITH gate AS MATERIALIZED (
    SELECT pg_advisory_xact_lock_shared({GATE})
),
ready AS MATERIALIZED (
    SELECT id
    FROM sessions
    WHERE (SELECT COUNT(*) FROM gate) = 1 AND account = :account AND ready_at <= :now
    FOR NO KEY UPDATE SKIP LOCKED
),
leased AS (
    UPDATE sessions
    SET holder = 'second', fence = fence + 1, ready_at = NULL
    WHERE id IN (SELECT id FROM ready) AND holder IS NULL
    RETURNING id, fence
)
UPDATE turns
SET state = 'running', fence = leased.fence, attempt = attempt + 1
FROM leased
WHERE turns.id = (
    SELECT id
    FROM turns
    WHERE session_id = leased.id AND state = 'queued'
    ORDER BY rank, id
    LIMIT 1
)
"""
UNGUARDED = translate("unguarded", f"{ONE_STATEMENT} RETURNING turns.content")
GUARDED = translate("guarded", f"{ONE_STATEMENT} AND turns.state = 'queued' RETURNING turns.content")

Claim = Callable[[Scene], Transaction[list[str]]]


def in_one_statement(query: Query) -> Claim:
    def claim(scene: Scene) -> Transaction[list[str]]:
        started = yield query, {"account": scene.owner.account, "now": NOW}
        return [row["content"] for row in started]

    return claim


def in_two_statements(scene: Scene) -> Transaction[list[str]]:
    held = yield from scene.leased("second")
    return [one.turn.content for one in held]


def gated(lease: Query) -> Query:
    """Segue's own statement, made to wait between its snapshot and its lock."""
    gate = f"WITH gate AS MATERIALIZED (SELECT pg_advisory_xact_lock_shared({GATE})), next"
    text = lease.postgres.replace("WITH next", gate)
    whose = "account = (SELECT account FROM next)"
    text = text.replace(whose, f"(SELECT COUNT(*) FROM gate) = 1 AND {whose}", 1)
    assert text.count("gate") == 2
    return replace(lease, postgres=text)


async def started_by_the_second_worker(on: Stage, claim: Claim) -> list[str]:
    """Its claim begins, the first worker runs a whole turn, and then the claim goes on."""
    scene = Scene(on)
    await on.perform(scene.arrives("turn 1"))
    await on.perform(scene.arrives("turn 2"))
    second = on.actor("second", claim(scene), {"sessions.lease": gated})
    async with on.line() as gatekeeper:
        await gatekeeper.ask(f"SELECT pg_advisory_lock({GATE})")
        while not second.blocked:
            assert not second.finished, second.error
            await second.step()
        await on.perform(settled(await scene.take_up("first")))
        await gatekeeper.ask(f"SELECT pg_advisory_unlock({GATE})")
    while not second.finished:
        await second.step()
    assert second.error is None
    started: list[str] = second.result
    return started


async def test_trap_1_an_old_snapshot_starts_a_turn_twice(migrated_postgres_url: str) -> None:
    async with stage(migrated_postgres_url) as on:
        assert await started_by_the_second_worker(on, in_one_statement(UNGUARDED)) == ["turn 1"]
    async with stage(migrated_postgres_url) as on:
        assert await started_by_the_second_worker(on, in_one_statement(GUARDED)) == []
    async with stage(migrated_postgres_url) as on:
        assert await started_by_the_second_worker(on, in_two_statements) == ["turn 2"]


WORKERS = 8
ROUNDS, TURNS = (34, 3_000) if LONG else (1, 3_000)
SESSIONS = 200


@pytest.mark.serial
async def test_eight_workers_start_every_turn_once(database_url: str) -> None:
    databases = [await open_database(database_url) for _ in range(WORKERS)]
    try:
        ids = Ids(random.Random(9))
        for _ in range(ROUNDS):
            admitted = await _admit(databases, ids)
            starts: Counter[str] = Counter()
            async with asyncio.TaskGroup() as workers:
                for number, database in enumerate(databases):
                    workers.create_task(_work(database, f"worker {number}", starts))
            assert starts == Counter(admitted)
        assert not await audit(databases[0])
    finally:
        for database in databases:
            await database.close()


async def _admit(databases: list[Database], ids: Ids) -> list[str]:
    admitted: list[str] = []

    async def admit(number: int) -> None:
        admission = Admission(turn_id=ids(NOW), content="go", rank=NOW, not_before=NOW, timeout_ms=1000)
        lookup = Lookup(Owner(), Owner())
        address = Address(lookup=lookup, key=f"web:{number % SESSIONS}", new_id=ids(NOW))

        def receive() -> Transaction[Result[lane.QueuedTurn]]:
            return lane.receive(address, admission, NOW, when_busy=None, default=WhenBusy.ENQUEUE)

        admitted.append((await databases[number % WORKERS].run(receive)).value.turn_id)

    for batch in range(0, TURNS, 500):
        await asyncio.gather(*(admit(number) for number in range(batch, batch + 500)))
    return admitted


async def _work(database: Database, holder: str, starts: Counter[str]) -> None:
    """Until every lane is empty or held by another worker."""
    idle = 0
    while idle < 20:
        held = await database.run(lambda: _lease(database, holder))
        idle = 0 if held else idle + 1
        starts.update(one.turn.id for one in held)
        await asyncio.gather(*(_settle(database, one) for one in held))


async def _settle(database: Database, held: HeldLane) -> None:
    await database.run(lambda: settle.settle(held, closure.answered("ok", {}), NOW))


def _lease(database: Database, holder: str) -> Transaction[list[HeldLane]]:
    leased = yield from leasing.lease(
        terms_of(holder, lease_ms=LEASE_MS, lease_now=database.lease_now()),
        pool=Pool.USER,
        after="",
        limit=8,
        now=NOW,
    )
    return [*leased.value.held]
