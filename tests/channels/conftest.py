"""Fixtures: a homeserver, as a double or a real one."""

from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from tests.channels.homeserver import homeserver
from tests.channels.matrix_client import Homeserver
from tests.channels.synapse import run_synapse


@pytest_asyncio.fixture
async def home() -> AsyncIterator[Homeserver]:
    async with homeserver() as home:
        yield home


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def synapse(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Homeserver]:
    """One for all tests of a run, because its start is slow."""
    async with run_synapse(tmp_path_factory.mktemp("synapse")) as home:
        yield home
