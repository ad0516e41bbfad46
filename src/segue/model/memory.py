"""Memory records: archives of sessions, the memories learned from them, and the tasks that learn."""

from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Any

from segue.model.records import Owner, PageStart
from segue.record import record


class ArchiveState(StrEnum):
    EXTRACTING = "extracting"
    DONE = "done"
    FAILED = "failed"
    """Nothing was learned from it. Its messages still exist, and the archives after it are not blocked."""


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
    """Something that was begun and is still open."""
    PASSAGE = "passage"
    """An archived exchange, word for word: found by search, but not a memory."""


KNOWN = (MemoryKind.FACT, MemoryKind.PREFERENCE, MemoryKind.DECISION, MemoryKind.THREAD)


@record
class Archive:
    """A range of a session's log that was archived."""

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
    """The task of learning from one archive."""

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
    def page_start(self) -> PageStart:
        return PageStart(0, self.id)


@record
class Memory:
    """A fact about a user. A topic has one memory: a newer one replaces it."""

    id: str
    owner: Owner
    kind: MemoryKind
    topic: str
    content: str
    confidence: int
    """In percent."""
    session_id: str | None
    """Where it was learned; None if it was not learned from an archive."""
    archive_n: int | None
    source_seq: int | None
    created_at: int
    updated_at: int

    @property
    def page_start(self) -> PageStart:
        return PageStart(self.updated_at, self.id)


@record
class FoundMemory:
    """A memory that a search found, with its score."""

    memory: Memory
    score: float


@record
class AwaitingCommit:
    """A session that will be archived after a silence."""

    owner: Owner
    key: str
    since: int
    """The start of the silence, as of the last time it was armed."""


@record
class Index:
    """The sessions that wait for a silence, and when they last changed.

    Sessions that were deleted, or whose policy was removed, do not update `changed_at`.
    """

    members: Sequence[AwaitingCommit]
    changed_at: int | None
    """None: no session has waited yet."""
