"""Backup: copies a database to a file while it is in use.

Invariants
  - a file has the given name only when the copy is complete and on the disk
  - the copy is readable by its owner only
  - no file is replaced unless the caller asks for it, and never the database itself
"""

import os
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from segue.errors import BadFile
from segue.store.open import sqlite_file
from segue.store.sqlite.permissions import files_of


def back_up(
    url: str, target: Path, *, replace: bool = False, progress: Callable[[float], None] = lambda _: None
) -> int:
    """Copy the database of a URL to `target` and return the size of the copy in bytes.

    `progress` gets the part that is done, from 0 to 1; on PostgreSQL it is not called.
    """
    database = sqlite_file(url)
    if database is None and url.startswith("sqlite:"):
        raise BadFile("a database in memory cannot be copied to a file; name a database with --database")
    _refuse(target, database, replace=replace)
    if database is not None:
        from segue.store.sqlite.backup import copy_database

        with _complete_file(target) as unfinished:
            copy_database(database, unfinished, progress)
    else:
        from segue.cli.dump import dump, refuse_without_program

        refuse_without_program(url, target)
        with _complete_file(target) as unfinished:
            dump(url, unfinished)
    return target.stat().st_size


def _refuse(target: Path, database: Path | None, *, replace: bool) -> None:
    if target.is_dir():
        raise BadFile(f"{target} is a folder; name a file in it")
    if not target.parent.is_dir():
        raise BadFile(f"there is no folder {target.parent}; make it, or name another file")
    if database is not None and _is_part_of(target, database):
        raise BadFile(f"{target} is the database itself; name another file for its copy")
    if target.exists() and not replace:
        raise BadFile(f"{target} exists; name another file, or replace it with --force")


def _is_part_of(target: Path, database: Path) -> bool:
    """Whether the target is the database or a file that belongs to it, such as its write-ahead log."""
    if target.exists() and target.samefile(database):  # a link to it
        return True
    return target.resolve() in [file.resolve() for file in files_of(database)]


@contextmanager
def _complete_file(target: Path) -> Iterator[Path]:
    """A file to write to. It gets the target's name at the end, and is deleted if the block raises."""
    try:
        descriptor, name = tempfile.mkstemp(prefix=f".{target.name}.", dir=target.parent)
    except OSError as error:
        words = (error.strerror or str(error)).lower()
        raise BadFile(f"{target.parent} cannot be written to ({words}); name another file") from error
    os.close(descriptor)
    unfinished = Path(name)
    try:
        yield unfinished
        _sync(unfinished)
        unfinished.replace(target)
        _sync(target.parent)
    finally:
        unfinished.unlink(missing_ok=True)


def _sync(path: Path) -> None:
    if os.name != "posix" and path.is_dir():  # Windows has no way to sync a folder
        return
    descriptor = os.open(path, os.O_RDONLY if path.is_dir() else os.O_RDWR)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
