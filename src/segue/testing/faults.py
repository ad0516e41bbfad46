"""Fault injection: a database that fails at the n-th statement, to test that the invariants still hold.

for n in itertools.count(1):
    faulty = FaultyStore(database, fail_at=n)
    try:
        await do_something(Kernel(faulty, …))
        break                       # no fault: every statement has failed once
    except Fault:
        assert not await audit(database)
"""

from segue.errors import StoreError
from segue.store.database import Begin, Database, Rows, T, Transaction
from segue.testing.forwarding import ForwardingDatabase


class Fault(StoreError):
    """The injected fault."""


class FaultyStore(ForwardingDatabase):
    """Forwards to a real database until the n-th statement within transactions."""

    def __init__(self, database: Database, *, fail_at: int) -> None:
        super().__init__(database)
        self._fail_at = fail_at
        self.statements = 0

    async def run(self, begin: Begin[T]) -> T:
        return await super().run(lambda: self._counted(begin()))

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
