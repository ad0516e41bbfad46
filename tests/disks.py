"""Small disks, for tests that fill them. Only root can mount one."""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

needs_root = pytest.mark.skipif(
    sys.platform != "linux" or os.getuid() != 0, reason="only root can mount a small disk"
)


@contextmanager
def small_disk(folder: Path, megabytes: int) -> Iterator[Path]:
    folder.mkdir(exist_ok=True)
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", f"size={megabytes}m", "tmpfs", str(folder)],
        capture_output=True,
        text=True,
    )
    if mounted.returncode:
        pytest.skip(f"no disk could be mounted: {mounted.stderr.strip()}")
    try:
        yield folder
    finally:
        subprocess.run(["umount", "-l", str(folder)], check=True)


def fill(disk: Path) -> Path:
    """A file that takes what is left of the disk. Deleted, it gives the room back."""
    ballast = disk / "ballast"
    with ballast.open("wb", buffering=0) as file:
        while free := shutil.disk_usage(disk).free:
            file.write(b"x" * min(free, 65_536))
    return ballast


@contextmanager
def read_only(*files: Path) -> Iterator[None]:
    """Files that may not be written, not even by those who have them open, nor by root."""
    names = [str(file) for file in files]
    if subprocess.run(["chattr", "+i", *names], capture_output=True).returncode:
        pytest.skip("this file system knows no immutable files")
    try:
        yield
    finally:
        subprocess.run(["chattr", "-i", *names], check=True)
