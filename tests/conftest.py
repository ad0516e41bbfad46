"""What every test can ask for: an empty database of either kind.

One PostgreSQL serves a whole run. The process that sees the run to its end owns it: under xdist that is the
controller, which starts it before its workers and stops it after the last of them.
"""

import os
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any
from uuid import uuid4

import hypothesis
import pytest

from tests.postgres import (
    create_database,
    drop_database,
    empty_database,
    in_database,
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


@pytest.fixture(scope="session")
def postgres_server(request: pytest.FixtureRequest) -> str:
    """The URL of a server on which databases can be created."""
    from_controller: dict[str, str] = getattr(request.config, "workerinput", {})
    return from_controller.get("postgres") or start_postgres(request.config)


@pytest.fixture(scope="session")
def _postgres_database(postgres_server: str) -> Iterator[str]:
    name = f"segue_{uuid4().hex}"
    wait_for(create_database(postgres_server, name))
    yield in_database(postgres_server, name)
    wait_for(drop_database(postgres_server, name))


@pytest.fixture
def postgres_url(_postgres_database: str) -> str:
    """An empty PostgreSQL database. Emptying one takes a third of the time that making one does."""
    wait_for(empty_database(_postgres_database))
    return _postgres_database


@pytest.fixture(params=["sqlite", "postgres"])
def database_url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """An empty database; a test that asks for it runs once on each kind."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path}/segue.db"
    url: str = request.getfixturevalue("postgres_url")
    return url
