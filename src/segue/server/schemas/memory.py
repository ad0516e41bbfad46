"""Schemas of memory: commits, tasks, archives and memories, and conversions from records."""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal, cast

from pydantic import BaseModel, ConfigDict, Field, JsonValue, StrictInt

from segue.kernel.transactions.memory.archive import ArchiveMade, CommitOutcome
from segue.kernel.transactions.sessions import UNSET, MaybePolicy
from segue.memory.model_context import Context
from segue.model import auto_commit
from segue.model.auto_commit import MOST_KEPT
from segue.model.memory import Archive, FoundMemory, Index, Memory, MemoryKind, Task
from segue.model.transcript import Message
from segue.server.schemas import common, views
from segue.server.schemas.body import Body
from segue.server.schemas.common import MessageOut, Moment, NonBlankText

Kind = Literal["fact", "preference", "decision", "thread"]


class CommitSession(Body):
    keep_recent_count: Annotated[StrictInt, Field(ge=0, le=MOST_KEPT)] | None = Field(
        None, description="How many of the newest messages are not archived. Default: the session's policy."
    )

    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [{"keep_recent_count": 4}]})


class CommitOut(BaseModel):
    status: Literal["accepted", "skipped"]
    archived: bool
    task_id: str | None = None
    archive_id: str | None = None
    reason: Literal["no_messages", "all_within_keep_window"] | None = None


class TaskOut(BaseModel):
    task_id: str
    task_type: Literal["session_commit"]
    status: Literal["pending", "running", "cancelling", "completed", "failed", "cancelled"]
    stage: str
    session_key: str
    archive_id: str
    attempt: int
    result: dict[str, JsonValue] | None = Field(description="What a completed task learned.")
    error: str | None
    created_at: Moment
    updated_at: Moment


class TasksOut(BaseModel):
    tasks: list[TaskOut]
    next_cursor: str | None


class ArchiveShort(BaseModel):
    n: int
    state: Literal["extracting", "done", "failed"]
    reason: str = Field(description="`manual`, or the trigger of the automatic commit.")
    summary: str | None
    error: str | None
    message_count: int
    tokens: int
    first_seq: int
    last_seq: int
    memories: int = Field(description="Number of memories that it created or changed.")
    task_id: str
    created_at: Moment
    finished_at: Moment | None
    undone_at: Moment | None


class ArchiveOut(ArchiveShort):
    messages: list[MessageOut]


class ArchivesOut(BaseModel):
    archives: list[ArchiveShort]
    next_cursor: str | None


class UndoneOut(BaseModel):
    undone: bool
    restored: int = Field(description="Number of memories that were restored.")
    kept: int = Field(description="Number of memories that were changed later and therefore kept.")


class ChangeMemory(Body):
    content: Annotated[NonBlankText, Field(max_length=2_000)] | None = None
    topic: Annotated[NonBlankText, Field(max_length=200)] | None = None
    kind: Kind | None = None

    model_config = ConfigDict(
        extra="forbid", json_schema_extra={"examples": [{"content": "I live in Bern.", "topic": "home city"}]}
    )


class MemoryOut(BaseModel):
    id: str
    kind: Literal["fact", "preference", "decision", "thread", "passage"]
    topic: str
    content: str
    confidence: float = Field(description="From 0 to 1; 1 if a user wrote it.")
    source: dict[str, JsonValue] | None = Field(
        description="The archive and the message that it was learned from."
    )
    score: float | None = Field(None, description="Relevance in a search.")
    created_at: Moment
    updated_at: Moment


class MemoriesOut(BaseModel):
    memories: list[MemoryOut]
    next_cursor: str | None


class MemoryDeleted(BaseModel):
    deleted: bool


class ContextOut(BaseModel):
    summary: str | None
    memories: list[MemoryOut]
    messages: list[MessageOut]
    tokens: dict[str, int]
    left_out: int = Field(description="Number of messages beyond the token budget.")


class IndexMeta(BaseModel):
    updated_at: Moment


class IndexOut(BaseModel):
    meta: IndexMeta
    data: dict[str, dict[str, dict[str, dict[str, JsonValue]]]]


def policy_of(body: Body) -> MaybePolicy:
    """The policy in a body: a policy, None to clear it, or UNSET if the field is not given."""
    if "auto_commit_policy" not in body.model_fields_set:
        return UNSET
    given: common.AutoCommitPolicyIn | None = getattr(body, "auto_commit_policy", None)
    return None if given is None else auto_commit.AutoCommitPolicy(**given.model_dump())


def commit_out(result: CommitOutcome) -> CommitOut:
    if isinstance(result, ArchiveMade):
        return CommitOut(
            status="accepted", archived=True, task_id=result.task_id, archive_id=str(result.archive_n)
        )
    return CommitOut(status="skipped", archived=False, reason=cast(Any, result.reason))


def task(record: Task) -> TaskOut:
    return TaskOut(
        task_id=record.id,
        task_type=cast(Any, record.type),
        status=cast(Any, str(record.state)),
        stage=record.stage,
        session_key=record.session_key,
        archive_id=str(record.archive_n),
        attempt=record.attempt,
        result=None if record.result is None else dict(record.result),
        error=record.error,
        created_at=views.moment(record.created_at),
        updated_at=views.moment(record.updated_at),
    )


def archive_short(record: Archive) -> ArchiveShort:
    return ArchiveShort(**_archive_fields(record))


def archive(record: Archive, messages: Sequence[Message], html: Mapping[str, str]) -> ArchiveOut:
    messages_out = [
        views.message(each, record.session_id, html=html[each.content], archived_seq=record.last_seq)
        for each in messages
    ]
    return ArchiveOut(**_archive_fields(record), messages=messages_out)


def _archive_fields(record: Archive) -> dict[str, Any]:
    return {
        "n": record.n,
        "state": str(record.state),
        "reason": record.reason,
        "summary": record.summary,
        "error": record.error,
        "message_count": record.message_count,
        "tokens": record.tokens,
        "first_seq": record.first_seq,
        "last_seq": record.last_seq,
        "memories": record.learned,
        "task_id": record.task_id,
        "created_at": views.moment(record.created_at),
        "finished_at": views.maybe_moment(record.finished_at),
        "undone_at": views.maybe_moment(record.undone_at),
    }


def memory(record: Memory, *, score: float | None = None) -> MemoryOut:
    source: dict[str, JsonValue] | None = None
    if record.session_id is not None:
        source = {"session_id": record.session_id, "archive": record.archive_n, "seq": record.source_seq}
    return MemoryOut(
        id=record.id,
        kind=cast(Any, str(record.kind)),
        topic="" if record.kind is MemoryKind.PASSAGE else record.topic,
        content=record.content,
        confidence=record.confidence / 100,
        source=source,
        score=score,
        created_at=views.moment(record.created_at),
        updated_at=views.moment(record.updated_at),
    )


def found_memory(record: FoundMemory) -> MemoryOut:
    return memory(record.memory, score=record.score)


def context(record: Context, html: Mapping[str, str], session_id: str, archived_seq: int) -> ContextOut:
    tokens = {
        "summary": record.summary_tokens,
        "memories": record.memory_tokens,
        "messages": record.message_tokens,
        "total": record.summary_tokens + record.memory_tokens + record.message_tokens,
        "budget": record.token_budget,
    }
    return ContextOut(
        summary=record.summary,
        memories=[found_memory(each) for each in record.memories],
        messages=[
            views.message(each, session_id, html=html[each.content], archived_seq=archived_seq)
            for each in record.messages
        ],
        tokens=tokens,
        left_out=record.left_out,
    )


def index(record: Index, now: int) -> IndexOut:
    data: dict[str, dict[str, dict[str, dict[str, JsonValue]]]] = {}
    for member in record.members:
        data.setdefault(member.owner.account, {}).setdefault(member.owner.user, {})[member.key] = {}
    changed_at = now if record.changed_at is None else record.changed_at
    return IndexOut(meta=IndexMeta(updated_at=views.moment(changed_at)), data=data)
