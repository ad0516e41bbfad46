"""Worker context: a write is repeated while the store is unreachable, and only then."""

from collections.abc import AsyncIterator
from dataclasses import replace

import pytest
import pytest_asyncio

from segue import Kernel
from segue.errors import LeaseLost, SegueError, StoreError, StoreUnavailable, Undecided
from segue.kernel.workers.worker_context import WorkerContext, WorkerTuning
from segue.store.database import Begin, T, Transaction
from segue.store.open import open_database
from segue.testing import ScriptedAgent
from segue.testing.forwarding import ForwardingDatabase


class Failing(ForwardingDatabase):
    """Fails with each of these errors, and then succeeds."""

    errors: list[SegueError]

    async def run(self, begin: Begin[T]) -> T:
        if self.errors:
            raise self.errors.pop(0)
        return await super().run(begin)


@pytest_asyncio.fixture(loop_scope="session")
async def database(database_url: str) -> AsyncIterator[Failing]:
    database = Failing(await open_database(database_url))
    database.errors = []
    yield database
    await database.close()


@pytest_asyncio.fixture(loop_scope="session")
async def context(database: Failing) -> AsyncIterator[WorkerContext]:
    async with Kernel(database, agent=ScriptedAgent()) as kernel:
        yield replace(kernel.workers.context, tuning=WorkerTuning(write_retry_ms=1))


def write() -> Transaction[str]:
    yield from ()
    return "written"


async def test_a_write_is_retried_until_the_store_is_available(
    database: Failing, context: WorkerContext
) -> None:
    database.errors = [StoreUnavailable("away"), StoreUnavailable("still away")]
    assert await context.commit_until_stored("a turn", write) == "written"
    assert database.errors == []


@pytest.mark.parametrize("error", [Undecided("it may be in"), LeaseLost("not ours"), StoreError("refused")])
async def test_an_error_that_a_retry_would_double_or_not_fix_is_raised(
    database: Failing, context: WorkerContext, error: SegueError
) -> None:
    database.errors = [error, error]
    with pytest.raises(type(error)):
        await context.commit_until_stored("a turn", write)
    assert database.errors == [error]
