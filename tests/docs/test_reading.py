"""Reading path: `docs/design/reading.md` names modules that exist, and their size is what it says."""

import ast
import io
import re
import tokenize

from tests.docs.pages import ROOT

PAGE = ROOT / "docs" / "design" / "reading.md"
SOURCE = ROOT / "src" / "segue"

MODULE = re.compile(r"`([a-z_/]+)`")
SIZE = re.compile(r"about ([\d,]+) lines of Python")
TOLERANCE = 50

NOT_CODE = {
    tokenize.COMMENT,
    tokenize.NL,
    tokenize.NEWLINE,
    tokenize.INDENT,
    tokenize.DEDENT,
    tokenize.ENDMARKER,
}


def test_the_reading_path_is_as_long_as_the_page_says() -> None:
    text = PAGE.read_text("utf-8")
    order, _, _ = text.partition("\n## ")
    columns = [line.split("|")[2] for line in order.splitlines() if line.startswith("|")]
    modules = [module for column in columns for module in MODULE.findall(column)]
    assert len(modules) == len(set(modules)) > 15
    size = SIZE.search(order)
    assert size is not None
    lines = sum(lines_of_code((SOURCE / f"{module}.py").read_text("utf-8")) for module in modules)
    assert abs(lines - int(size[1].replace(",", ""))) <= TOLERANCE


def lines_of_code(text: str) -> int:
    """Without comments, blank lines and docstrings."""
    docstrings = {
        line
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
        for line in range(node.lineno, (node.end_lineno or node.lineno) + 1)
    }
    tokens = tokenize.generate_tokens(io.StringIO(text).readline)
    code = {
        line
        for token in tokens
        if token.type not in NOT_CODE
        for line in range(token.start[0], token.end[0] + 1)
    }
    return len(code - docstrings)
