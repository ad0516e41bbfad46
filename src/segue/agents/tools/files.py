"""`read_file` and `list_files` tools: read the files of the workspace, and nothing outside it.

A path is opened name by name from the workspace folder, each name relative to the folder before and never
through a link, so a path cannot be replaced between its check and its use. Devices, pipes and sockets are not
opened at all.
"""

import asyncio
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from segue.agents.tools.arguments import flat
from segue.agents.tools.registry import Tool, ToolContext, ToolRefused
from segue.errors import BadSetting

LARGEST_FILE = 1_000_000
"""Bytes. A larger file is refused."""
LONGEST_PAGE = 15_000
"""Characters of a file that one call returns."""
MOST_NAMES = 300

_PATH = {"type": "string", "description": "a path inside the workspace, such as 'notes/today.md'"}
_START = {"type": "integer", "minimum": 1, "description": "the line to begin with; 1 if left out"}
_FOLDER = {"type": "string", "description": "a folder inside the workspace; the workspace itself if left out"}


def file_tools(workspace: Path) -> list[Tool]:
    """Return the tools for one workspace. Raises `BadSetting` if the folder does not exist."""
    if not workspace.is_dir():
        raise BadSetting(f"the workspace is a folder that exists, got {workspace}")
    root = workspace.resolve()

    async def read_file(context: ToolContext, path: str, start: int = 1) -> str:
        return await asyncio.to_thread(_read, root, path, start)

    async def list_files(context: ToolContext, path: str = ".") -> str:
        return await asyncio.to_thread(_list, root, path)

    return [
        Tool(
            name="read_file",
            description="Read a text file of the workspace. A long file is given in pages.",
            parameters=flat({"path": _PATH, "start": _START}, required=("path",)),
            run=read_file,
            outside=True,
        ),
        Tool(
            name="list_files",
            description="List a folder of the workspace: names, sizes in bytes, a slash behind folders.",
            parameters=flat({"path": _FOLDER}),
            run=list_files,
            outside=True,
        ),
    ]


def _read(root: Path, path: str, start: int) -> str:
    with _opened(root, path) as descriptor:
        status = os.fstat(descriptor)
        if stat.S_ISDIR(status.st_mode):
            raise ToolRefused(f"{path} is a folder; list_files shows what is in it")
        if status.st_size > LARGEST_FILE:
            raise ToolRefused(f"{path} has {status.st_size:,} bytes; the most is {LARGEST_FILE:,}")
        with open(descriptor, "rb", closefd=False) as file:
            data = file.read(LARGEST_FILE + 1)[:LARGEST_FILE]
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        text = "\0"
    if "\0" in text:
        raise ToolRefused(f"{path} is not a text file")
    return _page(path, text.splitlines(), start)


def _page(path: str, lines: list[str], start: int) -> str:
    """Return whole lines from `start` on, and the line to continue with."""
    if not lines:
        return "(the file is empty)"
    if start > len(lines):
        raise ToolRefused(f"{path} has {len(lines):,} lines; there is no line {start:,}")
    left = LONGEST_PAGE
    shown: list[str] = []
    for line in lines[start - 1 :]:
        left -= len(line) + 1
        if left < 0 and shown:
            break
        shown.append(line[:LONGEST_PAGE])
    following = start + len(shown)
    more = f"\n(line {following:,} of {len(lines):,} comes next: start={following})"
    return "\n".join(shown) + (more if following <= len(lines) else "")


def _list(root: Path, path: str) -> str:
    with _opened(root, path) as descriptor:
        if not stat.S_ISDIR(os.fstat(descriptor).st_mode):
            raise ToolRefused(f"{path} is a file; read_file shows what is in it")
        with os.scandir(descriptor) as entries:
            lines = sorted(map(_described, entries))
    if len(lines) > MOST_NAMES:
        lines[MOST_NAMES:] = [f"(and {len(lines) - MOST_NAMES:,} more)"]
    return "\n".join(lines) or "(the folder is empty)"


def _described(entry: "os.DirEntry[str]") -> str:
    # A file name may hold any bytes; bytes that are not UTF-8 are replaced.
    name = os.fsencode(entry.name).decode("utf-8", "replace")
    if entry.is_dir(follow_symlinks=False):
        return f"{name}/"
    if entry.is_file(follow_symlinks=False):
        return f"{name} ({entry.stat(follow_symlinks=False).st_size:,} bytes)"
    return f"{name} (cannot be opened: {'a link' if entry.is_symlink() else 'no file'})"


@contextmanager
def _opened(root: Path, path: str) -> Iterator[int]:
    names = _names(path)
    descriptor = os.open(root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        for name in names:
            inner = _step(descriptor, name, path)
            os.close(descriptor)
            descriptor = inner
        yield descriptor
    finally:
        os.close(descriptor)


def _names(path: str) -> list[str]:
    """Return the names of a path. Raises `ToolRefused` if it may lead out of the workspace."""
    if "\0" in path:
        raise ToolRefused("a path has no NUL character")
    if path.startswith(("/", "~")) or "\\" in path:
        raise ToolRefused("paths begin in the workspace, with '/' between names: write 'notes/today.md'")
    names = [name for name in path.split("/") if name not in ("", ".")]
    if ".." in names:
        raise ToolRefused("'..' leads out of a folder; name the path from the workspace on")
    return names


def _step(parent: int, name: str, path: str) -> int:
    """Open a file or folder in `parent`. Its type is checked first: opening a pipe or device has effects."""
    try:
        mode = os.stat(name, dir_fd=parent, follow_symlinks=False).st_mode
        if stat.S_ISLNK(mode):
            raise ToolRefused(f"{path} leads through a link, and links are not followed")
        if not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)):
            raise ToolRefused(f"{path} is neither a file nor a folder")
        # It may have been replaced since the check: do not follow a link, do not wait for a pipe.
        inner = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=parent)
    except (FileNotFoundError, NotADirectoryError):
        raise ToolRefused(f"there is no {path} in the workspace; list_files shows what there is") from None
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else "not a name"
        raise ToolRefused(f"{path} cannot be opened: {reason.lower()}") from None
    if stat.S_IFMT(os.fstat(inner).st_mode) != stat.S_IFMT(mode):
        os.close(inner)
        raise ToolRefused(f"{path} was replaced while it was opened; try again")
    return inner
