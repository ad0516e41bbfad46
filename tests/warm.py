"""Warm PostgreSQL connections: tests of a folder share them, one test after the other.

Most of what a short test costs PostgreSQL is the start of its connections, and to plan each statement on each
of them. So a connection that a test closes is kept, with its prepared statements, for the next test that
opens one with the same settings. The driver is not changed: it opens and closes connections as in production,
and each test has a driver of its own. A connection belongs to an event loop, so these tests run on one loop.

Invariants
  - a connection is kept only if its session is as new: no transaction, listener, lock or changed setting
  - one that is not closed, but dropped after an error, is not kept
  - a task that a test leaves behind ends with that test, as it would with a loop of its own
"""

import asyncio
import os
from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import asyncpg
import pytest
import pytest_asyncio

from tests.postgres import NewDatabase, prepared_database

if TYPE_CHECKING:
    Connection: TypeAlias = asyncpg.Connection[asyncpg.Record]
else:
    Connection = asyncpg.Connection

LONG = os.environ.get("SEGUE_LONG") == "1"

_open = asyncpg.connect


class WarmConnection(Connection):
    kept_by: "WarmConnections"
    key: str
    is_kept = False

    async def close(self, *, timeout: float | None = None) -> None:
        with suppress(Exception):
            async with asyncio.timeout(timeout):
                await self.reset()
                self.kept_by.keep(self)
                return
        await super().close(timeout=timeout)

    def terminate(self) -> None:
        if not self.is_kept:
            super().terminate()


class WarmConnections:
    """The connections that no test uses now."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._kept: list[WarmConnection] = []

    async def connect(self, url: str, **options: Any) -> Connection:
        if asyncio.get_running_loop() is not self._loop:
            return await _open(url, **options)
        key = f"{url} {sorted(options.items(), key=lambda option: option[0])}"
        for connection in reversed(self._kept):
            if connection.key == key and not connection.is_closed():
                self._kept.remove(connection)
                connection.is_kept = False
                return connection
        opened: WarmConnection = await _open(url, connection_class=WarmConnection, **options)
        opened.kept_by, opened.key = self, key
        return opened

    def keep(self, connection: WarmConnection) -> None:
        connection.is_kept = True
        self._kept.append(connection)

    def pids(self) -> list[int]:
        return [connection.get_server_pid() for connection in self._kept if not connection.is_closed()]

    def end(self) -> None:
        for connection in self._kept:
            connection.is_kept = False
            connection.terminate()
        self._kept.clear()


def share_a_loop(items: Iterable[pytest.Item], folder: Path) -> None:
    """Run the tests in this folder on one event loop."""
    for item in items:
        if item.path.is_relative_to(folder) and pytest_asyncio.is_async_test(item):
            item.add_marker(pytest.mark.asyncio(loop_scope="session"), append=False)


@pytest_asyncio.fixture(autouse=True, loop_scope="session")
async def nothing_is_left_behind() -> AsyncIterator[None]:
    before = asyncio.all_tasks()
    yield
    left = asyncio.all_tasks() - before - {asyncio.current_task()}
    for task in left:
        task.cancel()
    await asyncio.gather(*left, return_exceptions=True)


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def warm_connections() -> AsyncIterator[WarmConnections]:
    connections = WarmConnections()
    yield connections
    connections.end()


@pytest.fixture(scope="session")
def warm_postgres(
    new_database: NewDatabase, warm_connections: WarmConnections
) -> Iterator[Callable[[], str]]:
    with prepared_database(new_database(), warm_connections.pids, warm_connections.end) as ready:
        yield ready


@pytest.fixture
def migrated_postgres_url(
    request: pytest.FixtureRequest,
    warm_postgres: Callable[[], str],
    warm_connections: WarmConnections,
    monkeypatch: pytest.MonkeyPatch,
) -> str:
    """A PostgreSQL database with our schema and no rows, whose connections are warm. Those of long forms and
    of tests with the mark `new_connections` are new: a plan that was made for few rows is slow for many."""
    if not LONG and request.node.get_closest_marker("new_connections") is None:
        monkeypatch.setattr(asyncpg, "connect", warm_connections.connect)
    return warm_postgres()
