"""What the kernel asks of a database, and how a transaction is written.

A transaction is a generator. It yields statements and receives their rows:

    def rename(session_id: str, title: str) -> Transaction[bool]:
        rows = yield sql.sessions.rename, {"id": session_id, "title": title}
        return bool(rows)

The body is written once. SQLite's writer thread drives it synchronously, PostgreSQL drives it with
await, and a test drives it by hand, one statement at a time.

Invariants
  - all of a transaction's statements commit, or none does
  - a transaction may be driven again from its start (after a lost connection, or alone after its
    group failed): it makes no id, reads no clock and touches nothing but the rows it receives
  - a generator that raises rolls back its own statements and nobody else's
"""

from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from typing import Any, Protocol, TypeAlias, TypeVar

from segue.store.last_write import LastWrite
from segue.store.queries import Query

T = TypeVar("T")

Value: TypeAlias = str | int | float | None
Params: TypeAlias = Mapping[str, Value]

Statement: TypeAlias = tuple[Query, Params | list[Params]]
"""A query and its parameters; a list of them runs it once for each, and all rows come back in order."""


class Row(Protocol):
    """What `sqlite3.Row` and `asyncpg.Record` have in common: columns by name, or all of them in order."""

    def __getitem__(self, column: str, /) -> Any: ...

    def __iter__(self) -> Iterator[Any]: ...


Rows: TypeAlias = Sequence[Row]
Transaction: TypeAlias = Generator[Statement, Rows, T]
Begin: TypeAlias = Callable[[], Transaction[T]]
"""Makes a fresh transaction; called again when it must be driven again."""


class Database(Protocol):
    """One database, opened. Drivers live in `sqlite.py` and `postgres.py`."""

    dialect: str
    """`sqlite` or `postgres`."""
    last_write: LastWrite
    """Whether it succeeded."""

    async def run(self, begin: Begin[T]) -> T:
        """Commit one transaction and return what it returned. Concurrent callers may share a commit."""
        ...

    async def run_alone(self, begin: Begin[T]) -> T:
        """The same for what may take minutes: in a commit of its own, and with all the time it needs."""
        ...

    async def read(self, query: Query, params: Params) -> Rows:
        """Rows of one query, beside the writers, as of a moment not earlier than the call."""
        ...

    def watch(self, ring: Callable[[], None]) -> AbstractAsyncContextManager[None]:
        """While inside, call `ring` on the loop when another process may have written."""
        ...

    def wall_ms(self) -> int:
        """Milliseconds since 1970, by the clock that all workers on this database share."""
        ...

    def lease_now(self) -> int | None:
        """The moment leases are judged by, in milliseconds; None lets the database's own clock decide."""
        ...

    async def close(self) -> None: ...
