"""How a SQLite connection drives a transaction: synchronously, statement by statement."""

import re
import sqlite3
from collections.abc import Callable
from functools import cache
from operator import itemgetter
from typing import Any, TypeAlias

from segue.errors import StoreError
from segue.store.database import Begin, Params, Rows, Statement, T, Transaction
from segue.store.sql import Query
from segue.store.sqlite_file import blames_the_statement

_PARAMETER = re.compile(r"(?<![:\w]):([a-z_]\w*)")

_WRITES = re.compile(r"INSERT|UPDATE|DELETE")

Pick: TypeAlias = Callable[[Params], tuple[Any, ...]]


def drive(connection: sqlite3.Connection, begin: Begin[T]) -> T:
    """Run every statement; what the transaction returns or raises is up to it, and so is the rollback."""
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
    text, pick, returns = positional(query)
    try:
        if not isinstance(params, list):
            done = connection.execute(text, pick(params))
            return done.fetchall() if returns else ()
        if returns:
            return [row for each in params for row in connection.execute(text, pick(each)).fetchall()]
        connection.executemany(text, map(pick, params))
        return ()
    except sqlite3.Error as error:
        if blames_the_statement(error):
            raise StoreError(f"SQLite refused {query.name}: {error}") from error
        raise


def just_read(query: Query, params: Params) -> Begin[Rows]:
    def transaction() -> Transaction[Rows]:
        return (yield query, params)

    return transaction


@cache
def positional(query: Query) -> tuple[str, Pick, bool]:
    """The query with numbered parameters, how to pick them from named ones, and whether it gives rows.

    The sqlite3 module lets go of the interpreter to ask for each parameter's name. Beside a busy loop that is
    a chance to lose it, ten times a statement.
    """
    names: list[str] = []

    def number(match: re.Match[str]) -> str:
        name = match.group(1)
        if name not in names:
            names.append(name)
        return f"?{names.index(name) + 1}"

    text = _PARAMETER.sub(number, query.sqlite)
    return text, _picker(names), _WRITES.match(text) is None or "RETURNING" in text


def _picker(names: list[str]) -> Pick:
    match names:
        case []:
            return lambda params: ()
        case [name]:
            return lambda params: (params[name],)
    return itemgetter(*names)
