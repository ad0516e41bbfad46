"""Commit stamps: when a connection breaks during COMMIT, nothing is done twice."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import asyncpg
import pytest

from segue import Ask, Every, Kernel
from segue.errors import StoreUnavailable, Undecided
from segue.store.database import Begin, Transaction
from segue.store.migrate import MIGRATIONS, load
from segue.store.postgres.commit_stamps import Stamps, was_committed
from segue.store.postgres.connection import BEGIN
from segue.store.postgres.database import Postgres
from segue.store.queries import translate
from segue.store.settings import DEFAULTS, StoreSettings
from segue.testing import ScriptedAgent
from tests.postgres import temporary_server
from tests.store import counting
from tests.store.network import Lost, Network

SESSIONS = counting.names(8)


def add(session: str) -> Begin[int]:
    """Not idempotent: done twice, it counts two."""

    def transaction() -> Transaction[int]:
        rows = yield counting.add, {"id": session, "by": 1}
        return int(rows[0]["n"])

    return transaction


async def make_tables(url: str) -> None:
    await counting.create(url, *SESSIONS)
    connection = await asyncpg.connect(url)
    for statement in next(each for each in load(MIGRATIONS) if each.name == "0004_stamps").statements(
        "postgres"
    ):
        await connection.execute(statement.postgres)
    await connection.close()


@asynccontextmanager
async def opened(url: str, settings: StoreSettings = DEFAULTS) -> AsyncIterator[Postgres]:
    database = await Postgres.open(url, settings)
    try:
        yield database
    finally:
        await database.close()


@pytest.mark.parametrize("lost", Lost, ids=lambda lost: lost.value)
@pytest.mark.parametrize("callers", [1, len(SESSIONS)])
async def test_a_committed_transaction_is_not_driven_again(
    postgres_url: str, tmp_path: Path, lost: Lost, callers: int
) -> None:
    await make_tables(postgres_url)
    async with Network(postgres_url, tmp_path) as network, opened(network.url) as database:
        await asyncio.gather(*map(database.run, map(add, SESSIONS)))
        network.lose_the_next_commit(lost)
        work = map(add, SESSIONS[:callers])
        assert await asyncio.gather(*map(database.run, work)) == [2] * callers
        assert network.has_lost_it
        await network.what_was_late_has_come()
        assert [await database.run(add(session)) for session in SESSIONS[:callers]] == [3] * callers


async def test_a_crash_of_the_server_repeats_nothing() -> None:
    with temporary_server() as server:
        await make_tables(server.url)
        async with opened(server.url) as database:
            crashed = asyncio.Event()

            async def keep_counting(session: str) -> None:
                number = 0
                while not crashed.is_set():
                    number += 1
                    assert await database.run(add(session)) == number

            async def crash() -> None:
                for _ in range(3):
                    await asyncio.sleep(0.2)
                    await asyncio.to_thread(server.crash)
                    await asyncio.to_thread(server.start)
                crashed.set()

            await asyncio.gather(*map(keep_counting, SESSIONS), crash())


async def test_a_call_is_not_refused_because_of_itself(postgres_url: str, tmp_path: Path) -> None:
    async with (
        Network(postgres_url, tmp_path) as network,
        Kernel(network.url, agent=ScriptedAgent()) as kernel,
    ):
        job = await kernel.schedule("test:1", Every(60), Ask("What is new?"))
        network.lose_the_next_commit(Lost.THE_ANSWER)
        await kernel.log.write("test:1", "user", "a note")
        network.lose_the_next_commit(Lost.THE_ANSWER)
        edited = await kernel.jobs.update(job.id, trigger=Every(90))
        assert network.has_lost_it
        assert [message.content for message in await kernel.messages("test:1")] == ["a note"]
        assert edited.revision == job.revision + 1
        assert not await kernel.audit()


async def test_before_the_first_migration_there_is_no_stamp(postgres_url: str) -> None:
    connection = await asyncpg.connect(postgres_url)
    await connection.execute("DROP TABLE IF EXISTS stamps")
    assert await Stamps().next(connection) is None
    await connection.close()


async def test_the_stamp_of_a_connection_is_one_row_and_old_stamps_are_deleted(postgres_url: str) -> None:
    await make_tables(postgres_url)
    connection = await asyncpg.connect(postgres_url)
    await connection.execute("INSERT INTO stamps VALUES (1, 1, now() - INTERVAL '2 days'), (2, 1, now())")
    stamps = Stamps()
    for _ in range(3):
        stamp = await stamps.next(connection)
        assert stamp is not None
        assert not await was_committed(connection, stamp)
        await connection.execute(f"{BEGIN}; {stamp.hold}")
        await connection.execute(f"{stamp.leave}; COMMIT")
        assert await was_committed(connection, stamp)
    left = await connection.fetch("SELECT number FROM stamps ORDER BY number")
    assert [row["number"] for row in left] == [1, 3]
    await connection.close()


async def test_a_caller_that_was_told_of_a_failure_is_not_committed_later(
    postgres_url: str,
) -> None:
    await make_tables(postgres_url)
    sleep = translate("sessions.sleep", "SELECT pg_sleep(1) WHERE :id <> ''")

    def slowly(session: str) -> Transaction[int]:
        counted = yield from add(session)()
        yield sleep, {"id": session}
        return counted

    async with opened(postgres_url, StoreSettings(patience_seconds=0.3, check_seconds=0.05)) as database:
        with pytest.raises(StoreUnavailable, match="did not answer"):
            await database.run(lambda: slowly("s000"))
    async with opened(postgres_url) as database:
        assert await database.run(add("s000")) == 1


async def test_a_caller_whose_commit_is_undecided_is_told_so(postgres_url: str, tmp_path: Path) -> None:
    await make_tables(postgres_url)
    # With one connection for groups, both transactions use the same.
    hasty = StoreSettings(patience_seconds=0.4, connections=6)
    async with Network(postgres_url, tmp_path) as network, opened(network.url, hasty) as database:
        await database.run(add("s000"))
        network.lose_the_next_commit(Lost.THE_ANSWER)
        network.refuse_new_connections()
        with pytest.raises(Undecided, match="lost during COMMIT"):
            await database.run(add("s000"))


@pytest.mark.parametrize(("lost", "counted"), [(Lost.THE_ANSWER, 1), (Lost.THE_COMMIT, 0)])
async def test_a_commit_alone_that_got_no_answer_is_undecided(
    postgres_url: str, tmp_path: Path, lost: Lost, counted: int
) -> None:
    await make_tables(postgres_url)
    async with Network(postgres_url, tmp_path) as network, opened(network.url) as database:
        network.lose_the_next_commit(lost)
        with pytest.raises(Undecided, match="check whether the change was made"):
            await database.run_alone(add("s000"))
        await network.what_was_late_has_come()
        assert await database.run(add("s000")) == counted + 1


async def test_a_connection_lost_before_the_commit_alone_has_changed_nothing(postgres_url: str) -> None:
    await make_tables(postgres_url)

    def lost_half_way() -> Transaction[None]:
        yield from add("s000")()
        yield translate("test.cut", "SELECT pg_terminate_backend(pg_backend_pid())"), {}

    async with opened(postgres_url) as database:
        with pytest.raises(StoreUnavailable, match="try again") as failed:
            await database.run_alone(lost_half_way)
        assert not isinstance(failed.value, Undecided)
        assert await database.run(add("s000")) == 1


async def test_a_transaction_alone_that_raises_undoes_its_statements(postgres_url: str) -> None:
    """Also those that count as no write of a group, such as the statements of a migration."""
    made = translate("test.make", "CREATE TABLE made (id TEXT)")

    def refused() -> Transaction[None]:
        yield made, {}
        raise LookupError

    async with opened(postgres_url) as database:
        with pytest.raises(LookupError):
            await database.run_alone(refused)
        there = translate("test.there", "SELECT to_regclass('made') IS NOT NULL AS there")
        assert not (await database.read(there, {}))[0]["there"]
