"""Records of a client: what the HTTP API tells about the kernel's records of these names.

A field has the name, the type and the value that it has in the kernel's record. Fields that only workers need
are missing, and `session_key` stands for `session_id`, because a client addresses sessions by key. Records
that the API tells completely (`Message`, `Recall`, `Event`, `LiveText` and others) are the kernel's own.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, TypeAlias

from segue.kernel.transactions.archive import CommitSkipped
from segue.model.action import View
from segue.model.auto_commit import AutoCommitPolicy
from segue.model.explain import UpcomingSlot
from segue.model.memory import ArchiveState, MemoryKind, TaskState
from segue.model.policy import Policy
from segue.model.prompts import Mode, PromptRef
from segue.model.records import Owner, Recall, Source
from segue.model.states import DeliveryState, MessageStatus, Outcome, TurnState
from segue.model.transcript import Message
from segue.record import positional, record
from segue.times.trigger import Trigger


@record
class RemoteSession:
    id: str
    owner: Owner
    key: str
    chat_type: str
    title: str | None
    timezone: str | None
    when_busy: str | None
    metadata: Mapping[str, Any]
    created_at: int
    last_message_at: int | None
    last_seq: int
    busy: bool
    """Whether a turn is running or waiting."""
    auto_commit_policy: AutoCommitPolicy | None

    @property
    def channel(self) -> str:
        return self.key.partition(":")[0]

    @property
    def chat_id(self) -> str:
        return self.key.partition(":")[2]


@positional
class RemoteSessionOpened:
    session: RemoteSession
    created: bool


@record
class RemoteOverview:
    session: RemoteSession
    message_count: int
    pending_tokens: int
    last_line: str | None
    last_line_at: int | None
    last_activity_at: int
    queued: int
    cron_jobs: int
    recall: Recall | None
    upcoming_at: int | None
    upcoming_name: str | None


@positional
class RemoteQueuedTurn:
    turn_id: str
    session_key: str
    position: int = 0


@record
class RemoteTurn:
    id: str
    session_key: str
    """The session that it came through."""
    state: TurnState
    content: str
    source: Source | None
    joined_into: str | None
    replaces: str | None
    """The turn that it replaces."""
    replaced_by: str | None
    """The turn that has replaced it."""
    attempt: int
    queued_at: int
    started_at: int | None
    finished_at: int | None
    outcome: Outcome | None
    reply: str | None
    error: str | None
    usage: Mapping[str, Any] | None


@record
class RemoteJob:
    id: str
    session_key: str
    name: str
    enabled: bool
    """Whether it is active: neither paused nor ended."""
    trigger: Trigger
    message: str
    """What the agent is asked; for a job of the system, the name of its function."""
    mode: Mode
    view: View
    policy: Policy
    protected: bool
    next_runs: Sequence[datetime]
    """The next three slots."""
    pending: bool
    """A run of it waits or is running."""
    failures: int
    last_run_at: int | None
    last_outcome: Outcome | None
    last_error: str | None
    created_at: int
    updated_at: int


@positional
class BlockingAutomation:
    """An automation that keeps its session from being deleted, in `SessionHasJobs.jobs`."""

    id: str
    name: str
    enabled: bool


@record
class RemoteExplanation:
    job_id: str
    session_key: str
    verdict: str
    text: str
    slot: datetime | None
    run_id: str | None
    facts: Mapping[str, Any]
    """For programs. Moments are texts (RFC 3339)."""
    next: Sequence[UpcomingSlot]


@record
class RemoteRun:
    id: str
    job_id: str
    session_key: str
    slot: int
    turn_id: str | None
    queued_at: int
    started_at: int | None
    finished_at: int | None
    outcome: Outcome | None
    reason: str | None
    lateness_ms: int
    missed_count: int
    prompt_ref: PromptRef | None
    prompt_vars: Mapping[str, Any] | None
    rendered_prompt: str | None
    attempt: int
    error: str | None
    usage: Mapping[str, Any] | None
    state: str | None
    delivery: str | None
    delivery_error: str | None


@record
class RemoteScheduledMessage:
    id: str
    session_key: str
    chat_type: str
    text: str
    send_at: int
    status: MessageStatus
    created_at: int
    updated_at: int
    created_by_tool_call_id: str | None
    cancelled_by_tool_call_id: str | None
    replace_existing: bool
    sent_message_id: str | None
    sent_at: int | None
    last_error: str | None


@record
class RemoteMessageScheduled:
    message: RemoteScheduledMessage
    cancelled: tuple[str, ...] = ()


@record
class RemoteDelivery:
    id: str
    run_id: str | None
    turn_id: str | None
    content: str
    state: DeliveryState
    not_before: int
    attempt: int
    created_at: int
    sent_at: int | None
    sent_message_id: str | None
    error: str | None


@record
class RemoteArchiveMade:
    session_key: str
    task_id: str
    archive_n: int


RemoteCommit: TypeAlias = RemoteArchiveMade | CommitSkipped


@record
class RemoteArchive:
    session_key: str
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
class RemoteTask:
    id: str
    type: str
    session_key: str
    archive_n: int
    state: TaskState
    stage: str
    attempt: int
    result: Mapping[str, Any] | None
    error: str | None
    created_at: int
    updated_at: int


@record
class RemoteMemory:
    id: str
    kind: MemoryKind
    topic: str
    content: str
    confidence: int
    session_id: str | None
    archive_n: int | None
    source_seq: int | None
    created_at: int
    updated_at: int


@record
class RemoteFoundMemory:
    memory: RemoteMemory
    score: float


@record
class RemoteContext:
    summary: str | None
    memories: Sequence[RemoteFoundMemory]
    messages: Sequence[Message]
    token_budget: int
    left_out: int
    summary_tokens: int
    memory_tokens: int
    message_tokens: int
