"""A group: the transactions of many callers as one transaction of the database.

Each round takes the step that every caller has come to, runs equal ones together, and hands each caller its
rows. One BEGIN, one COMMIT and a few statements serve the whole group.

Inside one transaction the database keeps nobody apart: two callers that lock the same session's row would
both get it at once, and each could act on what the other is about to change. So the group keeps them apart
itself. A session belongs to the first caller that names it until that caller has finished, and a transaction
that begins without naming one has the group to itself. A session that is named by a key and found to be one
that another caller has by its id spoils the group for who named it: that one is driven alone.

Invariants
  - what a group does is what its callers, one after the other in some order, would have done
  - relied upon: a transaction that begins by naming a session needs no lock on the rows of one it never names
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
"""Yields the queries of a step, to be run in that order, and receives the rows of the last, by execution."""


class Spoiled(Exception):
    """The group cannot commit. The fault lies with one of the suspects."""

    def __init__(self, suspects: Sequence[BatchedTransaction], cause: Exception, where: str) -> None:
        super().__init__(f"{where}: {type(cause).__name__}")
        self.suspects = suspects
        self.cause = cause
        self.where = where


class Unanswered(Spoiled):
    """It was told to commit, and may have done so."""


class Entangled(Exception):
    """The callers are not at fault, only not fit for one group: each will do well alone."""

    sqlstate = "40001"
    """What PostgreSQL calls the same thing between transactions: a serialization failure."""


class Group(Generic[C]):
    """Who may take the next step without touching, or seeing, what another is in the middle of."""

    def __init__(self, callers: Iterable[C], keys: SessionKeys, *, beginning_seconds: float) -> None:
        """Callers begin for so long; who waits for a busy session longer goes with the next group."""
        self.waiting = list(callers)
        self.begun: list[C] = []
        self.at_work: Sequence[C] = ()
        """Those whose step is being taken."""
        self._underway: list[C] = []
        self._keys = keys
        self._holders: dict[str, C] = {}
        self._sole: C | None = None
        self._begin_until = monotonic() + beginning_seconds

    def rounds(self) -> Rounds:
        """Until whoever has begun has finished; those for whom there was no time are still `waiting`."""
        while ready := self._next_round():
            for queries, callers in _at_equal_steps(ready):
                self.at_work = callers
                answers = yield [
                    Executions(query, [params for caller in callers for params in caller.step[place].params])
                    for place, query in enumerate(queries)
                ]
                self._hand_over(callers, answers)

    @property
    def must_be_undone(self) -> bool:
        return any(caller.must_be_undone for caller in self.begun)

    @property
    def wrote(self) -> bool:
        return any(caller.wrote and not caller.error for caller in self.begun)

    def agree_to_commit(self) -> None:
        """The last moment in which one can leave."""
        if withdrawn := [caller for caller in self.begun if caller.withdrawn]:
            raise Spoiled(withdrawn, Entangled(), "callers that were told no")
        for caller in self.begun:
            caller.committing = True

    def _hand_over(self, callers: Sequence[C], answers: Sequence[Rows]) -> None:
        """To each its rows; and each comes to its next step."""
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
        """Those whose step may be taken now; nobody when the group is ready to end."""
        underway = [caller for caller in self._underway if not caller.finished]
        if len(underway) < len(self._underway):
            if guilty := [caller for caller in self._underway if caller.must_be_undone]:
                if len(self.begun) > 1:
                    raise Spoiled(guilty, Entangled(), "a caller that raised after it had written")
                return []
            self._let_go()
            self._underway = underway
        ready = [caller for caller in underway if caller is self._sole or self._takes_its_sessions(caller)]
        if underway and not ready:
            # Each waits for a session that another one holds.
            raise Spoiled(underway, Entangled(), "sessions that callers hold from each other")
        if self.waiting and (not self.begun or monotonic() < self._begin_until):
            ready += self._admit()
        return ready

    def _let_go(self) -> None:
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
        # In this order they ask for their rows in every round: it is the same in every process.
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
        """The session behind a key: it may be another one than was thought, or one that others have by id."""
        assert caller.key is not None  # asked for by whoever named one
        as_thought = self._keys.learn(caller.key, rows)
        found = {row["id"]: caller for row in rows}
        if not as_thought or any(self._holders.get(each, caller) is not caller for each in found):
            raise Spoiled([caller], Entangled(), "a session that was not the caller's to read")
        self._holders.update(found)


def _at_equal_steps(callers: Iterable[C]) -> list[tuple[tuple[Query, ...], list[C]]]:
    """Callers by the queries of their steps, in an order that is the same in every process."""
    batches: dict[tuple[Query, ...], list[C]] = {}
    for caller in callers:
        if not caller.finished:
            batches.setdefault(tuple([query for query, _ in caller.step]), []).append(caller)
    return sorted(batches.items(), key=lambda batch: [query.name for query in batch[0]])
