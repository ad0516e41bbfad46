"""One transaction on its way through the database, and the sessions it has to itself.

A statement names a session by `:session_id`, by the `:id` of a query on sessions, or by its account, user and
key.
"""

from asyncio import Future
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from time import monotonic
from typing import Any, TypeAlias

from segue.store.database import Begin, Params, Rows, Statement, Transaction, Value
from segue.store.sql import Query

Key: TypeAlias = tuple[Value, ...]

KEYS_REMEMBERED = 10_000


@dataclass(frozen=True, slots=True)
class Step:
    """A statement that a caller has come to."""

    query: Query
    executions: Sequence[Params]
    ids: frozenset[str]
    """The sessions it names by id."""
    key: Key | None
    """The session it names by key."""

    @property
    def row(self) -> tuple[str, ...]:
        """Its place in the order in which rows are asked for."""
        params = self.executions[0]
        return tuple(str(params.get(name, "")) for name in ("session_id", "id", "key"))


def _step(statement: Statement) -> Step:
    query, params = statement
    executions = params if isinstance(params, list) else (params,)
    of_sessions = query.name.startswith("sessions.")
    named = {values.get("id" if of_sessions else "session_id") for values in executions}
    ids = frozenset(each for each in named if isinstance(each, str))
    key = _key(executions) if of_sessions and not ids else None
    return Step(query, executions, ids, key)


def _key(executions: Sequence[Params]) -> Key | None:
    if len(executions) != 1 or "key" not in executions[0]:
        return None
    return tuple(executions[0].get(name) for name in ("account", "user_id", "key"))


class Keys:
    """The id behind each session key, as far as it was seen."""

    def __init__(self) -> None:
        self._ids: dict[Key, str] = {}

    def resolve(self, key: Key) -> str | None:
        return self._ids.get(key)

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
    """A transaction, where it has come to, and the future of whoever waits for it."""

    step: Step | None

    def __init__(self, begin: Begin[Any], outcome: Future[Any], keys: Keys) -> None:
        self._begin = begin
        self._keys = keys
        self._body: Transaction[Any] | None = None
        self.outcome = outcome
        self.since = monotonic()
        self.losses = 0
        """How often the connection was lost under it."""
        self.passes = 0
        """How often it was passed over because another process had its session."""
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
        """Hand over the rows of the current step, and come to the next."""
        self.wrote = self.wrote or wrote
        self._go_on(rows)

    def _go_on(self, rows: Rows) -> None:
        try:
            self.step = _step(self._next_statement(rows))
            while not self.step.executions:
                self.step = _step(self._next_statement(()))
        except StopIteration as stop:
            self.step, self.result = None, stop.value
        except Exception as error:
            self.step, self.error = None, error

    def _next_statement(self, rows: Rows) -> Statement:
        if self._body is None:
            self._body = self._begin()
            return next(self._body)
        return self._body.send(rows)

    @property
    def finished(self) -> bool:
        return self.step is None

    @property
    def sessions(self) -> frozenset[str]:
        """The sessions that the current step names; one whose id was never seen goes by its key."""
        if self.step is None or self.step.key is None:
            return self.step.ids if self.step else frozenset()
        return frozenset((self._keys.resolve(self.step.key) or "\n".join(map(str, self.step.key)),))

    @property
    def must_be_undone(self) -> bool:
        return self.error is not None and self.wrote

    def settle(self) -> None:
        if self.error is not None:
            self.fail(self.error)
        elif not self.outcome.done():
            self.outcome.set_result(self.result)

    def fail(self, error: Exception) -> None:
        # A caller that was cancelled wants no answer.
        if not self.outcome.done():
            self.outcome.set_exception(error)
