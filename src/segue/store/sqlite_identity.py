"""Whether the files that SQLite has open are still those that their paths name.

A file that is deleted or replaced while it is open stays usable for whoever has it open, and what is written
to it is lost with them. Device and inode tell: an inode number is not used again while a file has it open.
"""

import os

Identity = tuple[int, int]


class OpenFiles:
    """The database and its write-ahead log, as they were when they were opened."""

    def __init__(self, path: str) -> None:
        named = {each: _identity(each) for each in (path, f"{path}-wal")}
        self._opened = {each: identity for each, identity in named.items() if identity or each == path}

    def missing(self) -> str | None:
        """The path that no longer names the file that is open."""
        for path, opened in self._opened.items():
            if opened is None or _identity(path) != opened:
                return path
        return None


def _identity(path: str) -> Identity | None:
    try:
        found = os.stat(path)
    except OSError:
        return None
    return (found.st_dev, found.st_ino) if found.st_nlink else None
