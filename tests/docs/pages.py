"""The pages of the documentation, and the code on them.

Every `python` block runs, unless it begins with `# not run:` and the reason. The blocks of a page continue
each other, and `await` may stand at the top level, as in `python -m asyncio`. An `output` block is what the
block before it prints, to the letter.
"""

import ast
import asyncio
import contextlib
import inspect
import io
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
NOT_RUN = "# not run:"

_FENCED = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True, slots=True)
class Block:
    page: Path
    line: int
    """Of its first line of code, so that a traceback points into the page."""
    language: str
    text: str

    @property
    def place(self) -> str:
        return f"{self.page.relative_to(ROOT)}:{self.line}"


def pages() -> list[Path]:
    return [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]


def blocks(page: Path) -> Iterator[Block]:
    text = page.read_text("utf-8")
    for found in _FENCED.finditer(text):
        yield Block(page, text.count("\n", 0, found.start(2)) + 1, found[1], found[2])


def runnable(page: Path) -> list[Block]:
    """The blocks that run, each followed by its output where the page shows one."""
    shown = [block for block in blocks(page) if block.language in ("python", "output")]
    return [block for block in shown if not block.text.startswith(NOT_RUN)]


def run(block: Block, names: dict[str, Any], runner: asyncio.Runner) -> str:
    """Run a block among the names of those before it; what it prints."""
    lines_above = "\n" * (block.line - 1)
    code = compile(
        lines_above + block.text, block.place, "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT, dont_inherit=True
    )
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        unfinished = eval(code, names)
        if inspect.iscoroutine(unfinished):
            runner.run(unfinished)
    return printed.getvalue()
