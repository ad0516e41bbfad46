"""Scan start of a queue while PostgreSQL keeps entries of rows that have left it."""

import asyncio
import json
from collections.abc import AsyncIterator
from dataclasses import replace

import asyncpg
import pytest

from segue.errors import StoreError
from segue.store import queries
from segue.store.database import Database, Params, Rows, Transaction
from segue.store.open import open_database
from segue.store.queries import Query
from segue.store.queue_start import BOTTOM, QueueStart
from segue.store.settings import ScanSettings
from segue.testing.forwarding import ForwardingDatabase
from tests.eventually import eventually
from tests.store.seeds import seed
from tests.store.test_plans import AT_REST

NOW = 1_000_000
NEVER = 1e9
ROWS = 1000
BEHIND_MS = ScanSettings().behind_ms
AT_EVERY_CALL = ScanSettings(stale_seconds=0, fresh_seconds=0)
"""A queue start that scans at every call."""


class SlowDatabase(ForwardingDatabase):
    """A database whose reads take `seconds`; it records where each scan started."""

    seconds = ScanSettings().long_seconds
    error: Exception | None = None

    def __init__(self, database: Database) -> None:
        super().__init__(database)
        self.scans: ScanSettings = AT_EVERY_CALL
        self.began: list[object] = []
        self.asked = asyncio.Event()
        self.may_answer = asyncio.Event()
        self.may_answer.set()

    async def read(self, query: Query, params: Params) -> Rows:
        self.began.append(params["since"])
        self.asked.set()
        await self.may_answer.wait()
        await asyncio.sleep(self.seconds)
        if self.error:
            raise self.error
        return await super().read(query, params)


@pytest.fixture
async def database(migrated_postgres_url: str) -> AsyncIterator[SlowDatabase]:
    """With some ready lanes, the first since 0."""
    await seed(migrated_postgres_url, ROWS, tables=("sessions",))
    database = await open_database(migrated_postgres_url)
    yield SlowDatabase(database)
    await database.close()


@pytest.fixture
def lanes(database: SlowDatabase) -> QueueStart:
    return QueueStart(database, queries.sessions.first_ready)


@pytest.fixture
def once(database: SlowDatabase) -> None:
    """Only the first scan is a full scan."""
    database.scans = replace(AT_EVERY_CALL, one_in=NEVER, longest_seconds=NEVER)


async def no_lane_is_ready(database: SlowDatabase) -> None:
    await change(database, "UPDATE sessions SET ready_at = NULL WHERE ready_at IS NOT NULL")


async def ready(database: SlowDatabase, since: int, session: str = "session-7") -> None:
    await change(database, f"UPDATE sessions SET ready_at = {since} WHERE id = '{session}'")


async def change(database: SlowDatabase, text: str) -> None:
    def write() -> Transaction[None]:
        yield queries.translate("test.change", text), {}

    await database.run(write)


async def test_a_fast_scan_starts_at_the_bottom(database: SlowDatabase, lanes: QueueStart) -> None:
    database.seconds = 0
    assert [await lanes.since(NOW) for _ in range(3)] == [BOTTOM] * 3
    assert database.began == [BOTTOM] * 3


@pytest.mark.usefixtures("once")
async def test_after_a_slow_scan_the_next_ones_start_at_the_first_waiting_row(
    database: SlowDatabase, lanes: QueueStart
) -> None:
    await no_lane_is_ready(database)
    await ready(database, 5000)
    assert [await lanes.since(NOW), await lanes.since(NOW)] == [5000, 5000]
    await ready(database, 6000)
    assert [await lanes.since(NOW), await lanes.since(NOW)] == [6000, 6000]
    assert database.began == [BOTTOM, 5000, 5000, 6000]


@pytest.mark.usefixtures("once")
async def test_the_pools_are_one_queue(database: SlowDatabase, lanes: QueueStart) -> None:
    """A user's message moves a lane, with the turns that wait in it, to the other pool."""
    await no_lane_is_ready(database)
    await ready(database, 5000)
    await change(database, "UPDATE sessions SET user_waits = 1 - user_waits WHERE id = 'session-7'")
    assert await lanes.since(NOW) == 5000
    await change(database, "UPDATE sessions SET user_waits = 1 - user_waits WHERE id = 'session-7'")
    assert await lanes.since(NOW) == 5000


@pytest.mark.usefixtures("once")
async def test_a_row_that_enters_now_is_found(database: SlowDatabase, lanes: QueueStart) -> None:
    """Also if no row waited, if a row is ready later, or if a clock that is behind set the row's moment."""
    await no_lane_is_ready(database)
    assert await lanes.since(NOW) == NOW - BEHIND_MS
    await ready(database, NOW + 60_000)
    assert await lanes.since(NOW) == NOW - BEHIND_MS


async def test_a_row_below_the_scan_start_is_found_by_the_next_full_scan(
    database: SlowDatabase, lanes: QueueStart
) -> None:
    database.scans = replace(AT_EVERY_CALL, one_in=NEVER, longest_seconds=1.0)
    await no_lane_is_ready(database)
    await ready(database, 5000)
    await lanes.since(NOW)
    await ready(database, 4000, "session-8")
    assert await lanes.since(NOW) == 5000

    async def is_found() -> bool:
        return await lanes.since(NOW) == 4000

    await eventually(is_found, "the row")
    assert database.began.count(BOTTOM) == 2


@pytest.mark.parametrize("scans_before", [0, 1])
@pytest.mark.usefixtures("once")
async def test_a_row_passed_to_lower_is_found(
    database: SlowDatabase, lanes: QueueStart, scans_before: int
) -> None:
    """Also during a scan, which may have seen the row or not."""
    await no_lane_is_ready(database)
    for _ in range(scans_before):
        await lanes.since(NOW)
    lanes.lower(5000)
    await ready(database, 5000)
    database.asked.clear()
    database.may_answer.clear()
    scanning = asyncio.create_task(lanes.since(NOW))
    await database.asked.wait()
    lanes.lower(4000)
    database.may_answer.set()
    assert await scanning == 4000
    assert await lanes.since(NOW) == 5000


@pytest.mark.usefixtures("once")
async def test_when_scans_are_fast_again_they_start_at_the_bottom(
    database: SlowDatabase, lanes: QueueStart, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert await lanes.since(NOW) == 0
    await no_lane_is_ready(database)
    assert await lanes.since(NOW) == NOW - BEHIND_MS
    monkeypatch.setattr(lanes, "_full_scan_at", 0.0)
    database.scans = replace(AT_EVERY_CALL, long_seconds=NEVER)
    assert await lanes.since(NOW) == BOTTOM


@pytest.mark.usefixtures("once")
async def test_a_full_scan_that_fails_is_not_retried_at_once(
    database: SlowDatabase, lanes: QueueStart, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It may have been cancelled because it took too long; scans from further up need not be."""
    await no_lane_is_ready(database)
    await ready(database, 5000)
    await lanes.since(NOW)
    monkeypatch.setattr(lanes, "_full_scan_at", 0.0)
    database.error = StoreError("it took too long")
    with pytest.raises(StoreError):
        await lanes.since(NOW)
    database.error = None
    assert await lanes.since(NOW) == 5000
    assert database.began == [BOTTOM, BOTTOM, 5000]


LEASE: dict[str, object] = {"holder": "worker", "lease_ms": 1000, "lease_now": NOW}
SCANS: dict[Query, dict[str, object]] = {
    queries.jobs.due: {"now": NOW, "limit": 100, "unified": 0},
    queries.jobs.due_of_account: {"account": "account-1", "now": NOW, "limit": 100, "unified": 0},
    queries.jobs.next_due: {},
    queries.jobs.next_account: {"account": ""},
    queries.sessions.lease: {"user_waits": 0, "now": NOW, "after": "", "limit": 50, "quantum": 8, **LEASE},
    queries.sessions.first_ready: {},
    queries.sessions.next_ready: {"user_waits": 0},
    queries.sessions.expired: {"lease_now": NOW, "horizon": None, "limit": 100},
    queries.sessions.first_leased: {},
    queries.deliveries.lease: {"channels": "*", "now": NOW, "limit": 100, **LEASE},
    queries.deliveries.next_due: {"channels": "*"},
    queries.deliveries.first_waiting: {},
    queries.deliveries.expired: {"channels": "*", "lease_now": NOW, "horizon": None, "limit": 100},
    queries.deliveries.first_leased: {},
}
BUSY = (
    "UPDATE jobs SET state = 'active', next_at = 1",
    "UPDATE sessions SET ready_at = 1",
    "UPDATE sessions SET ready_at = NULL, holder = 'worker', lease_until = 1",
    "UPDATE deliveries SET state = 'pending', not_before = 1",
    "UPDATE deliveries SET holder = 'worker', lease_until = 1",
)


async def test_a_scan_does_not_walk_over_entries_of_rows_that_have_left(postgres_url: str) -> None:
    """PostgreSQL keeps them for an old snapshot: a backup, a report, a forgotten transaction."""
    await seed(postgres_url, ROWS)
    backup = await asyncpg.connect(postgres_url)
    connection = await asyncpg.connect(postgres_url)
    try:
        await backup.execute("BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT COUNT(*) FROM sessions")
        for statement in (*AT_REST, *((*BUSY, *AT_REST) * 10)):
            await connection.execute(statement)
        for query, values in SCANS.items():
            over_all = await pages(connection, query, {**values, "since": BOTTOM})
            from_there = await pages(connection, query, {**values, "since": 2})
            assert over_all > 10 * from_there, query.name
    finally:
        await backup.close()
        await connection.close()


async def pages(
    connection: "asyncpg.Connection[asyncpg.Record]", query: Query, values: dict[str, object]
) -> int:
    """How many pages a query reads."""
    given = [values[name] for name in query.parameters]
    async with connection.transaction():
        plan = await connection.fetchval(f"EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) {query.postgres}", *given)
    top = json.loads(plan)[0]["Plan"]
    return int(top["Shared Hit Blocks"]) + int(top["Shared Read Blocks"])
