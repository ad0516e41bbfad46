"""Online backup of a SQLite file: copies the database while processes read and write it.

A read transaction on the source lasts from the first page to the last, so the copy is of one moment. Without
it, SQLite would begin again after each write of another process. Writers are not blocked; the write-ahead log
grows in the meantime.
"""

import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

from segue.errors import StoreUnusable
from segue.store.settings import DEFAULTS
from segue.store.sqlite.file import explain, open_file


def copy_database(
    source: Path, target: Path, progress: Callable[[float], None], *, pages_at_once: int = 1_024
) -> None:
    """Copy the database into an empty file and check the copy. `progress` gets the part that is done."""
    with closing(open_file(str(source), DEFAULTS.busy_seconds)) as original:
        try:
            _copy(original, target, progress, pages_at_once)
        except sqlite3.Error as error:
            raise explain(error, f"{source} or its copy {target}") from error


def _copy(
    original: sqlite3.Connection, target: Path, progress: Callable[[float], None], pages_at_once: int
) -> None:
    def copied(status: int, remaining: int, total: int) -> None:
        progress(1 - remaining / total if total else 1)

    with closing(sqlite3.connect(target, isolation_level=None)) as copy:
        # The caller syncs the file once, and deletes it if this fails.
        copy.execute("PRAGMA synchronous = OFF")
        copy.execute("PRAGMA journal_mode = OFF")
        original.execute("BEGIN")
        original.execute("SELECT COUNT(*) FROM sqlite_master").fetchone()
        original.backup(copy, pages=pages_at_once, progress=copied, sleep=0)
        original.execute("ROLLBACK")
        # One file: a copy in the mode of a write-ahead log would get one beside it as soon as it is opened.
        copy.execute("PRAGMA journal_mode = DELETE")
        [(verdict,)] = copy.execute("PRAGMA quick_check(1)").fetchall()
    if verdict != "ok":
        raise StoreUnusable(f"the copy is damaged and was not kept ({verdict}): check both disks")
