"""One caller's transaction: its current statement, the sessions that it names, and the caller's future.

A statement names a session by `:session_id`, by the `:id` of a query on sessions, or by its account, user and
key.
"""

from asyncio import Future
from collections.abc import Sequence
from contextlib import suppress
from functools import cache
from time import monotonic
from typing import Any, TypeAlias

from segue.store.database import Begin, Params, Rows, Transaction, Value
from segue.store.queries import Query

Key: TypeAlias = tuple[Value, ...]

KEYS_REMEMBERED = 10_000


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


class CallerTransaction:
    """A transaction and its progress, with the future of its result."""

    query: Query | None
    """The query to run next; None when the transaction has ended."""
    executions: Sequence[Params]
    """The parameters of each execution of that query."""
    key: Key | None
    """Set when the query names a session by key and not by id."""
    withdrawn = False
    """Its caller was already told that it failed; it must not be committed."""
    committing = False
    """COMMIT was sent: only the database knows whether it is committed."""
    _ids: tuple[str, ...]

    def __init__(self, begin: Begin[Any], outcome: "Future[Any]", keys: SessionKeys) -> None:
        self.outcome = outcome
        self.since = monotonic()
        self._begin = begin
        self._keys = keys
        self._body: Transaction[Any] | None = None
        self.needs: set[str] = set()
        """The sessions that it has named so far, also before it was driven again."""
        self.rewind()

    def rewind(self) -> None:
        """Go back to the start, after a rollback."""
        if self._body is not None:
            self._body.close()
        self._body = self._begin()
        self.wrote = self.committing = False
        self.error: Exception | None = None
        self.result: Any = None
        self._advance(None)

    def answer(self, rows: Rows) -> None:
        """Hand over the rows of the current query, and advance to the next."""
        # A guarded write that returns no row has changed nothing.
        if self.query is not None and self.query.writes and (rows or not self.query.returns_rows):
            self.wrote = True
        self._advance(rows)

    def _advance(self, rows: Rows | None) -> None:
        self.query, self.executions, self.key, self._ids = None, (), None, ()
        assert self._body is not None  # made by `rewind`
        try:
            query, params = next(self._body) if rows is None else self._body.send(rows)
            while params == []:
                query, params = self._body.send(())
        except StopIteration as stop:
            self.result = stop.value
        except Exception as error:
            self.error = error
        else:
            self.query = query
            self.executions = params if isinstance(params, list) else (params,)
            self._find_sessions(query)

    def _find_sessions(self, query: Query) -> None:
        named_by = _names_a_session_by(query)
        self._ids = tuple({each for one in self.executions if isinstance(each := one.get(named_by), str)})
        first = self.executions[0]
        if not self._ids and named_by == "id" and "key" in first:
            self.key = first.get("account"), first.get("user_id"), first["key"]
        self.needs.update(self.sessions)

    @property
    def sessions(self) -> tuple[str, ...]:
        """The sessions that its query names."""
        return self._ids if self.key is None else (self._keys.name(self.key),)

    def settle(self) -> None:
        if self.error is not None:
            self.fail(self.error)
        elif not self.outcome.done():
            self.outcome.set_result(self.result)

    def give_up(self, error: Exception) -> None:
        """Report the error, and make sure that it is not committed later."""
        self.withdrawn = True
        self.fail(error)

    def fail(self, error: Exception) -> None:
        # A cancelled caller needs no answer.
        if not self.outcome.done():
            self.outcome.set_exception(error)
            # Marks the exception as retrieved: a caller cancelled right now does not, and asyncio would warn.
            self.outcome.exception()


@cache
def _names_a_session_by(query: Query) -> str:
    return "id" if query.name.startswith("sessions.") else "session_id"
