"""A client that goes on talking while its database fails, and remembers what was acknowledged."""

import itertools

from segue.errors import NotFound, StoreUnavailable
from segue.kernel.kernel import Kernel
from segue.model.states import Outcome
from tests.crash.processes import over
from tests.eventually import eventually

SESSIONS = 20
WITHIN_SECONDS = 180.0


class Talk:
    """Sends messages one after the other, also while there is no primary."""

    def __init__(self, kernel: Kernel) -> None:
        self._kernel = kernel
        self.acknowledged: list[str] = []
        self.refused = 0

    async def go_on(self) -> None:
        for number in itertools.count():
            try:
                sent = await self._kernel.receive(f"web:{number % SESSIONS}", f"work {number % 40}")
            except StoreUnavailable:
                self.refused += 1
            else:
                self.acknowledged.append(sent.turn_id)

    async def has_sent(self, more: int) -> None:
        wanted = len(self.acknowledged) + more
        await eventually(
            lambda: len(self.acknowledged) >= wanted, f"{more} more messages", within=WITHIN_SECONDS
        )


async def is_over(kernel: Kernel, turn_id: str) -> bool:
    """Wait for the turn's end. False if there is no such turn any more."""
    try:
        return (await over(kernel, turn_id)).outcome is Outcome.OK
    except NotFound:
        return False
