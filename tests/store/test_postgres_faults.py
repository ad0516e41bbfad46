"""PostgreSQL faults: connections cut, a server that crashes, a client that freezes in a transaction."""

import asyncio
import signal
import sys
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from urllib.parse import urlsplit

import asyncpg
import pytest

from segue.errors import StoreUnavailable, StoreUnusable
from segue.store.postgres.connection import ErrorKind, error_kind, without_password
from segue.store.postgres.database import Postgres
from segue.store.queries import translate
from segue.store.settings import StoreSettings
from tests.postgres import Server, in_database, temporary_server
from tests.store import counting
from tests.store.counting import increment, names
from tests.store.network import Network

SESSIONS = names(8)


@pytest.fixture
async def database(postgres_url: str) -> AsyncIterator[Postgres]:
    await counting.create(postgres_url, *SESSIONS)
    database = await Postgres.open(postgres_url)
    yield database
    await database.close()


@pytest.fixture(scope="module")
def mortal() -> Iterator[Server]:
    """A server that a test may kill."""
    with temporary_server() as server:
        yield server


async def counts(database: Postgres) -> list[int]:
    return [(await database.read(counting.lock, {"id": name}))[0]["n"] for name in SESSIONS]


async def cut_connections(url: str) -> None:
    connection = await asyncpg.connect(url)
    await connection.execute(
        """
        SELECT pg_terminate_backend(pid)
        FROM pg_stat_activity
        WHERE application_name = 'segue' AND datname = current_database()
        """
    )
    await connection.close()


async def test_connections_that_are_cut_lose_and_repeat_nothing(
    database: Postgres, postgres_url: str
) -> None:
    async def keep_counting(session: str) -> None:
        for number in range(40):
            await database.run(increment(session, f"{session} {number}"))
            if number % 10 == SESSIONS.index(session):
                await cut_connections(postgres_url)

    await asyncio.gather(*map(keep_counting, SESSIONS))
    assert await counts(database) == [40] * len(SESSIONS)


async def test_a_crash_of_the_server_loses_nothing_that_was_acknowledged(mortal: Server) -> None:
    await counting.create(mortal.url, *SESSIONS)
    database = await Postgres.open(mortal.url)
    crashed = asyncio.Event()

    async def keep_counting(session: str) -> None:
        number = 0
        while not crashed.is_set() or number < 40:
            await database.run(increment(session, f"{session} {number}"))
            number += 1
        assert (await database.read(counting.lock, {"id": session}))[0]["n"] == number

    async def crash() -> None:
        for _ in range(3):
            await database.run(counting.which_transaction(SESSIONS[0]))
            await asyncio.to_thread(mortal.crash)
            await asyncio.to_thread(mortal.start)
        crashed.set()

    await asyncio.gather(*map(keep_counting, SESSIONS), crash())
    await database.close()


async def test_a_server_that_stays_away_is_an_error_and_its_return_is_noticed(
    mortal: Server,
) -> None:
    database = await Postgres.open(mortal.url, StoreSettings(patience_seconds=2))
    await asyncio.to_thread(mortal.stop)
    with pytest.raises(StoreUnavailable, match="did not answer"):
        await database.run(counting.which_transaction("any"))
    with pytest.raises(StoreUnavailable, match="did not answer"):
        await database.read(counting.transaction_id, {"id": "any"})
    await asyncio.to_thread(mortal.start)
    assert await database.run(counting.which_transaction("any"))
    assert await database.read(counting.transaction_id, {"id": "any"})
    await database.close()


FREEZES = """
import asyncio, sys
from segue.store.postgres.database import Postgres
from tests.store.counting import lock, store

def transaction():
    found = yield lock, {"id": "s000"}
    print("locked", flush=True)
    sys.stdin.readline()
    yield store, {"id": "s000", "n": found[0]["n"] + 1}
    return found[0]["n"]

async def main():
    database = await Postgres.open(sys.argv[1])
    print(await database.run(transaction), flush=True)
    await database.close()

asyncio.run(main())
"""


async def test_a_client_frozen_inside_a_transaction_does_not_block_the_session(
    database: Postgres, postgres_url: str
) -> None:
    frozen = await asyncio.create_subprocess_exec(
        sys.executable,
        "-c",
        FREEZES,
        postgres_url,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
    )
    assert frozen.stdin
    assert frozen.stdout
    try:
        assert await frozen.stdout.readline() == b"locked\n"
        frozen.send_signal(signal.SIGSTOP)
        blocked = [asyncio.ensure_future(database.run(increment("s000", f"meanwhile {n}"))) for n in range(3)]
        others = await asyncio.gather(*(database.run(increment(name, name)) for name in SESSIONS[1:]))
        assert others == [0] * len(others)
        assert not any(task.done() for task in blocked)
        # The server cuts the frozen client off; otherwise these callers would fail.
        assert sorted(await asyncio.gather(*blocked)) == [0, 1, 2]
        frozen.send_signal(signal.SIGCONT)
        # When it resumes, its transaction was rolled back, and it runs again: no other write is lost.
        frozen.stdin.write(b"go on\ngo on\n")
        assert await frozen.stdout.readline() == b"locked\n"
        assert await frozen.stdout.readline() == b"3\n"
        assert (await counts(database))[0] == 4
        assert await frozen.wait() == 0
    finally:
        if frozen.returncode is None:
            frozen.kill()
            await frozen.wait()


async def test_a_row_that_stays_locked_is_one_callers_error(database: Postgres, postgres_url: str) -> None:
    other_client = await asyncpg.connect(postgres_url)
    async with other_client.transaction():
        await other_client.execute("SELECT FROM counters WHERE id = 's000' FOR UPDATE")
        error, *others = await asyncio.gather(
            *(database.run(increment(name, name)) for name in SESSIONS), return_exceptions=True
        )
    await other_client.close()
    assert isinstance(error, StoreUnavailable)
    assert others == [0] * len(others)
    assert await database.run(increment("s000", "now it is free")) == 0


async def test_a_changed_table_costs_one_retry(database: Postgres, postgres_url: str) -> None:
    await database.run(increment("s000", "before"))
    other_client = await asyncpg.connect(postgres_url)
    await other_client.execute(
        "ALTER TABLE counters ALTER COLUMN n TYPE NUMERIC; ALTER TABLE counters ADD more TEXT"
    )
    await other_client.close()
    assert await database.run(increment("s000", "after")) == 1


async def test_an_unusable_server_is_refused_in_one_sentence_without_the_password(
    postgres_url: str, mortal: Server
) -> None:
    cases = {
        with_password(in_database(postgres_url, "nowhere"), "postgres"): "no such database",
        "postgresql://me:s3cret@127.0.0.1:1/segue": "no server answers",
        "postgresql://me:s3cret@host:port/segue": "not a URL",
        with_password(await only_with_password(mortal), "me"): "user name or the password",
    }
    for url, sentence in cases.items():
        with pytest.raises(StoreUnusable, match=sentence) as caught:
            await Postgres.open(url, StoreSettings(open_seconds=0))
        assert "s3cret" not in str(caught.value)
        assert caught.value.__cause__ is None


async def only_with_password(server: Server) -> str:
    connection = await asyncpg.connect(server.url)
    await connection.execute("CREATE ROLE me LOGIN PASSWORD 'something else'")
    hba = server.data_dir / "pg_hba.conf"
    hba.write_text("local all me scram-sha-256\n" + hba.read_text())
    await connection.execute("SELECT pg_reload_conf()")
    await connection.close()
    return server.url


def with_password(url: str, user: str) -> str:
    return urlsplit(url)._replace(netloc=f"{user}:s3cret@").geturl()


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("postgresql://me:s3cret@host:5432/db", "postgresql://me:***@host:5432/db"),
        ("postgresql://me:s3/c@r:et@one:1,two:2/db", "postgresql://me:***@one:1,two:2/db"),
        ("postgresql://host/db?user=me&password=s3cret&a=b", "postgresql://host/db?user=me&password=***&a=b"),
        ("postgresql://me@host/db", "postgresql://me@host/db"),
        ("postgresql://host:5432/db", "postgresql://host:5432/db"),
    ],
)
def test_a_password_is_never_shown(url: str, shown: str) -> None:
    assert without_password(url) == shown


async def test_behind_a_pooler_the_limits_go_with_each_transaction(postgres_url: str, tmp_path: Path) -> None:
    await counting.create(postgres_url, *SESSIONS)
    async with Network(postgres_url, tmp_path, takes_settings=False) as network:
        database = await Postgres.open(network.url)
        limit = translate("any.limit", "SELECT current_setting('idle_in_transaction_session_timeout') AS n")
        assert await database.run(counting.first(limit)) == "1500ms"
        work = [increment(name, f"{name} {n}") for n in range(5) for name in SESSIONS]
        await asyncio.gather(*map(database.run, work))
        assert await counts(database) == [5] * len(SESSIONS)
        await database.close()


async def test_connections_that_went_silent_are_replaced(postgres_url: str, tmp_path: Path) -> None:
    await counting.create(postgres_url, *SESSIONS)
    async with Network(postgres_url, tmp_path) as network:
        database = await Postgres.open(network.url, StoreSettings(command_seconds=0.5))
        await asyncio.gather(*(database.run(increment(name, f"{name} before")) for name in SESSIONS))
        network.swallow_open_connections()
        await asyncio.gather(*(database.run(increment(name, f"{name} after")) for name in SESSIONS))
        assert await counts(database) == [2] * len(SESSIONS)
        await database.close()


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (ConnectionResetError(), ErrorKind.LOST),
        (TimeoutError(), ErrorKind.LOST),
        (asyncpg.AdminShutdownError(), ErrorKind.LOST),
        (asyncpg.CannotConnectNowError(), ErrorKind.LOST),
        (asyncpg.IdleInTransactionSessionTimeoutError(), ErrorKind.LOST),
        (asyncpg.ReadOnlySQLTransactionError(), ErrorKind.LOST),
        (asyncpg.LockNotAvailableError(), ErrorKind.BLOCKED),
        (asyncpg.DeadlockDetectedError(), ErrorKind.AGAIN),
        (asyncpg.SerializationError(), ErrorKind.AGAIN),
        (asyncpg.InvalidCachedStatementError(), ErrorKind.AGAIN),
        (asyncpg.UniqueViolationError(), ErrorKind.REFUSED),
        (asyncpg.UndefinedTableError(), ErrorKind.REFUSED),
        (KeyError("a parameter that was not given"), ErrorKind.REFUSED),
    ],
)
def test_what_an_error_means(error: Exception, kind: ErrorKind) -> None:
    assert error_kind(error) is kind
