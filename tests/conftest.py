"""What every test can ask for: a database of either kind, with no rows in it.

One PostgreSQL serves a whole run. The process that sees the run to its end owns it: under xdist that is the
controller, which starts it before its workers and stops it after the last of them.
"""

import asyncio
import gc
import os
import shutil
from collections.abc import Callable, Generator, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import uuid4

import asyncpg
import hypothesis
import pytest

from segue.cli.support.event_loop import collect_less_often
from segue.store.open import open_database
from tests.browser import NEEDS_CHROMIUM
from tests.postgres import (
    create_database,
    drop_database,
    empty_database,
    empty_tables,
    in_database,
    objects_of,
    temporary_server,
    wait_for,
)

SERVER = pytest.StashKey[str]()

# The machine may be busy with something else: how long an example took says nothing about it.
hypothesis.settings.register_profile("segue", deadline=None)
hypothesis.settings.load_profile("segue")


def start_postgres(config: pytest.Config) -> str:
    """The URL of the run's server, started when it is first asked for."""
    if SERVER not in config.stash:
        config.stash[SERVER] = os.environ.get("SEGUE_TEST_POSTGRES") or _owned_server(config)
    return config.stash[SERVER]


def _owned_server(config: pytest.Config) -> str:
    owned = ExitStack()
    config.add_cleanup(owned.close)
    return owned.enter_context(temporary_server()).url


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: Any) -> None:
    node.workerinput["postgres"] = start_postgres(node.config)


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """What is imported and collected stays to the end: no collection of garbage has to look at it. Later
    garbage is collected as seldom as in a server."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        collect_less_often()
        gc.enable()


def pytest_make_parametrize_id(val: object) -> str | None:
    """Every process sends the names of all tests to the one that distributes them: a megabyte is no name."""
    return f"{val[:40]!a}..." if isinstance(val, str | bytes) and len(val) > 200 else None


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    skipped = terminalreporter.stats.get("skipped", [])
    if pages := sum(NEEDS_CHROMIUM in str(report.longrepr) for report in skipped):
        terminalreporter.section("page tests skipped", yellow=True)
        terminalreporter.line(f"{pages} tests did not run; {NEEDS_CHROMIUM}")


@pytest.fixture(scope="session")
def postgres_server(request: pytest.FixtureRequest) -> str:
    """The URL of a server on which databases can be created."""
    from_controller: dict[str, str] = getattr(request.config, "workerinput", {})
    return from_controller.get("postgres") or start_postgres(request.config)


@pytest.fixture(scope="session")
def _new_database(postgres_server: str) -> Iterator[Callable[[], str]]:
    made: list[str] = []

    def make() -> str:
        made.append(f"segue_{uuid4().hex}")
        wait_for(create_database(postgres_server, made[-1]))
        return in_database(postgres_server, made[-1])

    yield make
    for name in made:
        wait_for(drop_database(postgres_server, name))


@pytest.fixture(scope="session")
def _postgres_database(_new_database: Callable[[], str]) -> str:
    return _new_database()


@pytest.fixture
def postgres_url(_postgres_database: str) -> str:
    """An empty PostgreSQL database. Emptying one takes a third of the time that making one does."""
    wait_for(empty_database(_postgres_database))
    return _postgres_database


@dataclass
class _Prepared:
    """A PostgreSQL database with our schema, and how it looked when it was made."""

    url: str
    objects: int
    connection: "asyncpg.Connection[Any]"
    """Kept: a new one for each test would take five times as long as to delete its rows."""

    @classmethod
    async def make(cls, url: str) -> "_Prepared":
        await empty_database(url)
        await (await open_database(url)).close()
        connection = await asyncpg.connect(url)
        return cls(url, await objects_of(connection), connection)

    async def be_ready(self) -> "_Prepared":
        """Without rows. To give each test a schema of its own would cost more than most tests do."""
        if await empty_tables(self.connection, self.objects):
            return self
        self.connection.terminate()
        return await self.make(self.url)


@pytest.fixture(scope="session")
def _prepared_postgres(_new_database: Callable[[], str]) -> Iterator[Callable[[], str]]:
    with asyncio.Runner(loop_factory=asyncio.new_event_loop) as runner:
        prepared = runner.run(_Prepared.make(_new_database()))

        def ready() -> str:
            nonlocal prepared
            prepared = runner.run(prepared.be_ready())
            return prepared.url

        yield ready
        prepared.connection.terminate()


@pytest.fixture(scope="session")
def _prepared_sqlite(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file with our schema, to be copied."""
    file = tmp_path_factory.mktemp("prepared") / "segue.db"

    async def migrated() -> None:
        await (await open_database(f"sqlite:///{file}")).close()

    wait_for(migrated())
    return file


@pytest.fixture(params=["sqlite", "postgres"])
def database_url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """A database with our schema and no rows; a test that asks for it runs once on each kind."""
    if request.param == "sqlite":
        shutil.copy(request.getfixturevalue("_prepared_sqlite"), tmp_path / "segue.db")
        return f"sqlite:///{tmp_path}/segue.db"
    ready: Callable[[], str] = request.getfixturevalue("_prepared_postgres")
    return ready()


@pytest.fixture(params=["sqlite", "postgres"])
def bare_url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """A database without even a schema, for tests of how it gets one."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path}/segue.db"
    url: str = request.getfixturevalue("postgres_url")
    return url
