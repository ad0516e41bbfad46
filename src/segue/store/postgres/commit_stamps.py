"""Stamps: whether a transaction is in the database, though its connection was lost before the answer came.

Each transaction that writes leaves the number it has on its connection, in the round trip of its COMMIT. When
that is lost, the number tells: it is there, on whatever server answers now, if the transaction is, and not if
it is not. From its begin a transaction also holds a lock that nobody else asks for. Whoever wants to know
waits for that lock first, and so for the transaction's end: the server may still be at it.

Invariants
  - a stamp and what it tells of are in the database together, or not at all
  - a connection has a name that no other had: nobody waits for a transaction but who wants to know its end
"""

from random import getrandbits
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from segue.store.postgres.connection import Connection

_OLD = "1 day"
"""Longer than anybody waits for an answer."""


class Stamp(NamedTuple):
    connection: int
    number: int

    @property
    def hold(self) -> str:
        """To be run as the transaction begins."""
        return f"SELECT pg_advisory_xact_lock({self.connection})"

    @property
    def leave(self) -> str:
        """To be run as it ends."""
        return (
            f"INSERT INTO stamps (connection, number) VALUES ({self.connection}, {self.number}) "
            "ON CONFLICT (connection) DO UPDATE SET number = EXCLUDED.number, at = EXCLUDED.at"
        )


class Stamps:
    """Those of one connection after the other."""

    def __init__(self) -> None:
        self._connection: Connection | None = None
        self._name = 0
        self._number = 0
        self._there = False

    async def next(self, connection: "Connection") -> Stamp | None:
        """For the next transaction; None before there is a table to leave it in."""
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
    """Whether the transaction that was to leave it has been committed."""
    await connection.execute(stamp.hold)
    # Another statement, so that it sees what has ended while the one before it waited.
    left = "SELECT EXISTS (SELECT FROM stamps WHERE connection = $1 AND number = $2)"
    return bool(await connection.fetchval(left, stamp.connection, stamp.number))
