"""What every test can ask for: a database of either kind, with no rows in it.

One PostgreSQL serves a whole run. The process that sees the run to its end owns it: under xdist that is the
controller, which starts it before its workers and stops it after the last of them.
"""

import gc
import os
import shutil
from collections.abc import Callable, Generator, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit
from uuid import uuid4

import hypothesis
import pytest

from segue.cli.support.event_loop import collect_less_often
from segue.store.open import open_database
from tests.browser import NEEDS_CHROMIUM
from tests.postgres import (
    NewDatabase,
    create_database,
    drop_database,
    empty_database,
    in_database,
    prepared_database,
    temporary_server,
    wait_for,
)
from tests.warm import warm_connections, warm_postgres

__all__ = ["warm_connections", "warm_postgres"]

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
def new_database(postgres_server: str) -> Iterator[NewDatabase]:
    made: list[str] = []

    def make(*, copy_of: str | None = None) -> str:
        template = urlsplit(copy_of).path.removeprefix("/") if copy_of else "template1"
        made.append(f"segue_{uuid4().hex}")
        wait_for(create_database(postgres_server, made[-1], template=template))
        return in_database(postgres_server, made[-1])

    yield make
    for name in made:
        wait_for(drop_database(postgres_server, name))


@pytest.fixture(scope="session")
def _postgres_database(new_database: NewDatabase) -> str:
    return new_database()


@pytest.fixture
def postgres_url(_postgres_database: str) -> str:
    """An empty PostgreSQL database. Emptying one takes a third of the time that making one does."""
    wait_for(empty_database(_postgres_database))
    return _postgres_database


@pytest.fixture(scope="session")
def _prepared_postgres(new_database: NewDatabase) -> Iterator[Callable[[], str]]:
    with prepared_database(new_database()) as ready:
        yield ready


@pytest.fixture(scope="session")
def _prepared_sqlite(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file with our schema, to be copied."""
    file = tmp_path_factory.mktemp("prepared") / "segue.db"

    async def migrated() -> None:
        await (await open_database(f"sqlite:///{file}")).close()

    # In a thread of its own: a browser's loop may run in this one.
    with ThreadPoolExecutor(1) as thread:
        thread.submit(wait_for, migrated()).result()
    return file


@pytest.fixture
def new_sqlite(_prepared_sqlite: Path, tmp_path: Path) -> Callable[[str], str]:
    """Makes SQLite databases with our schema and no rows, each in a file of this name. To copy one takes a
    tenth of the time in which an empty one, in a file or in memory, gets its schema."""

    def make(name: str) -> str:
        file = tmp_path / name
        file.parent.mkdir(exist_ok=True)
        shutil.copy(_prepared_sqlite, file)
        return f"sqlite:///{file}"

    return make


@pytest.fixture
def migrated_sqlite_url(new_sqlite: Callable[[str], str]) -> str:
    """A SQLite file with our schema and no rows."""
    return new_sqlite("segue.db")


@pytest.fixture
def migrated_postgres_url(_prepared_postgres: Callable[[], str]) -> str:
    """A PostgreSQL database with our schema and no rows. Migrating an empty one takes a hundred times as
    long."""
    return _prepared_postgres()


@pytest.fixture(params=["sqlite", "postgres"])
def database_url(request: pytest.FixtureRequest) -> str:
    """A database with our schema and no rows; a test that asks for it runs once on each kind."""
    kind = "migrated_sqlite_url" if request.param == "sqlite" else "migrated_postgres_url"
    url: str = request.getfixturevalue(kind)
    return url


@pytest.fixture(params=["sqlite", "postgres"])
def bare_url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """A database without even a schema, for tests of how it gets one."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path}/segue.db"
    url: str = request.getfixturevalue("postgres_url")
    return url
