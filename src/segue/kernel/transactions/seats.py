"""Seats: a runner's free capacity, offered to a turn that can start in the commit that admits it.

The timer depends only on this protocol, not on `Runner`. A turn that gets a seat, and whose lane is empty,
starts at once; every other turn is queued in its lane.
"""

from collections.abc import Awaitable, Callable
from typing import Protocol, TypeAlias

from segue.kernel.transactions.fire import TakenSlot
from segue.kernel.transactions.lease import Seat

Admit: TypeAlias = Callable[[Seat | None], Awaitable[TakenSlot | None]]
"""Takes a due slot, and starts its turn in the seat if its lane is empty."""


class Seats(Protocol):
    async def start(self, admit: Admit) -> TakenSlot | None:
        """Call `admit`, with a seat if one is free, and run the turn that it starts."""
        ...
