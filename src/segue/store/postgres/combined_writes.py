"""Combined writes: writes without results become part of the next statement, to save round trips.

    WITH along_1 AS (UPDATE runs SET …), along_2 AS (INSERT INTO events …)
    UPDATE sessions SET … RETURNING …

Invariants
  - no part of a statement names a table that another part writes: it would not see what was written
"""

import re
from functools import cache

from segue.store.batching.shapes import shape_of
from segue.store.batching.words import words
from segue.store.queries import Query

_WRITTEN = re.compile(r"(?:UPDATE|INSERT INTO) (\w+)")
"""Not DELETE, which may cascade to other tables; and not SELECT, which may read through a view."""
_NUMBERED = re.compile(r"\$(\d+)")


@cache
def independent(queries: tuple[Query, ...]) -> bool:
    """Whether the queries may be parts of one statement with the same results."""
    written = [_WRITTEN.match(query.postgres) for query in queries]
    if not all(written) or not all(shape_of(query).pipelined for query in queries):
        return False
    named = [{word.text for word in words(query.postgres)} for query in queries]
    tables = [match.group(1).upper() for match in written if match]
    return all(sum(table in each for each in named) == 1 for table in tables)


@cache
def as_one(texts: tuple[str, ...], counts: tuple[int, ...]) -> str:
    """The combined statement. Its parameters are those of each text in turn; `counts` says how many."""
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
