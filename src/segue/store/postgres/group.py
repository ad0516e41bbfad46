"""Group of transactions: many callers share one database transaction.

The callers advance in rounds. In each round every caller is at one query; equal queries run together, and
each caller gets its own rows. One BEGIN, one COMMIT and a few statements serve the whole group. A query that
has a set form (`finish_many` beside `finish`) runs once for all callers, if no two executions name the same
row. A write without rows is pipelined. Any other query runs once for each caller, one after the other.

Row locks do not separate callers inside one database transaction: two callers that lock the same session's
row would both get it, and each could act on what the other is about to change. So the group separates them.
A session belongs to the first caller that names it until that caller has ended. If a caller finds by key a
session that another caller holds by id, the group fails, and that caller is driven alone.

Between processes row locks decide. But a group that waits for one row would hold up all of its callers, and
two groups might wait for each other. So a group first takes advisory locks on its sessions and leaves out
callers whose session another group has. Correctness rests on the row locks, not on these.

Invariants
  - the effect of a group equals that of its callers run one after the other in some order
  - assumed: a transaction whose first statement names a session touches no other session's rows before it
    names that one too
  - no caller gets a result before the commit: what it read may still be rolled back
  - a group waits for no session that another process has, so that groups neither deadlock nor queue up
"""

import asyncio
from collections.abc import Iterable, Sequence
from hashlib import blake2b
from itertools import islice
from typing import TYPE_CHECKING

from segue.store.database import Begin, Params, Row, Rows, T
from segue.store.postgres.commit_stamps import Stamp
from segue.store.postgres.transaction import CallerTransaction, SessionKeys
from segue.store.queries import Query

if TYPE_CHECKING:
    from segue.store.postgres.connection import Connection

_MARK = "SELECT key FROM unnest(CAST({keys} AS BIGINT[])) AS key WHERE pg_try_advisory_xact_lock(key)"


class GroupFailed(Exception):
    """The group cannot commit. One of the suspects is at fault."""

    def __init__(self, suspects: Sequence[CallerTransaction], cause: Exception, where: str) -> None:
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


class Group:
    """Transactions whose first statements name different sessions, driven together on one connection.

    After an exception the database transaction is still open: the owner of the connection rolls back.
    """

    def __init__(self, callers: Iterable[CallerTransaction], keys: SessionKeys) -> None:
        # Every process locks rows in this order, in every round.
        self.callers = sorted(callers, key=lambda caller: caller.sessions)
        self._keys = keys
        self._holders: dict[str, CallerTransaction] = {}

    @property
    def wrote(self) -> bool:
        return any(caller.wrote for caller in self.callers)

    async def begin(self, connection: "Connection", opening: str) -> list[CallerTransaction]:
        """Begin. Removes, and returns, the callers whose sessions another process has now."""
        marked = [(caller, _marks(caller)) for caller in self.callers]
        if len(marked) == 1:
            # It holds up no other caller, so it may wait for the lock; this needs no extra round trip.
            waits = "".join(f"; SELECT pg_advisory_xact_lock({key})" for key in marked[0][1])
            await connection.execute(opening + waits)
            return []
        wanted = {key for _, keys in marked for key in keys}
        # In the same round trip; `execute` returns only how many locks it got.
        mark = _MARK.format(keys=f"'{{{','.join(map(str, wanted))}}}'")
        if await connection.execute(f"{opening}; {mark}") == f"SELECT {len(wanted)}":
            return []
        ours = {row["key"] for row in await connection.fetch(_MARK.format(keys="$1"), list(wanted))}
        elsewhere = [caller for caller, keys in marked if not ours.issuperset(keys)]
        self.callers = [caller for caller, keys in marked if ours.issuperset(keys)]
        return elsewhere

    async def drive(self, connection: "Connection") -> None:
        """Run every caller to its end. Raises `GroupFailed` if one of them must be undone."""
        while ready := self._next_round():
            for query, callers in _by_query(ready):
                executions = [params for caller in callers for params in caller.executions]
                try:
                    answers = await execute(connection, query, executions)
                except Exception as error:
                    raise GroupFailed(callers, error, query.name) from error
                rest = iter(answers)
                for caller in callers:
                    self._answer(caller, islice(rest, len(caller.executions)))

    async def commit(self, connection: "Connection", stamp: Stamp | None = None) -> None:
        if withdrawn := [caller for caller in self.callers if caller.withdrawn]:
            raise GroupFailed(withdrawn, GroupConflict(), "withdrawn callers")
        for caller in self.callers:
            caller.committing = True
        try:
            answer = await connection.execute(f"{stamp.leave}; COMMIT" if stamp and self.wrote else "COMMIT")
        except Exception as error:
            raise CommitUnanswered(self.callers, error, "COMMIT") from error
        if answer != "COMMIT":
            # PostgreSQL answers the COMMIT of a failed transaction with ROLLBACK and raises nothing.
            raise GroupFailed(self.callers, GroupConflict(), "COMMIT that was answered with ROLLBACK")

    def _next_round(self) -> list[CallerTransaction]:
        """The callers whose query may run now; empty when all have ended."""
        underway = [caller for caller in self.callers if caller.query is not None]
        ready = [caller for caller in underway if self._takes(caller, caller.sessions)]
        if underway and not ready:
            raise GroupFailed(underway, GroupConflict(), "sessions that callers hold from each other")
        return ready

    def _takes(self, caller: CallerTransaction, sessions: Sequence[str]) -> bool:
        for session in sessions:
            holder = self._holders.get(session, caller)
            if holder is not caller and holder.query is not None:
                return False
        for session in sessions:
            self._holders[session] = caller
        return True

    def _answer(self, caller: CallerTransaction, answers: Iterable[Rows]) -> None:
        rows = [row for each in answers for row in each]
        if caller.key is not None:
            # The session found by key may differ from the remembered one, or be held by another caller.
            as_remembered = self._keys.learn(caller.key, rows)
            if not as_remembered or not self._takes(caller, [row["id"] for row in rows]):
                raise GroupFailed([caller], GroupConflict(), "a session that was not the caller's to read")
        query = caller.query
        caller.answer(rows)
        if caller.error is not None and caller.wrote:
            raise GroupFailed([caller], caller.error, query.name if query else "")


async def execute(connection: "Connection", query: Query, executions: Sequence[Params]) -> Sequence[Rows]:
    """Run the query once for each set of parameters; the rows of each, in the order they were given."""
    arguments = [*map(query.pick, executions)]
    if len(arguments) > 1 and query.many is not None and _name_different_rows(executions):
        return await _execute_many(connection, query.many, executions)
    if len(arguments) < 2 or query.returns_rows:
        return [await connection.fetch(query.postgres, *values) for values in arguments]
    await connection.executemany(query.postgres, arguments)
    return [()] * len(arguments)


def _name_different_rows(executions: Sequence[Params]) -> bool:
    """One statement changes a row once: executions that name a row by `:id` must each name another."""
    return "id" not in executions[0] or len({each["id"] for each in executions}) == len(executions)


async def _execute_many(
    connection: "Connection", many: Query, executions: Sequence[Params]
) -> Sequence[Rows]:
    columns = zip(*map(many.pick, executions), strict=True)
    answers: list[list[Row]] = [[] for _ in executions]
    for row in await connection.fetch(many.postgres, *map(list, columns)):
        answers[row["execution"] - 1].append(row)
    return answers


async def drive_alone(connection: "Connection", opening: str, begin: Begin[T]) -> T:
    """Run and commit one transaction as a group of one. After an exception it is still open."""
    keys = SessionKeys()
    caller = CallerTransaction(begin, asyncio.get_running_loop().create_future(), keys)
    group = Group([caller], keys)
    await group.begin(connection, opening)
    await group.drive(connection)
    if caller.error is not None:
        raise caller.error
    await group.commit(connection)
    result: T = caller.result
    return result


def _marks(caller: CallerTransaction) -> list[int]:
    """The keys of the advisory locks on its sessions, in the order in which every process takes them."""
    digests = (blake2b(each.encode("utf-8", "replace"), digest_size=8).digest() for each in caller.needs)
    return sorted(int.from_bytes(digest, signed=True) for digest in digests)


def _by_query(callers: Iterable[CallerTransaction]) -> list[tuple[Query, list[CallerTransaction]]]:
    """Callers grouped by their query, in an order that is the same in every process."""
    batches: dict[Query, list[CallerTransaction]] = {}
    for caller in callers:
        if caller.query is not None:
            batches.setdefault(caller.query, []).append(caller)
    return sorted(batches.items(), key=lambda batch: batch[0].name)
