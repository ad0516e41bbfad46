"""The extractor protocol: its input and output. An extractor may be a model or a set of rules."""

from collections.abc import Sequence
from typing import Protocol

from segue.model.memory import Memory, MemoryKind
from segue.model.transcript import Message
from segue.record import record


@record
class Material:
    """An archive to learn from, with the memories that exist already."""

    messages: Sequence[Message]
    """In context order. One that has a `source` was caused by a schedule, not by the user."""
    earlier: str | None
    """The summary of all archives before this one."""
    known: Sequence[Memory]

    @property
    def spoken(self) -> list[Message]:
        """The messages without those of scheduled jobs: memory must not learn from its own output."""
        return [message for message in self.messages if message.source is None]


@record
class Lesson:
    """Something learned about a user."""

    kind: MemoryKind
    topic: str
    """What it is about, in a few words. A newer lesson on the same topic replaces the older."""
    content: str
    confidence: int
    """In percent."""
    source_seq: int
    """The event number of the message that says so."""


class Extractor(Protocol):
    """Reads archives. It may be called again for the same archive, after a failure or a crash."""

    name: str
    """Shown in the results of tasks."""

    async def summarise(self, material: Material) -> str:
        """Returns a summary of everything up to here, which later turns are given in place of it."""
        ...

    async def learn(self, material: Material) -> Sequence[Lesson]:
        """Returns what the archive says about the user."""
        ...
