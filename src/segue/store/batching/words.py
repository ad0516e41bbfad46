"""The words of a query, with how deep in parentheses they stand; what only looks like a word is left out."""

import re
from collections.abc import Iterator
from typing import NamedTuple

_TOKEN = re.compile(
    r"""'(?:[^']|'')*' | "[^"]*" | --[^\n]* | /\*.*?\*/ | [()] | [A-Za-z_]\w*""", re.DOTALL | re.VERBOSE
)


class Word(NamedTuple):
    text: str
    """In capitals, or a parenthesis, which stands where it opens and closes."""
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
