"""One transaction on its way through the database, and the sessions it has to itself.

It goes as far as it can without an answer: a write that has no rows is put down, and done on the way to the
next statement that has some. So a step is a few queries, of which the last one is waited for.

A statement names a session by `:session_id`, by the `:id` of a query on sessions, or by its account, user and
key.
"""

from collections.abc import Sequence
from contextlib import suppress
from functools import cache
from typing import Any, NamedTuple, TypeAlias

from segue.store.batching.shapes import shape_of
from segue.store.database import Begin, Params, Rows, Statement, Transaction, Value
from segue.store.queries import Query

Key: TypeAlias = tuple[Value, ...]

KEYS_REMEMBERED = 10_000


@cache
def _names_a_session_by(query: Query) -> str:
    return "id" if query.name.startswith("sessions.") else "session_id"


class SessionKeys:
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


class Executions(NamedTuple):
    """A query, and the parameters of each time that it is to be run."""

    query: Query
    params: Sequence[Params]


class BatchedTransaction:
    """A transaction and where it has come to."""

    step: list[Executions]
    """What it has come to, in order; only the last may have rows. Nothing, when it has ended."""
    key: Key | None
    """By which the last one names a session whose id it does not say."""
    withdrawn = False
    """Whoever waited for it was told that it failed: it must not come to pass."""
    committing = False
    """It was told to commit, and may have done so: only the database knows."""
    _ids: tuple[str, ...]

    def __init__(self, begin: Begin[Any], keys: SessionKeys) -> None:
        self._begin = begin
        self._keys = keys
        self._body: Transaction[Any] | None = None
        self.rewind()

    def rewind(self) -> None:
        """Go back to the start, as if nothing had been done."""
        if self._body is not None:
            self._body.close()
            self._body = None
        self.wrote = self.committing = False
        self.error: Exception | None = None
        self.result: Any = None
        self._over = False
        self._go_on(())

    def answer(self, rows: Rows) -> None:
        """Hand over the rows of the current step, and come to the next."""
        # All but the last of a step are writes.
        self.wrote = self.wrote or len(self.step) > 1 or shape_of(self.step[0].query).wrote(rows)
        self._go_on(rows)

    def _go_on(self, rows: Rows) -> None:
        self.step, self.key, self._ids = [], None, ()
        try:
            while not self._over:
                query, params = self._next_statement(rows)
                if params != []:
                    self._come_to(query, params)
                    if not shape_of(query).silent:
                        return
                rows = ()
        except StopIteration as stop:
            self.result, self._over = stop.value, True
        except Exception as error:
            # What it has only put down, it has not done.
            self.error, self._over, self.step = error, True, []

    def _next_statement(self, rows: Rows) -> Statement:
        if self._body is None:
            self._body = self._begin()
            return next(self._body)
        return self._body.send(rows)

    def _come_to(self, query: Query, params: Params | list[Params]) -> None:
        named_by = _names_a_session_by(query)
        if isinstance(params, list):
            self.step.append(Executions(query, params))
            self._ids += tuple({each for values in params if isinstance(each := values.get(named_by), str)})
            return
        self.step.append(Executions(query, (params,)))
        named = params.get(named_by)
        if isinstance(named, str):
            self._ids += (named,)
        elif named is None and named_by == "id" and "key" in params:
            self.key = params.get("account"), params.get("user_id"), params["key"]

    @property
    def finished(self) -> bool:
        return not self.step

    @property
    def sessions(self) -> tuple[str, ...]:
        """The sessions that its step names."""
        return self._ids if self.key is None else (*self._ids, self._keys.name(self.key))

    @property
    def must_be_undone(self) -> bool:
        return self.error is not None and self.wrote
