"""How a SQLite connection drives a transaction: synchronously, statement by statement."""

import re
import sqlite3
from collections.abc import Callable
from enum import Enum
from functools import cache
from operator import itemgetter
from typing import Any, TypeAlias

from segue.errors import StoreError
from segue.store.database import Begin, Params, Rows, Statement, T, Transaction
from segue.store.sql import Query
from segue.store.sqlite_file import blames_the_statement

_PARAMETER = re.compile(r"(?<![:\w]):([a-z_]\w*)")

_WRITES = re.compile(r"INSERT|UPDATE|DELETE")

_RETURNS_ITS_ID = re.compile(r"\s+RETURNING id$")

Pick: TypeAlias = Callable[[Params], tuple[Any, ...]]


class Gives(Enum):
    ROWS = "rows"
    ITS_ID = "the id it was given, if there was such a row"
    NOTHING = "nothing"


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
    try:
        if not isinstance(params, list):
            return _execute(connection, query, params)
        text, pick, gives = positional(query)
        if gives is Gives.NOTHING:
            connection.executemany(text, map(pick, params))
            return ()
        return [row for each in params for row in _execute(connection, query, each)]
    except sqlite3.Error as error:
        if blames_the_statement(error):
            raise StoreError(f"SQLite refused {query.name}: {error}") from error
        raise


def _execute(connection: sqlite3.Connection, query: Query, params: Params) -> Rows:
    text, pick, gives = positional(query)
    done = connection.execute(text, pick(params))
    if gives is Gives.ROWS:
        return done.fetchall()
    if gives is Gives.ITS_ID and done.rowcount:
        return ({"id": params["id"]},)
    return ()


def just_read(query: Query, params: Params) -> Begin[Rows]:
    def transaction() -> Transaction[Rows]:
        return (yield query, params)

    return transaction


@cache
def positional(query: Query) -> tuple[str, Pick, Gives]:
    """The query with numbered parameters, how to pick them from named ones, and what it gives.

    The sqlite3 module lets go of the interpreter to ask for each parameter's name. Beside a busy loop that is
    a chance to lose it, ten times a statement. And SQLite collects what a write returns in a table of its
    own: where that is only the id we named, a count tells for half the price whether there was such a row.
    """
    names: list[str] = []

    def number(match: re.Match[str]) -> str:
        name = match.group(1)
        if name not in names:
            names.append(name)
        return f"?{names.index(name) + 1}"

    text = _PARAMETER.sub(number, query.sqlite)
    gives = Gives.ROWS if _WRITES.match(text) is None or "RETURNING" in text else Gives.NOTHING
    if "id" in names and _RETURNS_ITS_ID.search(text):
        text, gives = _RETURNS_ITS_ID.sub("", text), Gives.ITS_ID
    return text, _picker(names), gives


def _picker(names: list[str]) -> Pick:
    match names:
        case []:
            return lambda params: ()
        case [name]:
            return lambda params: (params[name],)
    return itemgetter(*names)
