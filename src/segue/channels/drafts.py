"""Drafts: messages that show a growing answer, in channels that can edit messages.

Only the process that shows a draft knows it. If another process sends the answer, for example after a crash,
it sends a new message.

Invariants
  - no draft is shown after the turn's answer was sent
"""

import asyncio
from collections import OrderedDict
from dataclasses import dataclass
from typing import Generic, TypeVar

Id = TypeVar("Id", int, str)

_MOST_DRAFTS = 1000


@dataclass(slots=True)
class Draft(Generic[Id]):
    message_id: Id | None = None
    began_at: int | None = None
    next_edit_at: int = 0
    """Not edited before this moment, in channels that limit edits."""
    answered: bool = False


class Drafts(Generic[Id]):
    """The drafts of the newest turns, by turn id."""

    def __init__(self) -> None:
        self.lock = asyncio.Lock()
        """Held while a draft is checked and changed, so that an answer waits for a draft being sent."""
        self._known: OrderedDict[str, Draft[Id]] = OrderedDict()

    def of(self, turn_id: str) -> Draft[Id]:
        draft = self._known.setdefault(turn_id, Draft())
        while len(self._known) > _MOST_DRAFTS:
            self._known.popitem(last=False)
        return draft

    async def end(self, turn_id: str | None) -> Id | None:
        """Stop showing the turn's draft. Return the message that the answer replaces, or None."""
        if turn_id is None:
            return None
        async with self.lock:
            draft = self.of(turn_id)
            draft.answered = True
            return draft.message_id
