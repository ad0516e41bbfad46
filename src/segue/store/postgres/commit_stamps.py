"""Commit stamps: detect whether a transaction was committed when the answer to COMMIT was lost.

Each transaction that writes stores its number on its connection, in the round trip of its COMMIT. If the
connection is lost then, the stamp is in the database, on whatever server answers now, exactly if the
transaction is. A transaction also holds an advisory lock from its start. `was_committed` takes that lock
first, and so waits for the transaction's end: the server may still be running it.

Invariants
  - a stamp and the writes of its transaction are committed together, or not at all
  - a connection's number is random and never reused: only `was_committed` waits for its lock
"""

from random import getrandbits
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from segue.store.postgres.connection import Connection

_OLD = "1 day"
"""Longer than any caller waits for an answer."""


class Stamp(NamedTuple):
    connection: int
    number: int

    @property
    def hold(self) -> str:
        """The statement to run when the transaction begins."""
        return f"SELECT pg_advisory_xact_lock({self.connection})"

    @property
    def leave(self) -> str:
        """The statement to run before COMMIT."""
        return (
            f"INSERT INTO stamps (connection, number) VALUES ({self.connection}, {self.number}) "
            "ON CONFLICT (connection) DO UPDATE SET number = EXCLUDED.number, at = EXCLUDED.at"
        )


class Stamps:
    """Numbers the transactions of a writer, on one connection after the other."""

    def __init__(self) -> None:
        self._connection: Connection | None = None
        self._name = 0
        self._number = 0
        self._there = False

    async def next(self, connection: "Connection") -> Stamp | None:
        """The stamp of the next transaction; None before the migration that creates the table."""
        if connection is not self._connection:
            self._connection, self._name, self._number = connection, getrandbits(63), 0
        if not self._there:
            self._there = await connection.fetchval("SELECT to_regclass('stamps') IS NOT NULL")
            if not self._there:
                return None
        if not self._number:
            await connection.execute(f"DELETE FROM stamps WHERE at < now() - INTERVAL '{_OLD}'")
        self._number += 1
        return Stamp(self._name, self._number)


async def was_committed(connection: "Connection", stamp: Stamp) -> bool:
    """Whether the transaction of this stamp was committed. Waits for its end."""
    await connection.execute(stamp.hold)
    # A new statement, whose snapshot includes what was committed while the lock was awaited.
    left = "SELECT EXISTS (SELECT FROM stamps WHERE connection = $1 AND number = $2)"
    return bool(await connection.fetchval(left, stamp.connection, stamp.number))
