"""What an extractor is given, and what it gives back. Whether it is a model or rules is nobody's business."""

from collections.abc import Sequence
from typing import Protocol

from segue.model.memory import Memory, MemoryKind
from segue.model.transcript import Message
from segue.record import record


@record
class Material:
    """An archive to learn from, with what is known already."""

    messages: Sequence[Message]
    """In context order. One that has a `source` was caused by a schedule, not by the user."""
    earlier: str | None
    """The summary of all archives before this one."""
    known: Sequence[Memory]

    @property
    def spoken(self) -> list[Message]:
        """Without what scheduled jobs asked and answered: memory must not learn its own echoes."""
        return [message for message in self.messages if message.source is None]


@record
class Lesson:
    """Something to know of a user."""

    kind: MemoryKind
    topic: str
    """What it is about, in a few words. A newer lesson on the same topic replaces the older."""
    content: str
    confidence: int
    """In percent."""
    source_seq: int
    """The message that says so."""


class Extractor(Protocol):
    """Reads archives. It may be called again for the same archive, after a failure or a crash."""

    name: str
    """As results show it."""

    async def summarise(self, material: Material) -> str:
        """What later turns are given of everything up to here."""
        ...

    async def learn(self, material: Material) -> Sequence[Lesson]: ...
