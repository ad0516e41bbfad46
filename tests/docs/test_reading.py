"""The page that says what to read in an afternoon names modules that are there, and no more than it says."""

import ast
import io
import re
import tokenize

from tests.docs.pages import ROOT

PAGE = ROOT / "docs" / "design" / "reading.md"
SOURCE = ROOT / "src" / "segue"

MODULE = re.compile(r"`([a-z_/]+)`")
SAID = re.compile(r"about ([\d,]+) lines of Python")
ABOUT = 100

NOT_CODE = {
    tokenize.COMMENT,
    tokenize.NL,
    tokenize.NEWLINE,
    tokenize.INDENT,
    tokenize.DEDENT,
    tokenize.ENDMARKER,
}


def test_what_an_afternoon_reads_is_as_long_as_the_page_says() -> None:
    text = PAGE.read_text("utf-8")
    order, _, _ = text.partition("\n## ")
    columns = [line.split("|")[2] for line in order.splitlines() if line.startswith("|")]
    modules = [module for column in columns for module in MODULE.findall(column)]
    assert len(modules) == len(set(modules)) > 30
    said = SAID.search(order)
    assert said is not None
    lines = sum(lines_of_code((SOURCE / f"{module}.py").read_text("utf-8")) for module in modules)
    assert abs(lines - int(said[1].replace(",", ""))) <= ABOUT


def lines_of_code(text: str) -> int:
    """Without comments, blank lines, and texts that stand for themselves."""
    said = {
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
    return len(code - said)
