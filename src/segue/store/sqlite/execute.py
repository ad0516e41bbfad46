"""Runs transactions on a SQLite connection: synchronously, one by one or as a group."""

import re
import sqlite3
from collections.abc import Sequence
from enum import Enum
from functools import cache
from itertools import chain, count
from typing import Any

from segue.errors import StoreError
from segue.store.batching.group import Group, GroupConflict, GroupFailed
from segue.store.batching.sets import Joined, alike, fits, joined, rows_by_execution, with_given
from segue.store.database import Begin, Params, Rows, Statement, T, Transaction
from segue.store.queries import PARAMETER, Query
from segue.store.sqlite.file import blames_the_statement

_WRITES = re.compile(r"INSERT|UPDATE|DELETE")

_RETURNS_ITS_ID = re.compile(r"\s+RETURNING id$")

_SIZES = (64, 32, 16, 8, 4, 2)
"""How many executions go into one statement. Few sizes, because SQLite caches compiled statements by text."""


class Result(Enum):
    ROWS = "rows"
    ITS_ID = "the id it was given, if there was such a row"
    NOTHING = "nothing"


def drive(connection: sqlite3.Connection, begin: Begin[T]) -> T:
    """Run a transaction's statements and return its result, without committing or rolling back."""
    transaction = begin()
    try:
        statement = next(transaction)
        while True:
            statement = transaction.send(execute(connection, statement))
    except StopIteration as end:
        result: T = end.value
        return result
    finally:
        transaction.close()


def drive_together(connection: sqlite3.Connection, group: Group[Any]) -> None:
    """Drive all callers of a group to their ends. Raises `GroupFailed` if one of them must be undone."""
    rounds = group.rounds()
    try:
        step = next(rounds)
        while True:
            answers: Sequence[Rows] = ()
            for query, executions in step:
                answers = _execute_each(connection, query, executions)
            step = rounds.send(answers)
    except StopIteration:
        pass
    if group.must_be_undone:
        raise GroupFailed(group.begun, GroupConflict(), "a caller that raised after it had written")


def execute(connection: sqlite3.Connection, statement: Statement) -> Rows:
    query, params = statement
    if isinstance(params, list):
        return [*chain.from_iterable(_execute_each(connection, query, params))]
    return _execute_each(connection, query, (params,))[0]


def _execute_each(
    connection: sqlite3.Connection, query: Query, executions: Sequence[Params]
) -> Sequence[Rows]:
    """The rows of each execution, in the order in which they were given."""
    try:
        if len(executions) == 1 or not fits(query, executions, "sqlite"):
            return [_execute(connection, query, params) for params in executions]
        arguments = [*map(query.pick, executions)]
        shared = alike(arguments)
        answers: list[Rows] = []
        for size in _SIZES:
            while len(executions) - len(answers) >= size:
                some = arguments[len(answers) : len(answers) + size]
                answers += _execute_as_set(connection, query, some, shared)
        if len(answers) < len(executions):
            answers.append(_execute(connection, query, executions[-1]))
        return answers
    except sqlite3.Error as error:
        if blames_the_statement(error):
            raise StoreError(f"SQLite refused {query.name}: {error}") from error
        raise


def _execute(connection: sqlite3.Connection, query: Query, params: Params) -> Rows:
    text, result_kind = positional(query)
    cursor = connection.execute(text, query.pick(params))
    if result_kind is Result.ROWS:
        return cursor.fetchall()
    if result_kind is Result.ITS_ID and cursor.rowcount:
        return ({"id": params["id"]},)
    return ()


def _execute_as_set(
    connection: sqlite3.Connection,
    query: Query,
    arguments: Sequence[tuple[Any, ...]],
    shared: tuple[int, ...],
) -> Sequence[Rows]:
    shape, text = _set_of(query, len(arguments), shared)
    columns = [column for index, column in enumerate(zip(*arguments, strict=True)) if index not in shared]
    once = [arguments[0][index] for index in shared]
    values = chain(once, chain.from_iterable(zip(*columns, strict=True)))
    rows = connection.execute(text, [*values]).fetchall()
    return rows_by_execution(shape, query, arguments, rows)


def just_read(query: Query, params: Params) -> Begin[Rows]:
    def transaction() -> Transaction[Rows]:
        return (yield query, params)

    return transaction


@cache
def positional(query: Query) -> tuple[str, Result]:
    """The query with numbered parameters, and what it returns.

    The sqlite3 module releases the interpreter lock to look up each parameter's name, and a busy loop may
    then take it, ten times a statement. And SQLite collects the rows of RETURNING in a temporary table: if
    that is only the id that was passed in, the row count says the same for half the cost.
    """
    text = PARAMETER.sub(lambda match: f"?{query.parameters.index(match.group(1)) + 1}", query.sqlite)
    result_kind = Result.ROWS if _WRITES.match(text) is None or "RETURNING" in text else Result.NOTHING
    if "id" in query.parameters and _RETURNS_ITS_ID.search(text):
        text, result_kind = _RETURNS_ITS_ID.sub("", text), Result.ITS_ID
    return text, result_kind


@cache
def _set_of(query: Query, size: int, shared: tuple[int, ...] = ()) -> tuple[Joined, str]:
    """The query for `size` executions at once; the parameters with the `shared` indexes are equal in all."""
    shape = joined(query, "sqlite")
    assert shape is not None  # by `fits`
    own = [index for index in range(len(query.parameters)) if index not in shared]
    columns = {index + 1: f"?{number}" for number, index in enumerate(shared, 1)}
    columns |= {index + 1: f"given.column{number}" for number, index in enumerate(own, 1)}
    columns[len(query.parameters) + 1] = f"given.column{len(own) + 1}"
    numbers = count(len(shared) + 1)
    rows = [[*(f"?{next(numbers)}" for _ in own), str(execution)] for execution in range(size)]
    given = ", ".join(f"({', '.join(row)})" for row in rows)
    return shape, with_given(shape, f"(VALUES {given}) AS given", columns)
