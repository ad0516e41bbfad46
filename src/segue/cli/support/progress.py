"""Progress of slow commands: one line on standard error that is written again, if that is a terminal."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeAlias

Tell: TypeAlias = Callable[[str], None]
"""Shows what is done now, in place of what was shown before."""

_AGAIN = "\r\x1b[2K"


@contextmanager
def progress(*, silent: bool = False) -> Iterator[Tell]:
    """Yields a function that shows a line. At the end the line is removed. `silent` is for `--json`."""
    if silent or not sys.stderr.isatty():
        yield lambda words: None
        return

    def tell(words: str) -> None:
        sys.stderr.write(f"{_AGAIN}{words}")
        sys.stderr.flush()

    try:
        yield tell
    finally:
        tell("")
