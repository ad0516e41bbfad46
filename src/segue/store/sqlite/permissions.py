"""File permissions: folders and files that only their owner may read."""

import os
from pathlib import Path

FOLDER_MODE = 0o700
FILE_MODE = 0o600
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


def files_of(database: Path) -> list[Path]:
    """The database and the files that belong to it, whether or not they exist."""
    return [Path(f"{database}{suffix}") for suffix in _BESIDE]
