"""Notifications of other processes' writes, and the database's clock."""

import asyncio
from collections.abc import AsyncIterator

import asyncpg
import pytest

from segue.store.postgres.clock_offset import Offset
from segue.store.postgres.database import Postgres
from segue.store.queries import translate
from segue.store.settings import DEFAULTS, StoreSettings
from tests.eventually import eventually
from tests.store import counting
from tests.store.counting import increment

NEVER = 3600.0
CLOCK = translate("any.clock", "SELECT CAST(EXTRACT(EPOCH FROM clock_timestamp()) * 1000 AS BIGINT) AS ms")

LAST_POLL = """
SELECT max(query_start) FROM pg_stat_activity
WHERE query LIKE '%pg_current_snapshot%' AND pid <> pg_backend_pid() AND datname = current_database()
"""


@pytest.fixture
def settings() -> StoreSettings:
    """The settings of `database`; a test may replace them by a parameter."""
    return DEFAULTS


@pytest.fixture
async def database(postgres_url: str, settings: StoreSettings) -> AsyncIterator[Postgres]:
    await counting.create(postgres_url, "s000")
    database = await Postgres.open(postgres_url, settings)
    yield database
    await database.close()


def with_settings(**settings: float) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("settings", [StoreSettings(**settings)], ids=[""])  # type: ignore[arg-type]


class Listener:
    """A listener that records the sender of each notification."""

    def __init__(self) -> None:
        self.notifications: asyncio.Queue[int] = asyncio.Queue()

    def __call__(self, _: object, pid: int, channel: str, payload: object) -> None:
        assert (channel, payload) == ("segue", "")
        self.notifications.put_nowait(pid)


@pytest.fixture
async def other_client(postgres_url: str) -> AsyncIterator["asyncpg.Connection[asyncpg.Record]"]:
    connection = await asyncpg.connect(postgres_url)
    yield connection
    await connection.close()


@with_settings(poll_seconds=NEVER)
async def test_another_process_that_commits_rings(database: Postgres, postgres_url: str) -> None:
    rung = asyncio.Event()
    other = await Postgres.open(postgres_url)
    async with database.watch(rung.set):
        number = 0
        while not rung.is_set():
            await other.run(increment("s000", f"say it until they listen {number}"))
            number += 1
    await other.close()


@with_settings(poll_seconds=NEVER, ring_seconds=0.0)
async def test_commits_of_this_process_do_not_ring(
    database: Postgres, other_client: "asyncpg.Connection[asyncpg.Record]"
) -> None:
    rings: asyncio.Queue[None] = asyncio.Queue()
    listener = Listener()
    await other_client.add_listener("segue", listener)
    async with database.watch(lambda: rings.put_nowait(None)):
        while rings.empty():
            await other_client.execute("NOTIFY segue")
        await database.run(increment("s000", "ours"))
        while await listener.notifications.get() == other_client.get_server_pid():
            pass
        for _ in range(rings.qsize()):
            rings.get_nowait()
        await database.run(increment("s000", "ours again"))
        while await listener.notifications.get() == other_client.get_server_pid():
            pass
        assert rings.empty()


@with_settings(notify_seconds=NEVER)
async def test_many_commits_make_one_notification(
    database: Postgres, other_client: "asyncpg.Connection[asyncpg.Record]"
) -> None:
    listener = Listener()
    await other_client.add_listener("segue", listener)
    await database.run(increment("s000", "the first is told at once"))
    await listener.notifications.get()
    for number in range(20):
        await database.run(increment("s000", f"the others later {number}"))
    assert listener.notifications.empty()
    await database.close()
    await listener.notifications.get()
    await other_client.execute("NOTIFY segue")
    assert await listener.notifications.get() == other_client.get_server_pid()


async def test_a_commit_that_changes_nothing_does_not_notify(
    database: Postgres, other_client: "asyncpg.Connection[asyncpg.Record]"
) -> None:
    listener = Listener()
    await other_client.add_listener("segue", listener)
    await database.run(counting.sum_up_twice)
    await database.close()
    await other_client.execute("NOTIFY segue")
    assert await listener.notifications.get() == other_client.get_server_pid()


@with_settings(poll_seconds=0.01)
async def test_a_process_that_lost_its_listening_connection_still_polls(
    database: Postgres, other_client: "asyncpg.Connection[asyncpg.Record]"
) -> None:
    rings: asyncio.Queue[None] = asyncio.Queue()
    async with database.watch(lambda: rings.put_nowait(None)):
        await rings.get()
        cut = await other_client.fetchval(
            """
            SELECT COUNT(pg_terminate_backend(pid))
            FROM pg_stat_activity
            WHERE application_name = 'segue' AND datname = current_database()
            """
        )
        assert cut
        for number in range(5):
            # Written without a notification.
            await other_client.execute(f"CREATE TABLE without_notify_{number} ()")
            await rings.get()
    assert asyncio.all_tasks() - {asyncio.current_task()} == database_tasks(database)


@pytest.mark.serial  # what others write to the server rings too
@with_settings(poll_seconds=0.02)
async def test_nothing_rings_while_nothing_is_written(
    database: Postgres, postgres_url: str, other_client: "asyncpg.Connection[asyncpg.Record]"
) -> None:
    """An open transaction rings when it commits, though it got its number before."""
    rings: asyncio.Queue[None] = asyncio.Queue()
    async with database.watch(lambda: rings.put_nowait(None)):
        transaction = other_client.transaction()
        await transaction.start()
        await other_client.execute("CREATE TABLE under_way ()")
        await rings.get()
        await eventually(lambda: _did_not_ring(rings, postgres_url), "some polls without a ring")
        await transaction.commit()
        await rings.get()


async def _did_not_ring(rings: asyncio.Queue[None], url: str) -> bool:
    """Whether nothing rang during the next polls of the server."""
    while not rings.empty():
        rings.get_nowait()
    watcher = await asyncpg.connect(url)
    polls: set[object] = set()

    async def polled() -> bool:
        polls.add(await watcher.fetchval(LAST_POLL))
        return len(polls) > 5

    await eventually(polled, "five polls")
    await watcher.close()
    return rings.empty()


def database_tasks(database: Postgres) -> set[asyncio.Task[None]]:
    return {database._notifying, *database._writers._tasks}


async def test_the_wall_clock_is_the_databases(database: Postgres) -> None:
    before = (await database.read(CLOCK, {}))[0]["ms"]
    here = database.wall_ms()
    after = (await database.read(CLOCK, {}))[0]["ms"]
    assert before - 1000 < here < after + 1000
    assert database.lease_now() is None


def test_the_sample_with_the_shortest_round_trip_is_used() -> None:
    offset = Offset()
    offset.learn(asked=0, answer=1040, answered=100)
    offset.learn(asked=1000, answer=2001, answered=1002)
    offset.learn(asked=2000, answer=3060, answered=2100)
    assert offset.ms == 1000


def test_a_clock_that_has_jumped_is_followed_at_once() -> None:
    offset = Offset()
    offset.learn(asked=0, answer=1001, answered=2)
    offset.learn(asked=1000, answer=3_602_050, answered=1100)
    assert offset.ms == 3_601_000
