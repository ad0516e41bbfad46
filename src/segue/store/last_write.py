"""Write health: whether the last write to the database succeeded, and if not, why.

A database can be readable but not writable: its disk is full, it became read-only, its connections are used
up. Drivers record the outcome of each write here; `/health` reports it. When nothing else is written,
`try_to_write` finds out whether the fault is over.
"""

from collections.abc import Callable
from enum import StrEnum
from typing import TYPE_CHECKING

from segue.store import queries

if TYPE_CHECKING:
    from segue.store.database import Database, Transaction


class Reason(StrEnum):
    """Why nothing can be written. Stable words for programs."""

    DISK_FULL = "disk_full"
    READ_ONLY = "read_only"
    DISK_ERROR = "disk_error"
    NO_MEMORY = "no_memory"
    LOCKED = "locked"
    TOO_MANY_CONNECTIONS = "too_many_connections"
    UNREACHABLE = "unreachable"
    DAMAGED = "damaged"
    DATABASE_GONE = "database_gone"


class LastWrite:
    def __init__(self, has_disk_space: Callable[[], bool] = lambda: True) -> None:
        """`has_disk_space`: whether the disk has space for more than a few bytes, as far as can be known."""
        self._has_disk_space = has_disk_space
        self.reason: Reason | None = None
        """None: the last write succeeded."""

    def failed(self, reason: Reason | None) -> None:
        """None: the caller's statement failed, which says nothing about the database."""
        if reason is not None:
            self.reason = reason

    def succeeded(self) -> None:
        # On a full disk small writes may still succeed.
        if self.reason is not Reason.DISK_FULL:
            self.reason = None

    def connected(self) -> None:
        """Record that the server was reached, also by a transaction that had nothing to write."""
        if self.reason in (Reason.TOO_MANY_CONNECTIONS, Reason.UNREACHABLE):
            self.reason = None

    def tried(self) -> None:
        """Record that a write of ordinary size succeeded."""
        if self._has_disk_space():
            self.reason = None


async def try_to_write(database: "Database") -> None:
    """Write without changing anything. A failure is recorded and raised."""
    await database.run(_trial)
    database.last_write.tried()


def _trial() -> "Transaction[None]":
    yield queries.schema.touch, {"by": 1}
    yield queries.schema.touch, {"by": -1}
    yield queries.schema.use_disk_space, {}
