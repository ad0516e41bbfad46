"""Set-based rewriting: one query of many callers becomes one statement, joined to a table of parameters.

Starting and ending an execution costs more than finding its row: a round trip's work in PostgreSQL, a release
of the interpreter lock in SQLite. So if the executions of a query cannot touch each other's rows, it is
rewritten to take the parameters of all of them as a table:

    UPDATE words SET n = $2 WHERE id = $1 RETURNING id

    UPDATE words SET n = given.column2
    FROM (VALUES ('a', 1), ('b', 2)) AS given (column1, column2)
    WHERE id = given.column1 RETURNING id

The last column of the table is the number of the execution. In a large group, a parameter that is equal in
all executions is passed once instead of as a column.

Invariants
  - a write is rewritten only if every execution names a row of its own: none would see what another wrote
  - each result row identifies its execution: by its number, or by the row that the execution named
"""

import re
from collections.abc import Mapping, Sequence
from functools import cache

from segue.record import positional
from segue.store.batching.words import Word, words
from segue.store.database import Params, Row, Rows, Value
from segue.store.queries import PARAMETER, Query

EXECUTION = "segue_execution"
_ROW = "segue_row"

GIVEN = "/* given */"
"""Placeholder for the table of parameters, which is called `given`."""

ALIKE_FROM = 16
"""In groups this large, equal parameters are equal by design: a query then has few distinct forms."""

_COLUMN = re.compile(r"given\.column(\d+)")
_NUMBERED = re.compile(r"\$(\d+)")

_ROW_NAMES = ("id", "session_id")
"""The parameter by which a write selects its row: the first of these that it has."""

_MORE_THAN_ITS_ROWS = {"JOIN", "GROUP", "ORDER", "LIMIT", "DISTINCT", "UNION", "EXCEPT", "INTERSECT"}


@positional
class Joined:
    """A query whose parameters are columns of a table."""

    text: str
    row_parameter: str | None
    """Each execution of a write must give it another value; None where executions cannot meet."""
    row_column: str | None
    """The column of its result that identifies the execution; None when it returns no rows."""


@cache
def joined(query: Query, dialect: str) -> Joined | None:
    """The rewritten query; None when it has none of the shapes below."""
    text = _with_columns(query, dialect)
    outside = {word.text: word for word in words(text) if word.depth == 0}
    match text.split(None, 1)[0]:
        case "UPDATE":
            return _update(text, outside, query, dialect)
        case "INSERT":
            return _insert(text, outside, query)
        case "SELECT":
            return (_lateral if dialect == "postgres" else _select)(text, outside, query)
    return None


def _with_columns(query: Query, dialect: str) -> str:
    if dialect == "postgres":
        return _NUMBERED.sub(r"given.column\1", query.postgres)
    return PARAMETER.sub(
        lambda match: f"given.column{query.parameters.index(match.group(1)) + 1}", query.sqlite
    )


def _number(query: Query) -> str:
    return f"given.column{len(query.parameters) + 1} AS {EXECUTION}"


def _update(text: str, outside: dict[str, Word], query: Query, dialect: str) -> Joined | None:
    row = next((name for name in _ROW_NAMES if name in query.parameters), None)
    if row is None or "FROM" in outside or "WHERE" not in outside:
        return None
    where = outside["WHERE"].at
    if f"{row} = given.column{query.parameters.index(row) + 1}" not in text[where:]:
        return None
    text = f"{text[:where]}FROM {GIVEN}\n{text[where:]}"
    if "RETURNING" not in outside:
        return Joined(text, row, None)
    if dialect == "postgres":
        return Joined(f"{text}, {_number(query)}", row, EXECUTION)
    # In SQLite, RETURNING of an UPDATE sees the columns of the updated table only.
    return Joined(f"{text}, {row} AS {_ROW}", row, _ROW)


def _insert(text: str, outside: dict[str, Word], query: Query) -> Joined | None:
    """Only if it returns nothing, or the id it was given: RETURNING of an INSERT does not see `given`."""
    returned = text[outside["RETURNING"].at :].split()[1:] if "RETURNING" in outside else []
    if "VALUES" not in outside or "UPDATE" in outside:
        return None
    row = returned[0] if len(returned) == 1 else None
    if returned and (row not in _ROW_NAMES or row not in query.parameters):
        return None
    begin = text.index("(", outside["VALUES"].at)
    end = next(word.at for word in words(text[begin:]) if word.text == ")" and word.depth == 0) + begin
    # With a WHERE, so that SQLite does not parse ON CONFLICT as the ON of a join.
    chosen = f"SELECT {text[begin + 1 : end]}\nFROM {GIVEN} WHERE TRUE"
    text = f"{text[: outside['VALUES'].at]}{chosen}{text[end + 1 :]}"
    return Joined(text, row, row)


def _lateral(text: str, _: dict[str, Word], query: Query) -> Joined | None:
    if "id" not in query.parameters:
        return None
    return Joined(
        f"SELECT q.*, {_number(query)} FROM {GIVEN} CROSS JOIN LATERAL (\n{text}\n) AS q", None, EXECUTION
    )


def _select(text: str, outside: dict[str, Word], query: Query) -> Joined | None:
    """SQLite has no LATERAL: only queries that select plain columns of one table are rewritten."""
    if not {"FROM", "WHERE"} <= outside.keys() or not _MORE_THAN_ITS_ROWS.isdisjoint(outside):
        return None
    columns, rest = text[: outside["FROM"].at], text[outside["FROM"].at + len("FROM") :]
    # A star would include the parameters, and a subquery in FROM cannot see them.
    if not {"(", "*"}.isdisjoint(text[: outside["WHERE"].at]):
        return None
    return Joined(
        f"{columns.rstrip()}, {_number(query)}\nFROM {GIVEN} CROSS JOIN {rest.lstrip()}", None, EXECUTION
    )


def alike(arguments: Sequence[tuple[Value, ...]]) -> tuple[int, ...]:
    """The indexes of the parameters that are equal in all executions; empty for a small group."""
    if len(arguments) < ALIKE_FROM:
        return ()
    columns = enumerate(zip(*arguments, strict=True))
    return tuple(index for index, values in columns if values.count(values[0]) == len(values))


def with_given(shape: Joined, given: str, columns: Mapping[int, str]) -> str:
    """The text with its table of parameters; `columns` replaces each column, by its number."""
    text = _COLUMN.sub(lambda match: columns[int(match.group(1))], shape.text)
    return text.replace(GIVEN, given)


def fits(query: Query, executions: Sequence[Params], dialect: str) -> bool:
    """Whether the executions may be run as one statement with the same results."""
    shape = joined(query, dialect)
    if shape is None:
        return False
    row = shape.row_parameter
    return row is None or len({params[row] for params in executions}) == len(executions)


def rows_by_execution(
    shape: Joined, query: Query, arguments: Sequence[tuple[Value, ...]], rows: Rows
) -> Sequence[Rows]:
    """The rows of each execution, in the order in which the executions were given."""
    if shape.row_column is None:
        return [()] * len(arguments)
    answers: list[list[Row]] = [[] for _ in arguments]
    if shape.row_column == EXECUTION:
        for row in rows:
            answers[row[EXECUTION]].append(row)
        return answers
    assert shape.row_parameter is not None  # set whenever `row_column` is not EXECUTION
    index = query.parameters.index(shape.row_parameter)
    answer_of = {values[index]: answer for values, answer in zip(arguments, answers, strict=True)}
    for row in rows:
        answer_of[row[shape.row_column]].append(row)
    return answers
