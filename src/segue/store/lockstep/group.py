"""A group: the transactions of many callers as one transaction of the database.

Each round takes the statement that every caller has come to, runs equal queries in one round trip, and hands
each caller its rows. One BEGIN, one COMMIT and a few round trips serve the whole group.

Inside one transaction the database's row locks keep nobody apart: two callers that lock the same session's
row would both get it at once, and each could act on what the other is about to change. So the group keeps
them apart itself. A session belongs to the first caller that names it until that caller has finished, and a
transaction that begins without naming one has the group to itself. A session that is named by a key and found
to be one that another caller has by its id spoils the group for who named it: that one is driven alone.

Between processes the row locks do their work, but a group that waits for one of its rows would hold up all of
its callers, and two groups might wait for each other. So a group first marks its sessions by advisory locks,
and leaves out those that another group has. These marks are a courtesy: what is right hangs on the row locks.

Invariants
  - what a group does is what its callers, one after the other in some order, would have done
  - nobody hears of an outcome before the commit: what a caller saw may still be rolled back
  - a group waits for no session that another process has, so that groups neither deadlock nor queue up
  - relied upon: a transaction that begins by naming a session needs no lock on the rows of one it never names
"""

from collections.abc import Iterator, Sequence
from hashlib import blake2b
from time import monotonic
from typing import TYPE_CHECKING

from segue.store.database import Rows
from segue.store.lockstep.batching import fetch_each, shape_of
from segue.store.lockstep.caller import Caller, Key, Keys, Step
from segue.store.sql import Query

if TYPE_CHECKING:
    from segue.store.server import Connection

BEGINNING_SECONDS = 0.02
"""A group lets callers begin for this long; who waits for a busy session longer goes with the next one."""

_MARK = "SELECT key FROM unnest(CAST($1 AS BIGINT[])) AS key WHERE pg_try_advisory_xact_lock(key)"


class Spoiled(Exception):
    """The group cannot commit. The fault lies with one of the suspects."""

    def __init__(self, suspects: Sequence[Caller], cause: Exception, where: str) -> None:
        super().__init__(f"{where}: {type(cause).__name__}")
        self.suspects = suspects
        self.cause = cause
        self.where = where


class Entangled(Exception):
    """The callers are not at fault, only not fit for one group: each will do well alone."""

    sqlstate = "40001"
    """What PostgreSQL calls the same thing between transactions: a serialization failure."""


class Group:
    """Who may take the next step without touching, or seeing, what another is in the middle of."""

    def __init__(self, callers: Sequence[Caller], keys: Keys) -> None:
        self.waiting = list(callers)
        self.begun: list[Caller] = []
        self._keys = keys
        self._holders: dict[str, Caller] = {}
        self._sole: Caller | None = None
        self._begin_until = monotonic() + BEGINNING_SECONDS

    async def open(self, connection: "Connection", opening: str) -> list[Caller]:
        """Begin. Gives back, and leaves out, the callers whose sessions another process has just now."""
        if len(self.waiting) == 1:
            # Nobody else is held up: it may wait, and this way needs no round trip of its own.
            marks = "".join(f"; SELECT pg_advisory_xact_lock({key})" for key in _marks(self.waiting[0]))
            await connection.execute(opening + marks)
            return []
        await connection.execute(opening)
        wanted = {key for caller in self.waiting for key in _marks(caller)}
        ours = {row["key"] for row in await connection.fetch(_MARK, list(wanted))} if wanted else set()
        elsewhere = [caller for caller in self.waiting if not ours.issuperset(_marks(caller))]
        self.waiting = [caller for caller in self.waiting if ours.issuperset(_marks(caller))]
        return elsewhere

    async def drive(self, connection: "Connection") -> None:
        """Commit what has begun; for the rest, which is still `waiting`, there was no time.

        After an exception the transaction is still open: rolling back is up to whoever has the connection.
        """
        while ready := self._next_round():
            for query, batch in _by_query(ready):
                try:
                    await self._run(connection, query, batch)
                except Spoiled:
                    raise
                except Exception as error:
                    raise Spoiled([caller for _, caller in batch], error, query.name) from error
        if any(caller.must_be_undone for caller in self.begun):
            await connection.execute("ROLLBACK")
        elif await connection.execute("COMMIT") != "COMMIT":
            # PostgreSQL answers the COMMIT of a failed transaction with ROLLBACK and raises nothing.
            raise Entangled("COMMIT was answered with ROLLBACK")

    @property
    def wrote(self) -> bool:
        return any(caller.wrote and not caller.error for caller in self.begun)

    def _next_round(self) -> list[Caller]:
        """Those whose statement may be run now; nobody when the group is ready to end."""
        if guilty := [caller for caller in self.begun if caller.must_be_undone]:
            if len(self.begun) > 1:
                raise Spoiled(guilty, Entangled(), "a caller that raised after it had written")
            return []
        self._let_go()
        underway = [caller for caller in self.begun if not caller.finished]
        ready = [caller for caller in underway if caller is self._sole or self._takes_its_sessions(caller)]
        if underway and not ready:
            # Each waits for a session that another one holds.
            raise Spoiled(underway, Entangled(), "sessions that callers hold from each other")
        if not self.begun or monotonic() < self._begin_until:
            ready += self._admit()
        return ready

    def _let_go(self) -> None:
        self._holders = {session: caller for session, caller in self._holders.items() if not caller.finished}
        if self._sole is not None and self._sole.finished:
            self._sole = None

    def _admit(self) -> list[Caller]:
        admitted: list[Caller] = []
        still_waiting: list[Caller] = []
        for caller in self.waiting:
            (admitted if self._may_begin(caller) else still_waiting).append(caller)
        self.waiting = still_waiting
        self.begun += admitted
        return admitted

    def _may_begin(self, caller: Caller) -> bool:
        if self._sole is not None:
            return False
        if caller.sessions:
            return self._takes_its_sessions(caller)
        if self._holders:
            return False
        self._sole = caller
        return True

    def _takes_its_sessions(self, caller: Caller) -> bool:
        sessions = caller.sessions
        if any(self._holders.get(session, caller) is not caller for session in sessions):
            return False
        self._holders.update(dict.fromkeys(sessions, caller))
        return True

    async def _run(
        self, connection: "Connection", query: Query, batch: Sequence[tuple[Step, Caller]]
    ) -> None:
        """Run one query for all that have come to it, and take each of them to its next step."""
        shape = shape_of(query)
        answers = iter(
            await fetch_each(connection, query, [params for step, _ in batch for params in step.executions])
        )
        for step, caller in batch:
            rows = [row for _ in step.executions for row in next(answers)]
            if step.key is not None and caller is not self._sole:
                self._takes_what_it_found(caller, step.key, rows)
            caller.answer(rows, wrote=shape.wrote(rows))

    def _takes_what_it_found(self, caller: Caller, key: Key, rows: Rows) -> None:
        """The session behind a key: it may be another one than was thought, or one that others have by id."""
        as_thought = self._keys.learn(key, rows)
        found = {row["id"]: caller for row in rows}
        if not as_thought or any(self._holders.get(each, caller) is not caller for each in found):
            raise Spoiled([caller], Entangled(), "a session that was not the caller's to read")
        self._holders.update(found)


def _marks(caller: Caller) -> list[int]:
    """The numbers of the advisory locks on its sessions, in the order in which everybody takes them."""
    digests = (blake2b(each.encode("utf-8", "replace"), digest_size=8).digest() for each in caller.sessions)
    return sorted(int.from_bytes(digest, signed=True) for digest in digests)


def _by_query(callers: Sequence[Caller]) -> Iterator[tuple[Query, list[tuple[Step, Caller]]]]:
    """Callers at equal queries, in an order that is the same in every process."""
    batches: dict[Query, list[tuple[Step, Caller]]] = {}
    for caller in callers:
        if caller.step is not None:
            batches.setdefault(caller.step.query, []).append((caller.step, caller))
    for query in sorted(batches, key=lambda each: each.name):
        yield query, sorted(batches[query], key=lambda pair: pair[0].row)
