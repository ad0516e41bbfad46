"""Documentation pages: finds the code blocks of a page and runs them.

Every `python` block runs, unless it begins with `# not run:` and the reason. The blocks of a page continue
each other, and `await` may stand at the top level, as in `python -m asyncio`. An `output` block is exactly
what the block before it prints.
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
    def location(self) -> str:
        return f"{self.page.relative_to(ROOT)}:{self.line}"


def pages() -> list[Path]:
    return [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]


def blocks(page: Path) -> Iterator[Block]:
    text = page.read_text("utf-8")
    for match in _FENCED.finditer(text):
        yield Block(page, text.count("\n", 0, match.start(2)) + 1, match[1], match[2])


def runnable(page: Path) -> list[Block]:
    """The blocks that run, each followed by its output where the page shows one."""
    examples = [block for block in blocks(page) if block.language in ("python", "output")]
    return [block for block in examples if not block.text.startswith(NOT_RUN)]


def run(block: Block, names: dict[str, Any], runner: asyncio.Runner) -> str:
    """Runs a block with the names of those before it, and returns what it prints."""
    lines_above = "\n" * (block.line - 1)
    code = compile(
        lines_above + block.text,
        block.location,
        "exec",
        flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT,
        dont_inherit=True,
    )
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        coroutine = eval(code, names)
        if inspect.iscoroutine(coroutine):
            runner.run(coroutine)
    return printed.getvalue()
