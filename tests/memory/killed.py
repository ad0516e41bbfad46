"""Processes that are killed at the n-th statement: `python -m tests.memory.killed`.

Each line of its input is an order, `[url, now, work, statement]`, for a process of its own; it answers with
how that one ended. They are forked from one that has done nothing but import, which takes most of a start.
The end of a transaction counts as two statements: one before it is committed, one when it is.
"""

import asyncio
import json
import os
import signal
import sys
from datetime import datetime
from typing import TypeVar

from segue import Kernel, OpenTurn
from segue.store.database import Begin, Database, Transaction
from segue.store.open import open_database
from segue.testing import FaultyStore, ManualClock

T = TypeVar("T")


class Killed(FaultyStore):
    """Passes everything on to a real database; from `arm` on, it counts."""

    def __init__(self, database: Database) -> None:
        super().__init__(database, fail_at=0)
        self._kill_at = 0

    def arm(self, statement: int) -> None:
        self.statements, self._kill_at = 0, statement

    async def run(self, begin: Begin[T]) -> T:
        result = await self._database.run(lambda: self._watched(begin()))
        self._reach()
        return result

    def _watched(self, transaction: Transaction[T]) -> Transaction[T]:
        try:
            statement = next(transaction)
            while True:
                self._reach()
                statement = transaction.send((yield statement))
        except StopIteration as end:
            self._reach()
            result: T = end.value
            return result

    def _reach(self) -> None:
        self.statements += 1
        if self.statements == self._kill_at:
            os.kill(os.getpid(), signal.SIGKILL)


async def silent(turn: OpenTurn) -> str:
    return "ok"


async def work_until_killed(url: str, now: str, work: str, statement: int) -> None:
    """`work` is the key of a session to commit, or what an archivist does."""
    database = Killed(await open_database(url))
    # By the clock of whoever looks afterwards, who may let the time of a lease pass.
    clock = ManualClock(datetime.fromisoformat(now))
    async with Kernel(database, agent=silent, clock=clock) as kernel:
        database.arm(statement)
        if work == "archivist":
            await kernel.workers.archivist.step()
        else:
            await kernel.commit(work)
        database.arm(0)


def how_it_ended(order: str) -> int:
    child = os.fork()
    if not child:
        asyncio.run(work_until_killed(*json.loads(order)))
        os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


if __name__ == "__main__":
    for line in sys.stdin:
        sys.stdout.write(f"{how_it_ended(line)}\n")
        sys.stdout.flush()
