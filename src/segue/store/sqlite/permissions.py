"""File permissions: folders and files that only their owner may read."""

import os
import stat
from pathlib import Path

FOLDER_MODE = 0o700
FILE_MODE = 0o600
_OTHERS = stat.S_IRWXG | stat.S_IRWXO
_BESIDE = ("", "-wal", "-shm", ".lock", ".next")
"""The database itself, SQLite's files beside it, and Segue's lock files."""


def make_folder(path: Path) -> None:
    """Create the folder and its missing parents; existing folders stay as they are."""
    if not path.is_dir():
        make_folder(path.parent)
        path.mkdir(FOLDER_MODE, exist_ok=True)


def make_file(path: Path) -> None:
    """Create an empty file unless it exists. SQLite gives the files beside a database the same mode."""
    if not path.exists():
        os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, FILE_MODE))


def open_to_others(database: Path) -> list[Path]:
    """The files of this database that other users of the machine can access."""
    if os.name != "posix" or not _mode(database.parent) & (stat.S_IXGRP | stat.S_IXOTH):
        return []
    return [file for file in files_of(database) if is_open_to_others(file)]


def files_of(database: Path) -> list[Path]:
    """The database and the files that belong to it, whether or not they exist."""
    return [Path(f"{database}{suffix}") for suffix in _BESIDE]


def is_open_to_others(path: Path) -> bool:
    return os.name == "posix" and bool(_mode(path) & _OTHERS)


def close_to_others(file: Path) -> None:
    file.chmod(FILE_MODE)


def _mode(path: Path) -> int:
    try:
        return path.stat().st_mode
    except OSError:  # missing, or not accessible to this user
        return 0
