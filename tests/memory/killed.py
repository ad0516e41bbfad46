"""Processes that are killed at the n-th statement: `python -m tests.memory.killed`.

Each line of its input, `[url, now, work, statement]`, is run in a process of its own; the answer is its exit
code. The processes are forked from one that has only imported, because imports take most of a start. The end
of a transaction counts as two statements: one before its commit and one after it.
"""

import asyncio
import json
import os
import signal
import sys
from datetime import datetime
from typing import TypeVar

from segue import Kernel, OpenTurn
from segue.model.written_message import GivenMessage
from segue.store.database import Begin, Database, Transaction
from segue.store.open import open_database
from segue.testing import FaultyStore, ManualClock

T = TypeVar("T")

IMPORTED: list[GivenMessage] = [
    (
        ("user", "assistant")[number % 2],
        f"message {number % 7}",
        f"2024-07-14T18:{number // 60:02}:{number % 60:02}Z",
    )
    for number in range(250)
]
"""A conversation to import: three batches, with texts that occur several times."""


class Killed(FaultyStore):
    """Passes everything on to a real database; from `arm` on, it counts statements and kills the process."""

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
    """`work` is the key of a session to commit, `archivist` for one step of an archivist, or `import:KEY`."""
    database = Killed(await open_database(url))
    # The clock of the test, which lets the lease expire afterwards.
    clock = ManualClock(datetime.fromisoformat(now))
    async with Kernel(database, agent=silent, clock=clock) as kernel:
        database.arm(statement)
        if work == "archivist":
            await kernel.workers.archivist.step()
        elif work.startswith("import:"):
            await kernel.log.import_all(work.removeprefix("import:"), IMPORTED)
        else:
            await kernel.memory.commit(work)
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
