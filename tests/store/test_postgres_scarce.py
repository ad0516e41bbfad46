"""PostgreSQL that is not writable, or that allows a role few connections."""

import asyncio
import os
import random
import shutil
import tempfile
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from urllib.parse import urlsplit

import asyncpg
import pytest

from segue import Kernel
from segue.errors import StoreUnavailable, StoreUnusable
from segue.store.database import Database
from segue.store.last_write import Reason, try_to_write
from segue.store.open import open_database
from segue.store.postgres.database import Postgres
from segue.testing import ScriptedAgent
from tests.disks import fill, needs_root, small_disk
from tests.eventually import eventually
from tests.postgres import OWNER, Server, in_database, temporary_server
from tests.store.sqlite_process import adding, make_notes

ROLE = "few"


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with temporary_server() as server:
        yield server


@pytest.fixture
async def admin(server: Server) -> AsyncIterator["asyncpg.Connection[asyncpg.Record]"]:
    connection = await asyncpg.connect(server.url)
    await connection.execute(f"CREATE ROLE {ROLE} LOGIN")
    await connection.execute(f"CREATE DATABASE {ROLE} OWNER {ROLE}")
    yield connection
    await connection.execute(f"DROP DATABASE {ROLE} WITH (FORCE)")
    await connection.execute(f"DROP ROLE {ROLE}")
    await connection.close()


@pytest.fixture
def url(server: Server, admin: object) -> str:
    return urlsplit(in_database(server.url, ROLE))._replace(netloc=f"{ROLE}@").geturl()


@asynccontextmanager
async def at_work(url: str) -> AsyncIterator[Kernel]:
    async with Kernel(url, agent=ScriptedAgent()) as kernel, asyncio.timeout(60):
        working = asyncio.create_task(kernel.run())
        yield kernel
        working.cancel()
        await asyncio.wait([working])


@pytest.mark.parametrize("limit", [2, 3, 4])
async def test_a_role_with_few_connections_works_with_what_there_is(
    admin: "asyncpg.Connection[asyncpg.Record]", url: str, limit: int
) -> None:
    await admin.execute(f"ALTER ROLE {ROLE} CONNECTION LIMIT {limit}")
    async with at_work(url) as kernel:
        asked = [await kernel.receive(f"test:{number}", "Hello") for number in range(5)]
        for admitted in asked:
            assert (await kernel.wait(admitted)).reply == "ok"
        assert await admin.fetchval("SELECT COUNT(*) FROM pg_stat_activity WHERE usename = $1", ROLE) <= limit
        # A worker may still be waiting for a connection; what it then does may be to write nothing.
        last_write = kernel.store.database.last_write
        await eventually(lambda: last_write.reason is None, "no connection is missed")


async def test_a_role_with_one_connection_is_refused_with_the_number_needed(
    admin: "asyncpg.Connection[asyncpg.Record]", url: str
) -> None:
    await admin.execute(f"ALTER ROLE {ROLE} CONNECTION LIMIT 1")
    with pytest.raises(StoreUnusable, match=r"needs at least 2 .* CONNECTION LIMIT"):
        await Postgres.open(url)


async def failed_with(database: Postgres, reason: Reason) -> None:
    """Wait until a write has failed for this reason."""
    async with asyncio.timeout(60):
        while database.last_write.reason is not reason:
            with suppress(StoreUnavailable, TimeoutError):
                async with asyncio.timeout(0.5):
                    await try_to_write(database)


async def writes_again(database: Database) -> None:
    async with asyncio.timeout(60):
        await try_to_write(database)
    assert database.last_write.reason is None


@pytest.fixture
async def database(url: str) -> AsyncIterator[Postgres]:
    database = await open_database(url)
    assert isinstance(database, Postgres)
    yield database
    await database.close()


async def test_a_server_that_became_read_only_is_known_and_comes_back(
    admin: "asyncpg.Connection[asyncpg.Record]", database: Postgres
) -> None:
    await admin.execute(f"ALTER ROLE {ROLE} SET default_transaction_read_only = on")
    await cut_off(admin)
    await failed_with(database, Reason.READ_ONLY)
    await admin.execute(f"ALTER ROLE {ROLE} RESET default_transaction_read_only")
    await writes_again(database)


async def test_connections_that_are_used_up_later_are_known_and_come_back(
    admin: "asyncpg.Connection[asyncpg.Record]", database: Postgres
) -> None:
    await admin.execute(f"ALTER ROLE {ROLE} CONNECTION LIMIT 0")
    await cut_off(admin)
    await failed_with(database, Reason.TOO_MANY_CONNECTIONS)
    await admin.execute(f"ALTER ROLE {ROLE} CONNECTION LIMIT -1")
    await writes_again(database)


async def cut_off(admin: "asyncpg.Connection[asyncpg.Record]") -> None:
    await admin.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = $1", ROLE)


async def write_until_it_fails(database: Database) -> None:
    for number in range(10_000):
        await database.run(adding(f"{number}", random.randbytes(5_000).hex()))


@needs_root
async def test_a_disk_of_the_server_that_is_full_is_known_and_comes_back(
    server: Server, admin: "asyncpg.Connection[asyncpg.Record]", url: str
) -> None:
    with (
        tempfile.TemporaryDirectory(prefix="segue-disk-") as place,
        small_disk(Path(place), megabytes=32) as folder,
    ):
        shutil.chown(folder, OWNER or os.getuid())
        await admin.execute(f"CREATE TABLESPACE small LOCATION '{folder}'")
        await admin.execute(f"ALTER DATABASE {ROLE} SET TABLESPACE small")
        database = await open_database(url)
        await database.run(make_notes)
        ballast = await asyncio.to_thread(fill, folder)
        with pytest.raises(StoreUnavailable, match="No space left"):
            await write_until_it_fails(database)
        for _ in range(3):
            assert database.last_write.reason is Reason.DISK_FULL
            with pytest.raises(StoreUnavailable):
                await try_to_write(database)
        ballast.unlink()
        await writes_again(database)
        await database.close()
        await admin.execute(f"ALTER DATABASE {ROLE} SET TABLESPACE pg_default")
        await admin.execute("DROP TABLESPACE small")
