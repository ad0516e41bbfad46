"""SQL tokenizer: the words of a query with their depth in parentheses, without strings and comments."""

import re
from collections.abc import Iterator
from typing import NamedTuple

_TOKEN = re.compile(
    r"""'(?:[^']|'')*' | "[^"]*" | --[^\n]* | /\*.*?\*/ | [()] | [A-Za-z_]\w*""", re.DOTALL | re.VERBOSE
)


class Word(NamedTuple):
    text: str
    """In capitals; or a parenthesis, which has the depth of the text around it."""
    depth: int
    at: int


def words(text: str) -> Iterator[Word]:
    depth = 0
    for match in _TOKEN.finditer(text):
        token = match.group()
        if token.startswith(("'", '"', "--", "/*")):
            continue
        depth -= token == ")"
        yield Word(token.upper(), depth, match.start())
        depth += token == "("
