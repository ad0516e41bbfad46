"""Group of transactions: many callers share one database transaction.

Each round collects the next step of every caller, runs equal steps together, and hands each caller its rows.
One BEGIN, one COMMIT and a few statements serve the whole group.

Row locks do not separate callers inside one database transaction: two callers that lock the same session's
row would both get it, and each could act on what the other is about to change. So the group separates them.
A session belongs to the first caller that names it until that caller has finished, and a caller whose first
statement names no session runs while no other does. If a caller finds by key a session that another caller
holds by id, the group fails, and that caller is driven alone.

Invariants
  - the effect of a group equals that of its callers run one after the other in some order
  - assumed: a transaction whose first statement names a session touches no other session's rows
"""

from collections.abc import Generator, Iterable, Sequence
from itertools import islice
from time import monotonic
from typing import Generic, TypeAlias, TypeVar

from segue.store.batching.transaction import BatchedTransaction, Executions, SessionKeys
from segue.store.database import Rows
from segue.store.queries import Query

C = TypeVar("C", bound=BatchedTransaction)

Rounds: TypeAlias = Generator[Sequence[Executions], Sequence[Rows], None]
"""Yields the queries of a step, to be run in order; receives the rows of the last one, by execution."""


class GroupFailed(Exception):
    """The group cannot commit. One of the suspects is at fault."""

    def __init__(self, suspects: Sequence[BatchedTransaction], cause: Exception, where: str) -> None:
        super().__init__(f"{where}: {type(cause).__name__}")
        self.suspects = suspects
        self.cause = cause
        self.where = where


class CommitUnanswered(GroupFailed):
    """COMMIT was sent and not answered: the group may be committed."""


class GroupConflict(Exception):
    """The callers cannot share a group. Each of them can succeed alone."""

    sqlstate = "40001"
    """PostgreSQL's code for a serialization failure, which is the same conflict between transactions."""


class Group(Generic[C]):
    """Schedules the steps of its callers so that no caller sees another's unfinished work."""

    def __init__(self, callers: Iterable[C], keys: SessionKeys, *, beginning_seconds: float) -> None:
        """Callers may begin for so long; those that wait for a busy session longer stay `waiting`."""
        self.waiting = list(callers)
        self.begun: list[C] = []
        self.at_work: Sequence[C] = ()
        """The callers whose step is being run."""
        self._underway: list[C] = []
        self._keys = keys
        self._holders: dict[str, C] = {}
        self._sole: C | None = None
        self._begin_until = monotonic() + beginning_seconds

    def rounds(self) -> Rounds:
        """Drive all callers that begin to their end; callers that could not begin in time stay `waiting`."""
        while ready := self._next_round():
            for queries, callers in _at_equal_steps(ready):
                self.at_work = callers
                answers = yield [
                    Executions(query, [params for caller in callers for params in caller.step[index].params])
                    for index, query in enumerate(queries)
                ]
                self._hand_over(callers, answers)

    @property
    def must_be_undone(self) -> bool:
        return any(caller.must_be_undone for caller in self.begun)

    @property
    def wrote(self) -> bool:
        return any(caller.wrote and not caller.error for caller in self.begun)

    def agree_to_commit(self) -> None:
        """Call right before COMMIT. Raises `GroupFailed` if a caller has been withdrawn."""
        if withdrawn := [caller for caller in self.begun if caller.withdrawn]:
            raise GroupFailed(withdrawn, GroupConflict(), "withdrawn callers")
        for caller in self.begun:
            caller.committing = True

    def _hand_over(self, callers: Sequence[C], answers: Sequence[Rows]) -> None:
        """Give each caller its rows, which moves it to its next step."""
        rest = iter(answers)
        for caller in callers:
            executions = caller.step[-1].params
            if len(executions) == 1:
                rows = next(rest)
            else:
                rows = [row for each in islice(rest, len(executions)) for row in each]
            if caller.key is not None and caller is not self._sole:
                self._takes_what_it_found(caller, rows)
            caller.answer(rows)

    def _next_round(self) -> list[C]:
        """The callers whose step may run now; empty when the group is ready to end."""
        underway = [caller for caller in self._underway if not caller.finished]
        if len(underway) < len(self._underway):
            if failed := [caller for caller in self._underway if caller.must_be_undone]:
                if len(self.begun) > 1:
                    raise GroupFailed(failed, GroupConflict(), "a caller that raised after it had written")
                return []
            self._release_sessions()
            self._underway = underway
        ready = [caller for caller in underway if caller is self._sole or self._takes_its_sessions(caller)]
        if underway and not ready:
            # A deadlock: each waits for a session that another one holds.
            raise GroupFailed(underway, GroupConflict(), "sessions that callers hold from each other")
        if self.waiting and (not self.begun or monotonic() < self._begin_until):
            ready += self._admit()
        return ready

    def _release_sessions(self) -> None:
        self._holders = {session: caller for session, caller in self._holders.items() if not caller.finished}
        if self._sole is not None and self._sole.finished:
            self._sole = None

    def _admit(self) -> list[C]:
        admitted: list[C] = []
        still_waiting: list[C] = []
        for caller in self.waiting:
            (admitted if self._may_begin(caller) else still_waiting).append(caller)
        self.waiting = still_waiting
        self.begun += admitted
        # Every process locks rows in this order, in every round.
        admitted.sort(key=lambda caller: caller.sessions)
        self._underway += admitted
        return admitted

    def _may_begin(self, caller: C) -> bool:
        if self._sole is not None:
            return False
        if caller.sessions:
            return self._takes_its_sessions(caller)
        if self._holders:
            return False
        self._sole = caller
        return True

    def _takes_its_sessions(self, caller: C) -> bool:
        sessions = caller.sessions
        for session in sessions:
            if self._holders.get(session, caller) is not caller:
                return False
        for session in sessions:
            self._holders[session] = caller
        return True

    def _takes_what_it_found(self, caller: C, rows: Rows) -> None:
        """Hold the session found by key. It may differ from the remembered one, or be held by another."""
        assert caller.key is not None  # the only caller of this method checks it
        as_remembered = self._keys.learn(caller.key, rows)
        found = {row["id"]: caller for row in rows}
        if not as_remembered or any(self._holders.get(each, caller) is not caller for each in found):
            raise GroupFailed([caller], GroupConflict(), "a session that was not the caller's to read")
        self._holders.update(found)


def _at_equal_steps(callers: Iterable[C]) -> list[tuple[tuple[Query, ...], list[C]]]:
    """Callers grouped by the queries of their steps, in an order that is the same in every process."""
    batches: dict[tuple[Query, ...], list[C]] = {}
    for caller in callers:
        if not caller.finished:
            batches.setdefault(tuple([query for query, _ in caller.step]), []).append(caller)
    return sorted(batches.items(), key=lambda batch: [query.name for query in batch[0]])
