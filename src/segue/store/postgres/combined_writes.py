"""Several writes as one statement of PostgreSQL: those that nobody waits for go along with the next one.

    WITH along_1 AS (UPDATE runs SET …), along_2 AS (INSERT INTO events …)
    UPDATE sessions SET … RETURNING …

A round trip costs either side about as much as a row, however little is asked.

Invariants
  - the parts of one statement do not see what the others write, so none of them may name a table that
    another one writes
"""

import re
from functools import cache

from segue.store.batching.shapes import shape_of
from segue.store.batching.words import words
from segue.store.queries import Query

_WRITTEN = re.compile(r"(?:UPDATE|INSERT INTO) (\w+)")
"""Not what is deleted, because other rows may go with it; and a SELECT may look through a view."""
_NUMBERED = re.compile(r"\$(\d+)")


@cache
def independent(queries: tuple[Query, ...]) -> bool:
    """Whether they may be parts of one statement, and nobody could tell."""
    written = [_WRITTEN.match(query.postgres) for query in queries]
    if not all(written) or not all(shape_of(query).pipelined for query in queries):
        return False
    named = [{word.text for word in words(query.postgres)} for query in queries]
    tables = [match.group(1).upper() for match in written if match]
    return all(sum(table in each for each in named) == 1 for table in tables)


@cache
def as_one(texts: tuple[str, ...], counts: tuple[int, ...]) -> str:
    """The statement; it takes the parameters of each in turn, so many of each."""
    parts: list[str] = []
    before = 0
    for text, count in zip(texts, counts, strict=True):
        parts.append(_shifted(text, before))
        before += count
    *ahead, last = parts
    along = ", ".join(f"along_{number} AS (\n{part}\n)" for number, part in enumerate(ahead, 1))
    return f"WITH {along}\n{last}" if along else last


def _shifted(text: str, by: int) -> str:
    return _NUMBERED.sub(lambda match: f"${int(match.group(1)) + by}", text) if by else text
