"""A store that records the queries of each transaction, and can delay the answer to some of them."""

import asyncio
from collections.abc import AsyncIterator
from typing import TypeVar

import pytest_asyncio

from segue.store.database import Begin, Params, Rows, Transaction
from segue.store.open import open_database
from segue.store.queries import Query
from segue.testing import FaultyStore
from segue.testing.faults import Fault
from tests.eventually import eventually

T = TypeVar("T")


class RecordingStore(FaultyStore):
    """Records the queries of each transaction, and delays the result of those with a given query."""

    def __init__(self, *args: object, **kwargs: object) -> None:
        super().__init__(*args, **kwargs)  # type: ignore[arg-type]
        self.commits: list[list[str]] = []
        self.reads: list[str] = []
        self.failing: str | None = None
        self.delayed: str | None = None
        self.committed, self.release = asyncio.Event(), asyncio.Event()
        self.release.set()

    async def run(self, begin: Begin[T]) -> T:
        queries: list[str] = []
        result = await super().run(lambda: self._recorded(begin(), queries))
        self.commits.append(queries)
        if self.delayed in queries:
            self.committed.set()
            await self.release.wait()
        return result

    async def read(self, query: Query, params: Params) -> Rows:
        self.reads.append(query.name)
        return await super().read(query, params)

    def _recorded(self, transaction: Transaction[T], queries: list[str]) -> Transaction[T]:
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

    async def has_committed(self, query: str, count: int) -> None:
        await eventually(lambda: len(self.transactions_with(query)) >= count, f"{count} of {query}")

    def transactions_with(self, query: str) -> list[list[str]]:
        return [queries for queries in self.commits if query in queries]


@pytest_asyncio.fixture(loop_scope="session")
async def recording_store(database_url: str) -> AsyncIterator[RecordingStore]:
    recording_store = RecordingStore(await open_database(database_url), fail_at=0)
    yield recording_store
    await recording_store.close()
