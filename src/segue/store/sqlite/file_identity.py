"""File identity: detects that an open SQLite file was deleted or replaced.

Such a file stays usable for the processes that have it open, and what they write is lost when they close it.
Device and inode identify a file: an inode number is not reused while the file is open.
"""

import os
import threading
from collections import Counter
from typing import TypeAlias

Identity: TypeAlias = tuple[int, int]

OPENING = threading.Lock()
"""Held while a thread checks whether a file is in use and opens it."""

_in_use: Counter[Identity | None] = Counter()


class OpenFiles:
    """The database and its write-ahead log, as they were when they were opened."""

    def __init__(self, path: str) -> None:
        self._path = path
        named = {each: _identity(each) for each in (path, f"{path}-wal")}
        self._opened = {each: identity for each, identity in named.items() if identity or each == path}
        _in_use[self._opened[path]] += 1

    def missing(self) -> str | None:
        """The path that no longer names the open file; None if all do."""
        for path, opened in self._opened.items():
            if opened is None or _identity(path) != opened:
                return path
        return None

    def close(self) -> None:
        _in_use[self._opened[self._path]] -= 1


def is_in_use_here(path: str) -> bool:
    """Whether this process has the file open. Opening and closing it again would then release SQLite's locks:
    POSIX locks belong to the process, not to the descriptor."""
    identity = _identity(path)
    return identity is not None and _in_use[identity] > 0


def _identity(path: str) -> Identity | None:
    try:
        stat = os.stat(path)
    except OSError:
        return None
    return (stat.st_dev, stat.st_ino) if stat.st_nlink else None
