"""Whether the files that SQLite has open are still those that their paths name.

A file that is deleted or replaced while it is open stays usable for whoever has it open, and what is written
to it is lost with them. Device and inode tell: an inode number is not used again while a file has it open.
"""

import os
import threading
from collections import Counter
from typing import TypeAlias

Identity: TypeAlias = tuple[int, int]

OPENING = threading.Lock()
"""Held by a thread that looks whether a file is in use, and opens it."""

_in_use: Counter[Identity | None] = Counter()


class OpenFiles:
    """The database and its write-ahead log, as they were when they were opened."""

    def __init__(self, path: str) -> None:
        self._path = path
        named = {each: _identity(each) for each in (path, f"{path}-wal")}
        self._opened = {each: identity for each, identity in named.items() if identity or each == path}
        _in_use[self._opened[path]] += 1

    def missing(self) -> str | None:
        """The path that no longer names the file that is open."""
        for path, opened in self._opened.items():
            if opened is None or _identity(path) != opened:
                return path
        return None

    def close(self) -> None:
        _in_use[self._opened[self._path]] -= 1


def is_in_use_here(path: str) -> bool:
    """Whether this process has it open. To open it again and close it would then release SQLite's locks:
    POSIX counts them by process, not by descriptor."""
    identity = _identity(path)
    return identity is not None and _in_use[identity] > 0


def _identity(path: str) -> Identity | None:
    try:
        found = os.stat(path)
    except OSError:
        return None
    return (found.st_dev, found.st_ino) if found.st_nlink else None
