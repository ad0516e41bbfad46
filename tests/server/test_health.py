"""`/health` when the database can be read but not written, and when it was deleted."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import get_args

import httpx2
import pytest_asyncio

from segue import Kernel
from segue.config import Configuration
from segue.errors import StoreUnavailable
from segue.server import create_app
from segue.server.schemas.system import HealthReason
from segue.store.database import Begin, T
from segue.store.last_write import Reason
from segue.store.open import open_database
from segue.testing import ManualClock, ScriptedAgent
from segue.testing.forwarding import ForwardingDatabase
from tests.server.conftest import reach


class Full(ForwardingDatabase):
    """A database whose disk is full until the test frees space."""

    full = False
    writes = 0

    async def run(self, begin: Begin[T]) -> T:
        self.writes += 1
        if self.full:
            self.last_write.failed(Reason.DISK_FULL)
            raise StoreUnavailable("its disk is full; nothing was done")
        return await super().run(begin)


@asynccontextmanager
async def served(database: ForwardingDatabase | str, clock: ManualClock) -> AsyncIterator[httpx2.AsyncClient]:
    """Without workers: only requests write."""
    async with Kernel(database, agent=ScriptedAgent(), clock=clock) as kernel:
        app = create_app(kernel, Configuration(database="sqlite://:memory:"))
        async with reach(app) as client:
            yield client


async def health(client: httpx2.AsyncClient, query: str = "") -> tuple[int, str, str | None]:
    answer = await client.get(f"/health{query}")
    return answer.status_code, answer.json()["status"], answer.json()["reason"]


@pytest_asyncio.fixture(loop_scope="session")
async def database(database_url: str) -> AsyncIterator[Full]:
    database = Full(await open_database(database_url))
    yield database
    await database.close()


async def test_a_failed_write_degrades_health_until_one_succeeds(database: Full) -> None:
    clock = ManualClock()
    async with served(database, clock) as client:
        assert await health(client) == (200, "ok", None)
        database.full = True
        refused = await client.post("/sessions/web:1/turns", json={"content": "Hello"})
        assert refused.status_code == 503
        assert await health(client) == (200, "degraded", "disk_full")
        assert await health(client, "?ready=true") == (503, "degraded", "disk_full")
        database.full = False
        clock.advance(seconds=1)
        assert await health(client, "?ready=true") == (200, "ok", None)


async def test_a_failed_write_is_tried_again_at_most_once_a_second(database: Full) -> None:
    clock = ManualClock()
    async with served(database, clock) as client:
        database.full = True
        await client.post("/sessions/web:1/turns", json={"content": "Hello"})
        before = database.writes
        for _ in range(10):
            await health(client)
        assert database.writes == before + 1
        clock.advance(seconds=1)
        await health(client)
        assert database.writes == before + 2


async def test_health_does_not_write_to_a_working_database(database: Full) -> None:
    async with served(database, ManualClock()) as client:
        before = database.writes
        assert await health(client) == (200, "ok", None)
        assert database.writes == before


async def test_health_reports_a_deleted_file(tmp_path: Path) -> None:
    async with served(f"sqlite:///{tmp_path / 'segue.db'}", ManualClock()) as client:
        assert (await health(client))[1] == "ok"
        (tmp_path / "segue.db").unlink()
        refused = await client.post("/sessions/web:1/turns", json={"content": "Hello"})
        assert (refused.status_code, refused.json()["code"]) == (503, "database_gone")
        assert await health(client) == (503, "unavailable", "database_gone")


def test_every_reason_of_the_store_is_in_the_schema() -> None:
    assert set(Reason) < set(get_args(HealthReason))
