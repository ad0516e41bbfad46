"""SQLite file: recognises and opens Segue's files, and says what SQLite's errors mean.

Invariants
  - a file that is not Segue's, is damaged or not writable is refused before it, or a file beside it, changes
  - the application id marks a file as Segue's; it is in the file before the first write-ahead log exists
"""

import os
import sqlite3
import time
from collections.abc import Callable
from pathlib import Path

from segue.errors import StoreError, StoreUnavailable, StoreUnusable
from segue.store.last_write import Reason
from segue.store.sqlite.file_identity import is_in_use_here
from segue.store.sqlite.permissions import make_file, make_folder

MEMORY = ":memory:"

APPLICATION_ID = int.from_bytes(b"Segu")
"""In the header of every Segue file, where `file` and other programs look for it."""

CACHE_KIB = 16_384
READER_CACHE_KIB = 4_096
LARGEST_LOG = 67_108_864
"""A write-ahead log that grew beyond this is truncated to it."""
CHECKPOINT_PAGES = 4_000

_MAGIC = b"SQLite format 3\x00"
_HEADER_BYTES = 100
_SCHEMA_COOKIE = slice(40, 44)
_APPLICATION_ID = slice(68, 72)


def open_file(path: str, busy_seconds: float) -> sqlite3.Connection:
    """A connection that may write; a missing or empty file becomes a new database."""
    if path == MEMORY:
        return _open(path, busy_seconds, CACHE_KIB)
    _refuse_unless_ours(Path(path))
    make_file(Path(path))
    return _open(path, busy_seconds, CACHE_KIB, _make_ours)


def open_reader(path: str, busy_seconds: float) -> sqlite3.Connection:
    return _open(path, busy_seconds, READER_CACHE_KIB, _make_reader)


def _open(
    path: str,
    busy_seconds: float,
    cache_kib: int,
    prepare: Callable[[sqlite3.Connection, str, float], None] = lambda *_: None,
) -> sqlite3.Connection:
    try:
        # Opened here, used on another thread.
        connection = sqlite3.connect(
            path, timeout=busy_seconds, isolation_level=None, cached_statements=1024, check_same_thread=False
        )
        try:
            _configure(connection, cache_kib)
            prepare(connection, path, time.monotonic() + busy_seconds)
        except BaseException:
            connection.close()
            raise
    except sqlite3.Error as error:
        raise explain(error, path) from error
    return connection


def _configure(connection: sqlite3.Connection, cache_kib: int) -> None:
    """Set pragmas that do not touch the file."""
    connection.row_factory = sqlite3.Row
    for setting in (
        # What was acknowledged survives a power cut.
        "synchronous = FULL",
        "foreign_keys = ON",
        "temp_store = MEMORY",
        f"cache_size = -{cache_kib}",
        f"journal_size_limit = {LARGEST_LOG}",
        # The commit that runs a checkpoint waits for the disk twice more.
        f"wal_autocheckpoint = {CHECKPOINT_PAGES}",
    ):
        connection.execute(f"PRAGMA {setting}")


def _make_reader(connection: sqlite3.Connection, *_: object) -> None:
    connection.execute("PRAGMA query_only = ON")


def is_there(path: Path) -> bool:
    """Whether the path exists. Raises `StoreUnusable` when this user cannot find out."""
    try:
        path.stat()
    except FileNotFoundError:
        return False
    except NotADirectoryError:
        raise StoreUnusable(
            f"{path} cannot be used: part of its path is a file where a folder is wanted; name another folder"
        ) from None
    except OSError as error:
        raise StoreUnusable(
            f"{path} cannot be used ({os.strerror(error.errno or 0).lower()}); "
            "let this user read and write its folder, or name another"
        ) from None
    return True


def _refuse_unless_ours(path: Path) -> None:
    """Reads the header only: opening the file with SQLite would create a log beside it."""
    exists = is_there(path)
    if exists and path.is_dir():
        raise StoreUnusable(f"{path} is a folder; name a file in it")
    _refuse_unless_writable(path, exists=exists)
    if not exists or is_in_use_here(str(path)):
        return  # a file in use was checked when it was first opened
    with path.open("rb") as file:
        header = file.read(_HEADER_BYTES)
    if not header:
        return
    if len(header) < _HEADER_BYTES or not header.startswith(_MAGIC):
        raise StoreUnusable(
            f"{path} is not a database; nothing was changed. Name another file, or restore it from a backup"
        )
    if header[_APPLICATION_ID] != APPLICATION_ID.to_bytes(4) and any(
        header[_APPLICATION_ID] + header[_SCHEMA_COOKIE]
    ):
        raise _foreign(path)


def _refuse_unless_writable(path: Path, *, exists: bool) -> None:
    try:
        make_folder(path.parent)
    except OSError as error:
        sentence = f"the folder of {path} cannot be made ({error.strerror}); name another"
        raise StoreUnusable(sentence) from error
    if exists and not os.access(path, os.R_OK | os.W_OK):
        raise StoreUnusable(
            f"{path} may not be written to; give this user the right to, or name another file"
        )
    if not os.access(path.parent, os.W_OK | os.X_OK):
        raise StoreUnusable(
            f"{path.parent} may not be written to, and a database needs a log beside it; "
            "give this user the right to, or name a file elsewhere"
        )


def _make_ours(connection: sqlite3.Connection, path: str, deadline: float) -> None:
    """Several processes may start at once on a new file: each of these steps may be repeated."""
    while True:
        try:
            _check_and_mark(connection, path)
            return
        except sqlite3.OperationalError as error:
            # The busy timeout does not apply to the switch to a write-ahead log.
            if primary_code(error) != sqlite3.SQLITE_BUSY or time.monotonic() > deadline:
                raise
            time.sleep(0.005)


def _check_and_mark(connection: sqlite3.Connection, path: str) -> None:
    application_id = connection.execute("PRAGMA application_id").fetchone()[0]
    objects = connection.execute("SELECT COUNT(*) FROM sqlite_master").fetchone()[0]
    if application_id != APPLICATION_ID:
        if application_id or objects:
            raise _foreign(Path(path))
        connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
    connection.execute("PRAGMA journal_mode = WAL")


def _foreign(path: Path) -> StoreUnusable:
    return StoreUnusable(f"{path} is the database of another program; nothing was changed. Name another file")


def primary_code(error: sqlite3.Error) -> int:
    """SQLite's primary result code; 0 for errors of Python's sqlite3 module."""
    code: int = getattr(error, "sqlite_errorcode", 0)
    return code & 0xFF


_HELD = (Reason.LOCKED, "another program has locked it for too long")
_NOT_NOW = {
    sqlite3.SQLITE_BUSY: _HELD,
    sqlite3.SQLITE_LOCKED: _HELD,
    sqlite3.SQLITE_PROTOCOL: _HELD,
    sqlite3.SQLITE_FULL: (Reason.DISK_FULL, "its disk is full"),
    sqlite3.SQLITE_IOERR: (Reason.DISK_ERROR, "its disk reported an error"),
    sqlite3.SQLITE_NOMEM: (Reason.NO_MEMORY, "there is no memory left"),
}
_RESTORE = "it is not a database: name another file, or restore this one from a backup"
_OPEN_UP = "it cannot be opened: see that it and its folder may be read and written"
_FAULTS = _NOT_NOW | {
    sqlite3.SQLITE_CORRUPT: (Reason.DAMAGED, "it is damaged: restore it from a backup"),
    sqlite3.SQLITE_NOTADB: (Reason.DAMAGED, _RESTORE),
    sqlite3.SQLITE_READONLY: (Reason.READ_ONLY, "it may not be written to: give this user the right to"),
    sqlite3.SQLITE_CANTOPEN: (Reason.DISK_ERROR, _OPEN_UP),
    sqlite3.SQLITE_PERM: (Reason.READ_ONLY, "it may not be opened: give this user the right to"),
}
"""The errors of a file, and not of a statement: what `/health` reports, and what callers are told."""


def reason_of(error: sqlite3.Error, path: str) -> Reason | None:
    """Why the file cannot be written; None when the caller's statement is at fault."""
    reason, _ = _FAULTS.get(primary_code(error), (None, ""))
    # SQLite reports a disk that became read-only under an open file as an I/O error.
    if reason is Reason.DISK_ERROR and not all(os.access(each, os.W_OK) for each in (path, f"{path}-wal")):
        return Reason.READ_ONLY
    return reason


def explain(error: sqlite3.Error, path: str, *, in_use: bool = False) -> StoreError:
    """The error for callers. An error of the file itself fails every transaction in the group. `in_use`: the
    file was writable when it was opened, so a read-only state may be temporary."""
    code = primary_code(error)
    if code not in _FAULTS:
        return StoreError(f"SQLite reported an error on {path}: {error}")
    if in_use and reason_of(error, path) is Reason.READ_ONLY:
        return StoreUnavailable(f"{path} cannot be written now: it, or its disk, is read-only ({error})")
    _, why = _FAULTS[code]
    if code in _NOT_NOW:
        return StoreUnavailable(f"{path} cannot be used now: {why}; try again later ({error})")
    return StoreUnusable(f"{path} cannot be used: {why} ({error})")


def blames_the_statement(error: sqlite3.Error) -> bool:
    """Whether the caller's statement is at fault, and not the file."""
    return primary_code(error) not in _FAULTS
