"""The records of memory: what a session has put away, what was learned from it, and the task that learns."""

from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Any

from segue.model.records import Owner, Place
from segue.record import record


class ArchiveState(StrEnum):
    EXTRACTING = "extracting"
    DONE = "done"
    FAILED = "failed"
    """Nothing was learned from it. Its messages are there, and the archives after it are not held up."""


class TaskState(StrEnum):
    PENDING = "pending"
    RUNNING = "running"
    CANCELLING = "cancelling"
    COMPLETED = "completed"
    FAILED = "failed"
    CANCELLED = "cancelled"


class MemoryKind(StrEnum):
    FACT = "fact"
    PREFERENCE = "preference"
    DECISION = "decision"
    THREAD = "thread"
    """Something that was begun, and is still open."""
    PASSAGE = "passage"
    """An archived exchange, word for word: found by search, never taken for something known."""


KNOWN = (MemoryKind.FACT, MemoryKind.PREFERENCE, MemoryKind.DECISION, MemoryKind.THREAD)


@record
class Archive:
    """A stretch of a session's log that a commit has put away."""

    session_id: str
    n: int
    first_seq: int
    last_seq: int
    message_count: int
    tokens: int
    reason: str
    task_id: str
    state: ArchiveState
    summary: str | None
    error: str | None
    learned: int
    created_at: int
    finished_at: int | None
    undone_at: int | None


@record
class Task:
    """The learning from one archive."""

    id: str
    owner: Owner
    type: str
    session_id: str
    session_key: str
    archive_n: int
    state: TaskState
    stage: str
    attempt: int
    not_before: int
    fence: int
    result: Mapping[str, Any] | None
    error: str | None
    created_at: int
    updated_at: int

    @property
    def place(self) -> Place:
        return Place(0, self.id)


@record
class Memory:
    """Something known of a user. Of one topic there is one memory: what is newer takes its place."""

    id: str
    owner: Owner
    kind: MemoryKind
    topic: str
    content: str
    confidence: int
    """In percent."""
    session_id: str | None
    """Where it was learned; None where a person or a dream wrote it."""
    archive_n: int | None
    source_seq: int | None
    created_at: int
    updated_at: int

    @property
    def place(self) -> Place:
        return Place(self.updated_at, self.id)


@record
class FoundMemory:
    """A memory that a search found, and how well it fits."""

    memory: Memory
    score: float


@record
class AwaitingCommit:
    """A session that waits for a silence to be committed."""

    owner: Owner
    key: str
    since: int
    """The moment from which its silence was counted when it was last armed."""


@record
class Index:
    """Those that wait, and when that last changed, by what their rows and the commits' tell.

    Whoever left because their policy or their session is gone has left no moment behind.
    """

    members: Sequence[AwaitingCommit]
    changed_at: int | None
    """None: nobody has waited yet."""
