"""Kill switch: a database handle that kills its process at a given point of a turn.

It recognises transactions by the queries that they yield, so the kernel needs no hooks.
"""

import os
import signal
from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import cast

from segue.kernel.transactions.lease import HeldLane, Leased
from segue.kernel.transactions.result import Result
from segue.store.database import Begin, Database, Params, Rows, T, Transaction
from segue.store.queries import Query
from segue.testing.forwarding import ForwardingDatabase
from tests.crash.journal import Did, Journal


class Point(StrEnum):
    """Twelve points in the life of a turn, in order."""

    BEFORE_THE_CLAIM_COMMITS = "before the claim commits"
    AFTER_THE_CLAIM_COMMITS = "after the claim commits"
    BEFORE_THE_AGENT_STARTS = "before the agent starts"
    AFTER_THE_FIRST_WORD = "after the first word"
    DURING_A_RENEWAL = "during a renewal"
    BEFORE_THE_TOOL_IS_NOTED = "before the tool is noted"
    AFTER_THE_TOOL_IS_NOTED = "after the tool is noted"
    WHILE_THE_TOOL_RUNS = "while the tool runs"
    BEFORE_THE_END = "before the end"
    INSIDE_THE_END = "inside the end"
    AFTER_THE_END_COMMITS = "after the end commits"
    AFTER_THE_END = "after the end"


class KillSwitch(ForwardingDatabase):
    """Inspects the transactions that it forwards."""

    def __init__(self, database: Database, journal: Journal, point: Point | None) -> None:
        super().__init__(database)
        self._journal = journal
        self._point = point
        self.held: dict[str, HeldLane] = {}
        """By turn, what this process has leased last."""
        self.under_way = 0
        """Transactions that have not come back yet."""
        self._settled = False

    def reached(self, point: Point) -> None:
        if point is self._point:
            self._journal.write(Did.DIED, note=point)
            os.kill(os.getpid(), signal.SIGKILL)

    async def run(self, begin: Begin[T]) -> T:
        self._look_back()
        queries: dict[str, object] = {}
        self.under_way += 1
        try:
            result = await super().run(lambda: self._recorded(begin(), queries))
        finally:
            self.under_way -= 1
        if claimed := _claimed(queries, result):
            self._note_claims(claimed)
            self.reached(Point.AFTER_THE_CLAIM_COMMITS)
        if "turns.note_act" in queries:
            self.reached(Point.AFTER_THE_TOOL_IS_NOTED)
        if _ends(queries):
            self.reached(Point.AFTER_THE_END_COMMITS)
            self._settled = True
        if "sessions.reclaim" in queries and result is not None:
            self._journal.write(Did.RESCUED, session=str(queries["sessions.reclaim"]))
        return result

    def _recorded(self, transaction: Transaction[T], queries: dict[str, object]) -> Transaction[T]:
        """Note each query on its way, with what its row is called."""
        queries.clear()
        try:
            statement = next(transaction)
            while True:
                query, params = statement
                queries[query.name] = params.get("id") if isinstance(params, Mapping) else None
                rows = yield statement
                statement = transaction.send(rows)
        except StopIteration as stop:
            result: T = stop.value
            self._about_to_commit(queries, result)
            return result
        finally:
            transaction.close()

    def _about_to_commit(self, queries: Mapping[str, object], result: object) -> None:
        if _claimed(queries, result):
            self.reached(Point.BEFORE_THE_CLAIM_COMMITS)
        if "turns.note_act" in queries:
            self.reached(Point.BEFORE_THE_TOOL_IS_NOTED)
        if _ends(queries):
            self.reached(Point.INSIDE_THE_END)
        if "sessions.renew" in queries:
            self.reached(Point.DURING_A_RENEWAL)

    def _note_claims(self, claimed: Sequence[HeldLane]) -> None:
        for held in claimed:
            self.held[held.turn.id] = held
            self._journal.write(
                Did.LEASED, session=held.session.id, turn=held.turn.id, fence=held.fence, note=held.holder
            )

    def _look_back(self) -> None:
        """At the first call after an end: the end's answer has reached the kernel."""
        if self._settled:
            self.reached(Point.AFTER_THE_END)

    async def read(self, query: Query, params: Params) -> Rows:
        self._look_back()
        return await super().read(query, params)


def _claimed(queries: Mapping[str, object], result: object) -> Sequence[HeldLane]:
    """The lanes that were leased, each with the turn that started."""
    return cast("Result[Leased]", result).value.held if "sessions.lease" in queries else ()


def _ends(queries: Mapping[str, object]) -> bool:
    """Whether the holder ends its turn; a reaper ends turns too."""
    return "turns.finish" in queries and "sessions.reclaim" not in queries
