"""A process that takes a user's message, sends what waited and the answer, and kills itself at the n-th step.

python -m tests.crash.digest_sender DATABASE POST MILLISECONDS STEP

A step is a statement, a commit or a send, before and after it. With step 0 it lives, and prints how many
steps there were.
"""

import asyncio
import json
import os
import signal
import sys
from pathlib import Path
from typing import TypeVar

from segue.kernel.kernel import Kernel
from segue.model.channel import Capabilities, Channel, Receipt
from segue.model.records import Delivery
from segue.store.database import Begin, Database, Transaction
from segue.store.open import open_database
from segue.testing import ManualClock, ScriptedAgent, quiet
from segue.testing.forwarding import ForwardingDatabase
from segue.times.clock import to_moment

PHONE = "post:42"
T = TypeVar("T")


class Steps:
    def __init__(self, last: int = 0) -> None:
        self.taken = 0
        self._last = last

    def take(self) -> None:
        self.taken += 1
        if self.taken == self._last:
            os.kill(os.getpid(), signal.SIGKILL)


class SteppedDatabase(ForwardingDatabase):
    def __init__(self, database: Database, steps: Steps) -> None:
        super().__init__(database)
        self._steps = steps

    async def run(self, begin: Begin[T]) -> T:
        result = await super().run(lambda: self._stepped(begin()))
        self._steps.take()
        return result

    def _stepped(self, transaction: Transaction[T]) -> Transaction[T]:
        try:
            statement = next(transaction)
            while True:
                self._steps.take()
                statement = transaction.send((yield statement))
        except StopIteration as end:
            self._steps.take()
            result: T = end.value
            return result
        finally:
            transaction.close()


class PostOffice(Channel):
    """Appends what it sends to a file, once for each delivery."""

    name = "post"

    def __init__(self, post: Path, steps: Steps) -> None:
        self._post = post
        self._steps = steps

    @property
    def capabilities(self) -> Capabilities:
        return Capabilities(idempotent=True)

    async def send(self, delivery: Delivery) -> Receipt:
        self._steps.take()
        if delivery.id not in dict(arrived(self._post)):
            with self._post.open("a") as out:
                out.write(json.dumps([delivery.id, delivery.content]) + "\n")
        self._steps.take()
        return Receipt(f"post-{delivery.id}")


def arrived(post: Path) -> list[tuple[str, str]]:
    """The ids and texts of what was sent, in order."""
    lines = post.read_text().splitlines() if post.exists() else []
    return [(each[0], each[1]) for each in map(json.loads, lines)]


def kernel_on(database: object, post: Path, clock: ManualClock, steps: Steps, name: str) -> Kernel:
    return Kernel(
        database,  # type: ignore[arg-type]
        agent=ScriptedAgent(),
        channels=[PostOffice(post, steps)],
        clock=clock,
        name=name,
    )


async def main(url: str, post: str, now: str, step: str) -> None:
    steps = Steps(int(step))
    clock = ManualClock(to_moment(int(now)))
    database = await open_database(url)
    async with kernel_on(SteppedDatabase(database, steps), Path(post), clock, steps, "doomed") as kernel:
        await kernel.receive(PHONE, "Hi.")
        await quiet(kernel)
    await database.close()
    sys.stdout.write(f"{steps.taken}\n")


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
