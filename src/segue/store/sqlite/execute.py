"""Runs transactions on a SQLite connection, statement by statement."""

import sqlite3
from functools import cache

from segue.errors import StoreError
from segue.store.database import Begin, Params, Rows, Statement, T, Transaction
from segue.store.queries import PARAMETER, Query
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
    text, returns_rows = _positional(query)
    try:
        if not isinstance(params, list):
            return connection.execute(text, query.pick(params)).fetchall()
        if not returns_rows:
            connection.executemany(text, map(query.pick, params))
            return ()
        return [row for each in params for row in connection.execute(text, query.pick(each)).fetchall()]
    except sqlite3.Error as error:
        if blames_the_statement(error):
            raise StoreError(f"SQLite refused {query.name}: {error}") from error
        raise


def just_read(query: Query, params: Params) -> Begin[Rows]:
    def transaction() -> Transaction[Rows]:
        return (yield query, params)

    return transaction


@cache
def _positional(query: Query) -> tuple[str, bool]:
    """The query with numbered parameters, and whether it returns rows.

    The sqlite3 module releases the interpreter lock to look up each parameter's name, and a busy loop may
    then take it, ten times a statement.
    """
    text = PARAMETER.sub(lambda match: f"?{query.parameters.index(match.group(1)) + 1}", query.sqlite)
    return text, query.returns_rows
