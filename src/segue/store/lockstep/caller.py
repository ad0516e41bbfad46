"""One transaction on its way through the database, and the sessions it has to itself.

A statement names a session by `:session_id`, by the `:id` of a query on sessions, or by its account, user and
key.
"""

from collections.abc import Sequence
from contextlib import suppress
from functools import cache
from typing import Any, TypeAlias

from segue.store.database import Begin, Params, Rows, Statement, Transaction, Value
from segue.store.sql import Query

Key: TypeAlias = tuple[Value, ...]

KEYS_REMEMBERED = 10_000


@cache
def _names_a_session_by(query: Query) -> str:
    return "id" if query.name.startswith("sessions.") else "session_id"


class Keys:
    """The id behind each session key, as far as it was seen."""

    def __init__(self) -> None:
        self._ids: dict[Key, str] = {}

    def name(self, key: Key) -> str:
        """What the session goes by: one whose id was never seen, by its key."""
        return self._ids.get(key) or "\n".join(map(str, key))

    def learn(self, key: Key, rows: Rows) -> bool:
        """Take note of the id that was found; False if another one was known."""
        found: str | None = None
        with suppress(LookupError):
            found = rows[0]["id"]
        known = self._ids.pop(key, found)
        if found is not None:
            self._ids[key] = found
            if len(self._ids) > KEYS_REMEMBERED:
                del self._ids[next(iter(self._ids))]
        return known == found


class Caller:
    """A transaction and where it has come to."""

    query: Query | None
    """What it has come to; None when it has ended."""
    executions: Sequence[Params]
    key: Key | None
    """By which the query names a session whose id it does not say."""

    def __init__(self, begin: Begin[Any], keys: Keys) -> None:
        self._begin = begin
        self._keys = keys
        self._body: Transaction[Any] | None = None
        self.rewind()

    def rewind(self) -> None:
        """Go back to the start, as if nothing had been done."""
        if self._body is not None:
            self._body.close()
            self._body = None
        self.wrote = False
        self.error: Exception | None = None
        self.result: Any = None
        self._go_on(())

    def answer(self, rows: Rows, *, wrote: bool) -> None:
        """Hand over the rows of the current query, and come to the next."""
        self.wrote = self.wrote or wrote
        self._go_on(rows)

    def _go_on(self, rows: Rows) -> None:
        try:
            self._come_to(self._next_statement(rows))
            while not self.executions:
                self._come_to(self._next_statement(()))
        except StopIteration as stop:
            self.result = stop.value
            self._end()
        except Exception as error:
            self.error = error
            self._end()

    def _next_statement(self, rows: Rows) -> Statement:
        if self._body is None:
            self._body = self._begin()
            return next(self._body)
        return self._body.send(rows)

    def _come_to(self, statement: Statement) -> None:
        self.query, params = statement
        self.key = None
        named_by = _names_a_session_by(self.query)
        if isinstance(params, list):
            self.executions = params
            self._ids = tuple({each for values in params if isinstance(each := values.get(named_by), str)})
            return
        self.executions = (params,)
        named = params.get(named_by)
        self._ids = (named,) if isinstance(named, str) else ()
        if named is None and named_by == "id" and "key" in params:
            self.key = params.get("account"), params.get("user_id"), params["key"]

    def _end(self) -> None:
        self.query, self.executions, self.key, self._ids = None, (), None, ()

    @property
    def finished(self) -> bool:
        return self.query is None

    @property
    def sessions(self) -> tuple[str, ...]:
        """The sessions that its query names."""
        return self._ids if self.key is None else (self._keys.name(self.key),)

    @property
    def must_be_undone(self) -> bool:
        return self.error is not None and self.wrote
