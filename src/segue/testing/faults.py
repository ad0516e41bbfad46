"""A database that fails at the n-th statement, to see whether the house is sound after it.

for n in itertools.count(1):
    faulty = FaultyStore(database, fail_at=n)
    try:
        await do_something(Kernel(faulty, …))
        break                       # it got through untouched: every statement has failed once
    except Fault:
        assert not await audit(database)
"""

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from typing import TypeVar

from segue.errors import StoreError
from segue.store.database import Begin, Database, Params, Rows, Transaction
from segue.store.sql import Query

T = TypeVar("T")


class Fault(StoreError):
    """The fault that was asked for."""


class FaultyStore:
    """Passes everything on to a real database until the n-th statement of a transaction."""

    def __init__(self, database: Database, *, fail_at: int) -> None:
        self._database = database
        self._fail_at = fail_at
        self.dialect = database.dialect
        self.statements = 0

    async def run(self, begin: Begin[T]) -> T:
        return await self._database.run(lambda: self._counted(begin()))

    def _counted(self, transaction: Transaction[T]) -> Transaction[T]:
        rows: Rows = ()
        try:
            statement = next(transaction)
            while True:
                self.statements += 1
                if self.statements == self._fail_at:
                    transaction.close()
                    raise Fault(f"asked to fail at statement {self._fail_at} ({statement[0].name})")
                rows = yield statement
                statement = transaction.send(rows)
        except StopIteration as end:
            result: T = end.value
            return result

    async def read(self, query: Query, params: Params) -> Rows:
        return await self._database.read(query, params)

    def watch(self, ring: Callable[[], None]) -> AbstractAsyncContextManager[None]:
        return self._database.watch(ring)

    def wall_ms(self) -> int:
        return self._database.wall_ms()

    def lease_now(self) -> int | None:
        return self._database.lease_now()

    async def close(self) -> None:
        await self._database.close()
