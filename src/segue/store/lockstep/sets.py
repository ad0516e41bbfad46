"""One query for many callers as one statement: their parameters as a table that the query is joined to.

An execution costs PostgreSQL more to begin and to end than to find its row. So where the executions of a
query cannot touch each other's rows, it is rewritten to take the parameters of all of them as arrays:

    UPDATE words SET n = $2 WHERE id = $1 RETURNING id

    UPDATE words SET n = given.p2
    FROM unnest(CAST($1 AS text[]), CAST($2 AS bigint[]), CAST($3 AS integer[])) AS given (p1, p2, execution)
    WHERE id = given.p1 RETURNING id, given.execution

Invariants
  - a write is rewritten only if every execution names a row of its own: none would see what another wrote
  - each row says whose it is: by the number of its execution, or by the id that the execution named
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from itertools import count
from typing import TYPE_CHECKING, Any

from segue.store.database import Params, Rows, Value
from segue.store.lockstep.words import Word, words
from segue.store.sql import Query

if TYPE_CHECKING:
    from segue.store.server import Connection

EXECUTION = "segue_execution"

_PARAMETER = re.compile(r"\$(\d+)")
_GIVEN = "/* given */"
"""Where the table of parameters goes, whose types are not known before a server is asked."""

_ROW_NAMES = ("id", "session_id")
"""By which a write names its row: the first of these that it has."""

_numbers = count()
_texts: dict[Query, str] = {}


@dataclass(frozen=True, slots=True)
class Joined:
    """A query whose parameters are columns of a table, which is still to be named."""

    text: str
    names_its_row_by: str | None
    """A write must be given another one by each execution; None where they cannot meet."""
    returns: str | None
    """The column by which its rows are told apart; None when it has no rows."""


@cache
def joined(query: Query) -> Joined | None:
    """None when the query is of another shape than those below."""
    text = _PARAMETER.sub(r"given.p\1", query.postgres)
    outside = {word.text: word for word in words(text) if word.depth == 0}
    match text.split(None, 1)[0]:
        case "UPDATE":
            return _update(text, outside, query)
        case "INSERT":
            return _insert(text, outside, query)
        case "SELECT" if "id" in query.parameters:
            lateral = f"SELECT q.*, given.{EXECUTION} FROM {_GIVEN} CROSS JOIN LATERAL (\n{text}\n) AS q"
            return Joined(lateral, None, EXECUTION)
    return None


def _update(text: str, outside: dict[str, Word], query: Query) -> Joined | None:
    row = next((name for name in _ROW_NAMES if name in query.parameters), None)
    if row is None or "FROM" in outside or "WHERE" not in outside:
        return None
    where = outside["WHERE"].at
    text = f"{text[:where]}FROM {_GIVEN}\n{text[where:]}"
    if "RETURNING" not in outside:
        return Joined(text, row, None)
    return Joined(f"{text}, given.{EXECUTION}", row, EXECUTION)


def _insert(text: str, outside: dict[str, Word], query: Query) -> Joined | None:
    """What was added is told by its id or not at all: an INSERT returns nothing of what it was made from."""
    returned = text[outside["RETURNING"].at :].split() if "RETURNING" in outside else None
    if "VALUES" not in outside or "UPDATE" in outside:
        return None
    if returned is not None and (returned != ["RETURNING", "id"] or "id" not in query.parameters):
        return None
    begin = text.index("(", outside["VALUES"].at)
    end = next(word.at for word in words(text[begin:]) if word.text == ")" and word.depth == 0) + begin
    chosen = f"SELECT {text[begin + 1 : end]}\nFROM {_GIVEN}"
    text = f"{text[: outside['VALUES'].at]}{chosen}{text[end + 1 :]}"
    return Joined(text, None, None if returned is None else "id")


def fits(query: Query, executions: Sequence[Params]) -> bool:
    """They may be run as one statement, and nobody could tell."""
    shape = joined(query)
    if shape is None:
        return False
    row = shape.names_its_row_by
    return row is None or len({params[row] for params in executions}) == len(executions)


async def fetch_as_set(
    connection: "Connection", query: Query, arguments: Sequence[tuple[Value, ...]]
) -> list[Rows]:
    """The rows of each execution, in the order in which they were given. Inside a transaction only."""
    shape = joined(query)
    assert shape is not None  # by `fits`
    text = await text_of(connection, query, shape)
    columns: list[Any] = [list(values) for values in zip(*arguments, strict=True)]
    found = await connection.fetch(text, *columns, list(range(len(arguments))))
    answers: list[list[Any]] = [[] for _ in arguments]
    if shape.returns == EXECUTION:
        for row in found:
            answers[row[EXECUTION]].append(row)
    elif shape.returns is not None:
        place = query.parameters.index(shape.returns)
        whose = {values[place]: number for number, values in enumerate(arguments)}
        for row in found:
            answers[whose[row[shape.returns]]].append(row)
    return list(answers)


async def text_of(connection: "Connection", query: Query, shape: Joined) -> str:
    """With the types that the server gives its parameters, which it is asked for once."""
    if query in _texts:
        return _texts[query]
    name = f"segue_asks_{next(_numbers)}"
    # By words of SQL and not by the protocol: behind a pooler the next transaction has another connection.
    await connection.execute(f"PREPARE {name} AS {query.postgres}")
    types = await connection.fetchval(
        f"SELECT CAST(parameter_types AS TEXT[]) FROM pg_prepared_statements WHERE name = '{name}'"
    )
    await connection.execute(f"DEALLOCATE {name}")
    arrays = [f"CAST(${place} AS {each}[])" for place, each in enumerate([*types, "integer"], 1)]
    names = [*(f"p{place}" for place in range(1, len(types) + 1)), EXECUTION]
    given = f"unnest({', '.join(arrays)}) AS given ({', '.join(names)})"
    return _texts.setdefault(query, shape.text.replace(_GIVEN, given))
