"""Seats: a runner's free slots, offered to turns that could start as soon as they come in.

The timer knows nothing of a runner but that it may have a seat. A turn that finds one, and its lane empty,
starts in the commit that admits it; every other one waits in its lane, as if there were no seats.
"""

from collections.abc import Awaitable, Callable
from typing import Protocol, TypeAlias

from segue.kernel.transactions.fire import TakenSlot
from segue.kernel.transactions.lease import Seat

Admit: TypeAlias = Callable[[Seat | None], Awaitable[TakenSlot | None]]
"""Takes a due slot, and starts its turn in that seat if its lane is empty."""


class Seats(Protocol):
    async def start(self, admit: Admit) -> TakenSlot | None:
        """Let a turn come in by a free seat, if there is one; what it starts there is seen through."""
        ...
