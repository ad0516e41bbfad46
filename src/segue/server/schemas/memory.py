"""Memory at the edge: its shapes, and how records become them."""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal, cast

from pydantic import BaseModel, ConfigDict, Field, JsonValue, StrictInt

from segue.kernel.transactions.archive import ArchiveMade, Result
from segue.kernel.transactions.sessions import UNSAID, MaybePolicy
from segue.memory.model_context import Context
from segue.model import auto_commit
from segue.model.auto_commit import MOST_KEPT
from segue.model.memory import Archive, FoundMemory, Index, Memory, MemoryKind, Task
from segue.model.transcript import Message
from segue.server.schemas import common, views
from segue.server.schemas.common import Body, MessageOut, Moment, Words

Kind = Literal["fact", "preference", "decision", "thread"]


class CommitSession(Body):
    keep_recent_count: Annotated[StrictInt, Field(ge=0, le=MOST_KEPT)] | None = Field(
        None, description="The newest messages stay live; without it, as many as the session's policy says."
    )

    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [{"keep_recent_count": 4}]})


class CommitOut(BaseModel):
    status: Literal["accepted", "skipped"]
    archived: bool
    task_id: str | None = None
    archive_id: int | None = None
    reason: Literal["no_messages", "all_within_keep_window"] | None = None


class TaskOut(BaseModel):
    task_id: str
    task_type: Literal["session_commit"]
    status: Literal["pending", "running", "cancelling", "completed", "failed", "cancelled"]
    stage: str
    session_key: str
    archive_id: int
    attempt: int
    result: dict[str, JsonValue] | None = Field(description="Of a completed one: what was learned.")
    error: str | None
    created_at: Moment
    updated_at: Moment


class TasksOut(BaseModel):
    tasks: list[TaskOut]
    next_cursor: str | None


class ArchiveShort(BaseModel):
    n: int
    state: Literal["extracting", "done", "failed"]
    reason: str = Field(description="`manual`, or the trigger that it was put away by.")
    summary: str | None
    error: str | None
    message_count: int
    tokens: int
    first_seq: int
    last_seq: int
    memories: int = Field(description="How many memories it made or changed.")
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
    restored: int = Field(description="Memories that are as they were before.")
    kept: int = Field(description="Memories that were changed since, and stay.")


class ChangeMemory(Body):
    content: Annotated[Words, Field(max_length=2_000)] | None = None
    topic: Annotated[Words, Field(max_length=200)] | None = None
    kind: Kind | None = None

    model_config = ConfigDict(
        extra="forbid", json_schema_extra={"examples": [{"content": "I live in Bern.", "topic": "home city"}]}
    )


class MemoryOut(BaseModel):
    id: str
    kind: Literal["fact", "preference", "decision", "thread", "passage"]
    topic: str
    content: str
    confidence: float = Field(description="From 0 to 1; 1 where a person wrote it.")
    source: dict[str, JsonValue] | None = Field(description="The archive and the message that it comes from.")
    score: float | None = Field(None, description="Of a search: how well it fits.")
    created_at: Moment
    updated_at: Moment


class MemoriesOut(BaseModel):
    memories: list[MemoryOut]
    next_cursor: str | None


class Forgotten(BaseModel):
    deleted: bool


class ContextOut(BaseModel):
    summary: str | None
    memories: list[MemoryOut]
    messages: list[MessageOut]
    tokens: dict[str, int]
    left_out: int = Field(description="Messages that the budget has no room for.")


class IndexMeta(BaseModel):
    updated_at: Moment


class IndexOut(BaseModel):
    meta: IndexMeta
    data: dict[str, dict[str, dict[str, dict[str, JsonValue]]]]


def policy_of(body: Body) -> MaybePolicy:
    """What a body says about its session's policy: one, none, or nothing."""
    if "auto_commit_policy" not in body.model_fields_set:
        return UNSAID
    given: common.AutoCommitPolicyIn | None = getattr(body, "auto_commit_policy", None)
    return None if given is None else auto_commit.AutoCommitPolicy(**given.model_dump())


def committed(done: Result) -> CommitOut:
    if isinstance(done, ArchiveMade):
        return CommitOut(status="accepted", archived=True, task_id=done.task_id, archive_id=done.archive_n)
    return CommitOut(status="skipped", archived=False, reason=cast(Any, done.reason))


def task(there: Task) -> TaskOut:
    return TaskOut(
        task_id=there.id,
        task_type=cast(Any, there.type),
        status=cast(Any, str(there.state)),
        stage=there.stage,
        session_key=there.session_key,
        archive_id=there.archive_n,
        attempt=there.attempt,
        result=None if there.result is None else dict(there.result),
        error=there.error,
        created_at=views.moment(there.created_at),
        updated_at=views.moment(there.updated_at),
    )


def archive_short(there: Archive) -> ArchiveShort:
    return ArchiveShort(**_of_archive(there))


def archive(there: Archive, messages: Sequence[Message], html: Mapping[str, str]) -> ArchiveOut:
    shown = [
        views.message(each, there.session_id, html=html[each.content], archived_seq=there.last_seq)
        for each in messages
    ]
    return ArchiveOut(**_of_archive(there), messages=shown)


def _of_archive(there: Archive) -> dict[str, Any]:
    return {
        "n": there.n,
        "state": str(there.state),
        "reason": there.reason,
        "summary": there.summary,
        "error": there.error,
        "message_count": there.message_count,
        "tokens": there.tokens,
        "first_seq": there.first_seq,
        "last_seq": there.last_seq,
        "memories": there.learned,
        "task_id": there.task_id,
        "created_at": views.moment(there.created_at),
        "finished_at": views.maybe_moment(there.finished_at),
        "undone_at": views.maybe_moment(there.undone_at),
    }


def memory(there: Memory, *, score: float | None = None) -> MemoryOut:
    source: dict[str, JsonValue] | None = None
    if there.session_id is not None:
        source = {"session_id": there.session_id, "archive": there.archive_n, "seq": there.source_seq}
    return MemoryOut(
        id=there.id,
        kind=cast(Any, str(there.kind)),
        topic="" if there.kind is MemoryKind.PASSAGE else there.topic,
        content=there.content,
        confidence=there.confidence / 100,
        source=source,
        score=score,
        created_at=views.moment(there.created_at),
        updated_at=views.moment(there.updated_at),
    )


def found(there: FoundMemory) -> MemoryOut:
    return memory(there.memory, score=there.score)


def context(there: Context, html: Mapping[str, str], session_id: str, archived_seq: int) -> ContextOut:
    tokens = {
        "summary": there.summary_tokens,
        "memories": there.memory_tokens,
        "messages": there.message_tokens,
        "total": there.summary_tokens + there.memory_tokens + there.message_tokens,
        "budget": there.token_budget,
    }
    return ContextOut(
        summary=there.summary,
        memories=[found(each) for each in there.memories],
        messages=[
            views.message(each, session_id, html=html[each.content], archived_seq=archived_seq)
            for each in there.messages
        ],
        tokens=tokens,
        left_out=there.left_out,
    )


def index(there: Index, now: int) -> IndexOut:
    data: dict[str, dict[str, dict[str, dict[str, JsonValue]]]] = {}
    for member in there.members:
        data.setdefault(member.owner.account, {}).setdefault(member.owner.user, {})[member.key] = {}
    changed_at = now if there.changed_at is None else there.changed_at
    return IndexOut(meta=IndexMeta(updated_at=views.moment(changed_at)), data=data)
