"""Records of a client: what the HTTP API tells about the kernel's records of these names.

A field has the name, the type and the value that it has in the kernel's record. Fields that only workers need
are missing, and `session_key` stands for `session_id`, because a client addresses sessions by key. Records
that the API tells completely (`Message`, `Recall`, `Event`, `LiveText`, `File`, `Guest`, `DaySet` and others)
are the kernel's own.
"""

from collections.abc import Mapping, Sequence
from datetime import date, datetime
from typing import Any, TypeAlias

from segue.kernel.transactions.memory.archive import CommitSkipped
from segue.model.action import View
from segue.model.auto_commit import AutoCommitPolicy
from segue.model.cost.budget import Budget
from segue.model.cost.forecast import ForecastVerdict
from segue.model.explain import UpcomingSlot
from segue.model.files import File
from segue.model.memory import ArchiveState, MemoryKind, TaskState
from segue.model.policy import Policy
from segue.model.prompts import Mode, PromptRef
from segue.model.records import Owner, Recall, Source
from segue.model.states import DeliveryState, MessageStatus, Outcome, TurnState
from segue.model.transcript import Message
from segue.record import positional, record
from segue.times.icalendar.timed_events import LeftOut
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
    budget: Budget | None
    unread: int
    queued: int
    cron_jobs: int
    recall: Recall | None
    upcoming_at: int | None
    upcoming_name: str | None
    quiet: Mapping[str, Any] | None
    quiet_until: int | None
    digest: Mapping[str, Any] | None
    held: int


@positional
class RemoteQueuedTurn:
    turn_id: str
    session_key: str
    position: int = 0


@record
class RemoteControl:
    """A reply to a job that was done at once, without a turn."""

    action: str
    """That of the control; `which` if it is not clear which job was meant."""
    job_id: str | None
    line: str
    """What was done, in a sentence."""
    undo: str | None = None
    """The reply that undoes it, if one does."""


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
    parts: tuple[File, ...]


@record
class RemoteFoundMessage:
    """A message that a search has found. `client.messages(session_key, after=seq - 1)` has all of it."""

    session_key: str
    session_title: str | None
    seq: int
    role: str
    excerpt: str
    at: int
    turn_id: str | None


@record
class RemoteDaySet:
    """A set of working days, without its days, which `client.days.get` has."""

    name: str
    known_until: date
    source: str


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
    model: str | None
    """The name of its model; None: the default model of the server."""
    look: str | None
    """The name of the model that looks first."""
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


@record
class RemoteImportedEvents:
    """The jobs that an import has made, or would make, and the events that it leaves out."""

    jobs: Sequence[RemoteJob]
    left_out: Sequence[LeftOut]
    made: bool


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
class RemoteForecastSlot:
    job_id: str
    slot: datetime
    verdict: ForecastVerdict
    reason: str | None
    note: str | None
    count: int
    collides_with: str | None


@record
class RemoteForecast:
    """`total` and each of `jobs` have the fields of `GET /sessions/{key}/forecast`."""

    session_key: str
    start: datetime
    end: datetime
    total: Mapping[str, Any]
    jobs: Sequence[Mapping[str, Any]]
    slots: Sequence[RemoteForecastSlot]
    days: Sequence[Mapping[str, Any]]
    """All days of the session's zone, with `date`, `runs`, and the runs of each job in `jobs`."""
    listed: bool


@record
class RemoteUsage:
    """`total`, each of `jobs` and each of `days` have the fields of `GET /sessions/{key}/usage`."""

    session_key: str
    timezone: str
    start: datetime
    end: datetime
    total: Mapping[str, Any]
    jobs: Sequence[Mapping[str, Any]]
    days: Sequence[Mapping[str, Any]]


@record
class RemotePreview:
    """What a job would be if it were made now."""

    name: str
    trigger: Trigger
    message: str
    policy: Policy
    next: Sequence[datetime]
    prompt_tokens: int
    context_tokens: int
    warnings: Sequence[str]


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
    held_until: int | None
    joins: str | None


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
