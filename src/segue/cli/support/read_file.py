"""Reads a file that a command was given; `-` is standard input."""

import sys
from pathlib import Path

from segue.errors import BadText


def read_file(file: Path, what: str) -> str:
    """The text of a file. `what` begins the error: `the job store`. Raises BadText."""
    try:
        return sys.stdin.read() if str(file) == "-" else file.read_text("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise unreadable(file, what, error) from None


def unreadable(file: Path, what: str, error: OSError | UnicodeDecodeError) -> BadText:
    why = (error.strerror or str(error)).lower() if isinstance(error, OSError) else "it is not UTF-8 text"
    return BadText(f"{what} {file} cannot be read: {why}")
