"""Fixture: one homeserver for all tests of a run, because its start is slow."""

from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from tests.channels.synapse import Homeserver, synapse


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def home(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Homeserver]:
    async with synapse(tmp_path_factory.mktemp("synapse")) as home:
        yield home
