"""Whether the last write to the database succeeded, and if not, why.

A database can be read while nothing can be written: its disk is full, it became read-only, its connections
are used up. Drivers record here what became of each write; `/health` reports it. Where nothing else is
written, `try_to_write` finds out whether the fault is over.
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
    def __init__(self, has_room: Callable[[], bool] = lambda: True) -> None:
        """`has_room`: whether the disk has room for more than a few bytes, as far as that can be known."""
        self._has_room = has_room
        self.reason: Reason | None = None
        """None: the last write succeeded."""

    def failed(self, reason: Reason | None) -> None:
        """None: the fault was the caller's, and says nothing about the database."""
        if reason is not None:
            self.reason = reason

    def succeeded(self) -> None:
        # On a full disk, small writes still fit in where larger ones do not: that says nothing.
        if self.reason is not Reason.DISK_FULL:
            self.reason = None

    def tried(self) -> None:
        """A write that was as large as an ordinary one has succeeded."""
        if self._has_room():
            self.reason = None


async def try_to_write(database: "Database") -> None:
    """Write something, change nothing. What prevents it is raised, and recorded."""
    await database.run(_trial)
    database.last_write.tried()


def _trial() -> "Transaction[None]":
    yield queries.schema.touch, {"by": 1}
    yield queries.schema.touch, {"by": -1}
    yield queries.schema.take_room, {}
