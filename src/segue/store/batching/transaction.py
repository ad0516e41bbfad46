"""One transaction of a group: its current step, and the sessions that step names.

The generator is advanced until it needs an answer: a write that returns no rows is collected, and run
together with the next statement that returns some. So a step is a list of queries; only the last has rows.

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
    """Cache of session ids by session key."""

    def __init__(self) -> None:
        self._ids: dict[Key, str] = {}

    def name(self, key: Key) -> str:
        """The id of the session; its key if the id is not known."""
        return self._ids.get(key) or "\n".join(map(str, key))

    def learn(self, key: Key, rows: Rows) -> bool:
        """Remember the id in the rows. False if another id was remembered."""
        seen: str | None = None
        with suppress(LookupError):
            seen = rows[0]["id"]
        known = self._ids.pop(key, seen)
        if seen is not None:
            self._ids[key] = seen
            if len(self._ids) > KEYS_REMEMBERED:
                del self._ids[next(iter(self._ids))]
        return known == seen


class Executions(NamedTuple):
    """A query, and the parameters of each of its executions."""

    query: Query
    params: Sequence[Params]


class BatchedTransaction:
    """A transaction and its progress."""

    step: list[Executions]
    """The queries to run next, in order; only the last may have rows. Empty when it has finished."""
    key: Key | None
    """Set when the last query of the step names a session by key and not by id."""
    withdrawn = False
    """Its caller was already told that it failed; it must not be committed."""
    committing = False
    """COMMIT was sent: only the database knows whether it is committed."""
    _ids: tuple[str, ...]

    def __init__(self, begin: Begin[Any], keys: SessionKeys) -> None:
        self._begin = begin
        self._keys = keys
        self._body: Transaction[Any] | None = None
        self.rewind()

    def rewind(self) -> None:
        """Go back to the start, after a rollback."""
        if self._body is not None:
            self._body.close()
            self._body = None
        self.wrote = self.committing = False
        self.error: Exception | None = None
        self.result: Any = None
        self._ended = False
        self._advance(())

    def answer(self, rows: Rows) -> None:
        """Hand over the rows of the current step, and advance to the next."""
        # All but the last of a step are writes.
        self.wrote = self.wrote or len(self.step) > 1 or shape_of(self.step[0].query).wrote(rows)
        self._advance(rows)

    def _advance(self, rows: Rows) -> None:
        self.step, self.key, self._ids = [], None, ()
        try:
            while not self._ended:
                query, params = self._next_statement(rows)
                if params != []:
                    self._add_to_step(query, params)
                    if not shape_of(query).silent:
                        return
                rows = ()
        except StopIteration as stop:
            self.result, self._ended = stop.value, True
        except Exception as error:
            # The writes collected in this step have not run.
            self.error, self._ended, self.step = error, True, []

    def _next_statement(self, rows: Rows) -> Statement:
        if self._body is None:
            self._body = self._begin()
            return next(self._body)
        return self._body.send(rows)

    def _add_to_step(self, query: Query, params: Params | list[Params]) -> None:
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
