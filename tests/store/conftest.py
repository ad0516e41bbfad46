from collections.abc import AsyncIterator

import pytest

from segue.store.database import Database
from segue.store.open import connect
from tests.store import counting


def pytest_configure(config: pytest.Config) -> None:
    config.pluginmanager.import_plugin("tests.crash.figures")


@pytest.fixture
async def database(bare_url: str) -> AsyncIterator[Database]:
    """With tables to count in, and twenty sessions."""
    await counting.create(bare_url, *counting.names(20))
    database = await connect(bare_url)
    yield database
    await database.close()
