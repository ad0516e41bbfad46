"""Drafts: the messages in which answers are shown while they grow, in channels that can change a message.

A draft is known to the process that shows it. Where another one sends the answer, as after a kill, it
comes as a message of its own.

Invariants
  - nothing is shown of a turn after its answer was sent
"""

import asyncio
from collections import OrderedDict
from dataclasses import dataclass
from typing import Generic, TypeVar

Id = TypeVar("Id", int, str)

_REMEMBERED = 1000


@dataclass(slots=True)
class Draft(Generic[Id]):
    message_id: Id | None = None
    began_at: int | None = None
    again_at: int = 0
    """Before this moment it is not changed again, where a channel does not want it often."""
    over: bool = False


class Drafts(Generic[Id]):
    """By turn, those of the newest turns."""

    def __init__(self) -> None:
        self.drawing = asyncio.Lock()
        """Held while a draft is looked at and changed: an answer waits for what is being shown."""
        self._known: OrderedDict[str, Draft[Id]] = OrderedDict()

    def of(self, turn_id: str) -> Draft[Id]:
        draft = self._known.setdefault(turn_id, Draft())
        while len(self._known) > _REMEMBERED:
            self._known.popitem(last=False)
        return draft

    async def end(self, turn_id: str | None) -> Id | None:
        """The message whose place the answer takes, if there is one."""
        if turn_id is None:
            return None
        async with self.drawing:
            draft = self.of(turn_id)
            draft.over = True
            return draft.message_id
