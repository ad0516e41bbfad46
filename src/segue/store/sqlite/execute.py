"""Runs transactions on a SQLite connection, statement by statement."""

import sqlite3

from segue.errors import StoreError
from segue.store.database import Begin, Params, Rows, Statement, T, Transaction
from segue.store.queries import Query
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
    text, pick = query.positional, query.pick_positional
    try:
        if not isinstance(params, list):
            return connection.execute(text, pick(params)).fetchall()
        if not query.returns_rows:
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
