"""A store that is watched: what each transaction asked, and one whose answers come late."""

import asyncio
from collections.abc import AsyncIterator
from typing import TypeVar

import pytest

from segue.store.database import Begin, Transaction
from segue.store.open import open_database
from segue.testing import FaultyStore
from segue.testing.faults import Fault

T = TypeVar("T")


class Watched(FaultyStore):
    """Notes the queries of each transaction, and keeps back what those with a certain one came to."""

    def __init__(self, *args: object, **kwargs: object) -> None:
        super().__init__(*args, **kwargs)  # type: ignore[arg-type]
        self.commits: list[list[str]] = []
        self.failing: str | None = None
        self.kept_back: str | None = None
        self.committed, self.told = asyncio.Event(), asyncio.Event()
        self.told.set()

    async def run(self, begin: Begin[T]) -> T:
        queries: list[str] = []
        result = await super().run(lambda: self._noted(begin(), queries))
        self.commits.append(queries)
        if self.kept_back in queries:
            self.committed.set()
            await self.told.wait()
        return result

    def _noted(self, transaction: Transaction[T], queries: list[str]) -> Transaction[T]:
        queries.clear()
        try:
            statement = next(transaction)
            while True:
                queries.append(statement[0].name)
                if self.failing == statement[0].name:
                    self.failing = None
                    raise Fault("asked to fail once")
                statement = transaction.send((yield statement))
        except StopIteration as end:
            result: T = end.value
            return result
        finally:
            transaction.close()

    async def both_pools_have_looked(self) -> None:
        """While a lease is under way, its slots are promised to what waits."""
        while len(self.those_with("sessions.lease")) < 2:  # noqa: ASYNC110
            await asyncio.sleep(0.002)

    def those_with(self, query: str) -> list[list[str]]:
        return [queries for queries in self.commits if query in queries]


@pytest.fixture
async def watched(database_url: str) -> AsyncIterator[Watched]:
    watched = Watched(await open_database(database_url), fail_at=0)
    yield watched
    await watched.close()
