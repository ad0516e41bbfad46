"""Runs transactions on a SQLite connection, statement by statement."""

import sqlite3
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any, NamedTuple

from segue.errors import StoreError
from segue.store.database import Begin, Params, Rows, Statement, T, Transaction
from segue.store.queries import PARAMETER, Query, picker
from segue.store.sqlite.file import blames_the_statement


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


def execute(connection: sqlite3.Connection, statement: Statement) -> Rows:
    query, params = statement
    text, pick, returns_rows = positional(query)
    try:
        if not isinstance(params, list):
            return connection.execute(text, pick(params)).fetchall()
        if not returns_rows:
            connection.executemany(text, map(pick, params))
            return ()
        return [row for each in params for row in connection.execute(text, pick(each)).fetchall()]
    except sqlite3.Error as error:
        if blames_the_statement(error):
            raise StoreError(f"SQLite refused {query.name}: {error}") from error
        raise


def just_read(query: Query, params: Params) -> Begin[Rows]:
    def transaction() -> Transaction[Rows]:
        return (yield query, params)

    return transaction


class Positional(NamedTuple):
    text: str
    """The query with a `?` for each parameter."""
    pick: Callable[[Mapping[str, Any]], tuple[Any, ...]]
    """Returns the values in the order of the text: one for each `?`, so a parameter may be repeated."""
    returns_rows: bool


@cache
def positional(query: Query) -> Positional:
    """The form in which a query is sent.

    The sqlite3 module releases the interpreter lock to look up the name of each named parameter, and a busy
    loop may then take it, ten times a statement. `?1` is a name too: Python 3.12.0 to 3.12.3 warn when its
    value comes from a sequence.
    """
    text = PARAMETER.sub("?", query.sqlite)
    return Positional(text, picker(PARAMETER.findall(query.sqlite)), query.returns_rows)
