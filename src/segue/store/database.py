"""Database driver protocol, and transactions as generators.

A transaction yields statements and receives their rows:

    def rename(session_id: str, title: str) -> Transaction[bool]:
        rows = yield queries.sessions.rename, {"id": session_id, "title": title}
        return bool(rows)

The body is written once. SQLite's writer thread drives it synchronously, PostgreSQL drives it with
await, and a test drives it by hand, one statement at a time.

Invariants
  - all of a transaction's statements commit, or none does
  - a transaction may be driven again from its start (after a lost connection, or alone after its
    group failed): it makes no id, reads no clock and touches nothing but the rows it receives
  - a generator that raises rolls back its own statements and no others
"""

from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from typing import Any, Protocol, TypeAlias, TypeVar

from segue.store.last_write import LastWrite
from segue.store.queries import Query
from segue.store.settings import ScanSettings

T = TypeVar("T")

Value: TypeAlias = str | int | float | bytes | None
Params: TypeAlias = Mapping[str, Value]

Statement: TypeAlias = tuple[Query, Params | list[Params]]
"""A query and its parameters. With a list, the query runs once for each item; all rows come back in order."""


class Row(Protocol):
    """The common part of `sqlite3.Row` and `asyncpg.Record`: columns by name, or all of them in order."""

    def __getitem__(self, column: str, /) -> Any: ...

    def __iter__(self) -> Iterator[Any]: ...


Rows: TypeAlias = Sequence[Row]
Transaction: TypeAlias = Generator[Statement, Rows, T]
Begin: TypeAlias = Callable[[], Transaction[T]]
"""Creates the generator; called again when the transaction must be driven again."""


class Database(Protocol):
    """One open database. The drivers are `sqlite.database.Sqlite` and `postgres.database.Postgres`."""

    dialect: str
    """`sqlite` or `postgres`."""
    last_write: LastWrite
    """Whether the last write succeeded, and if not, why."""

    @property
    def scans(self) -> ScanSettings | None:
        """How scans of the work queues avoid obsolete index entries; None if the database leaves none."""
        ...

    async def run(self, begin: Begin[T]) -> T:
        """Commit one transaction and return its result. Concurrent callers may share a commit."""
        ...

    async def run_alone(self, begin: Begin[T]) -> T:
        """`run` for a transaction that may take minutes: in its own commit, without a time limit."""
        ...

    async def read(self, query: Query, params: Params) -> Rows:
        """The rows of one query, read concurrently with writers; never staler than the call."""
        ...

    def watch(
        self, ring: Callable[[], None], watched: Callable[[str], None] | None = None
    ) -> AbstractAsyncContextManager[None]:
        """While the context is open, call `ring` on the loop when another process may have written.

        `watched` is called with the id of a turn that another process calls `follow_turn` for.
        """
        ...

    def follow_turn(self, turn_id: str) -> None:
        """Tell other processes that this one reads the drafts of a turn. A hint, which may be lost."""
        ...

    def wall_ms(self) -> int:
        """Milliseconds since 1970, by the clock that all workers on this database share."""
        ...

    def lease_now(self) -> int | None:
        """The moment leases are judged by, in milliseconds; None lets the database's own clock decide."""
        ...

    async def close(self) -> None: ...
