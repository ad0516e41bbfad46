"""One query for many callers in one round trip.

Most are run as one statement (see `sets`). The others are pipelined by asyncpg, which hands all their rows
back in one list, so each row must say whose it is: the query is rewritten to return the number of its
execution in a column of its own.

Invariants
  - every execution is as good as a statement of its own: it sees what the one before it wrote
  - a query that cannot be rewritten safely runs once for each caller, one after the other
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

from segue.store.database import Params, Rows, Value
from segue.store.lockstep.sets import EXECUTION, fetch_as_set, fits
from segue.store.lockstep.words import words
from segue.store.sql import Query

if TYPE_CHECKING:
    from asyncpg import Record

    from segue.store.server import Connection

_WRITES = {"INSERT", "UPDATE", "DELETE", "MERGE"}
_READS = {"SELECT", "VALUES"}
# FOR UPDATE, FOR NO KEY UPDATE and ON CONFLICT DO UPDATE name a lock or a clause, not a statement.
_BEFORE_A_CLAUSE = {"FOR", "KEY", "DO"}


@dataclass(frozen=True, slots=True)
class Shape:
    """What a query's text says about how it may be run."""

    reads_only: bool
    numbered: str | None
    """The text whose rows carry the number of their execution; None when it has no rows, or cannot."""
    pipelined: bool
    """Many executions may go out in one round trip."""

    def wrote(self, rows: Rows) -> bool:
        """Whether an execution changed anything. A guarded write that returns no row did not."""
        return not self.reads_only and (self.numbered is None or bool(rows))


@cache
def shape_of(query: Query) -> Shape:
    outside, inside = _words(query.postgres)
    verb = next((word for word in outside if word in _WRITES | _READS), None)
    nested_write = bool(_WRITES & set(inside))
    number = f"CAST(${len(query.parameters) + 1} AS INTEGER) AS {EXECUTION}"
    if nested_write or verb is None:
        return Shape(reads_only=False, numbered=None, pipelined=False)
    if verb in _READS:
        text = f"SELECT q.*, {number} FROM (\n{query.postgres}\n) AS q"
        return Shape(reads_only=True, numbered=text, pipelined=True)
    if "RETURNING" in outside:
        text = f"{query.postgres}\n, {number}"
        return Shape(reads_only=False, numbered=text, pipelined=True)
    return Shape(reads_only=False, numbered=None, pipelined=True)


def _words(text: str) -> tuple[list[str], list[str]]:
    """The words outside all parentheses, and those inside; what only looks like a statement is left out."""
    outside: list[str] = []
    inside: list[str] = []
    before = ""
    for word in words(text):
        if not (word.text in _WRITES and before in _BEFORE_A_CLAUSE):
            (inside if word.depth else outside).append(word.text)
        before = word.text
    return outside, inside


async def fetch_each(connection: "Connection", query: Query, executions: Sequence[Params]) -> list[Rows]:
    """Run the query once for each set of parameters; the rows of each, in the order they were given."""
    shape = shape_of(query)
    arguments = [positional(query, params) for params in executions]
    if len(arguments) == 1 or not shape.pipelined:
        return [await connection.fetch(query.postgres, *values) for values in arguments]
    if fits(query, executions):
        return await fetch_as_set(connection, query, arguments)
    if shape.numbered is None:
        await connection.executemany(query.postgres, arguments)
        return [() for _ in arguments]
    numbered = [(*values, number) for number, values in enumerate(arguments)]
    answers: list[list[Record]] = [[] for _ in arguments]
    for row in await connection.fetchmany(shape.numbered, numbered):
        answers[row[EXECUTION]].append(row)
    return list(answers)


def positional(query: Query, params: Params) -> tuple[Value, ...]:
    return tuple(params[name] for name in query.parameters)
