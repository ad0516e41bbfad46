"""The shapes at the edge: what a body may hold, and what an answer holds. `views.py` makes the answers.

Bodies refuse fields they do not know. Moments are RFC 3339 with an offset, ids are strings.
"""

import json
from typing import Annotated, Any, Literal, TypeAlias

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    JsonValue,
    StrictBool,
    StrictInt,
    model_validator,
)

from segue.kernel.api.turns import MOST_AT_ONCE
from segue.model.auto_commit import MOST_KEPT
from segue.model.text_checks import MAX_KEY, MAX_NAME, MAX_TEXT

MOST_METADATA = 16_384
KEY_PATTERN = r"^[^\s/:\x00-\x1f\x7f]+:[^\s/\x00-\x1f\x7f]+$"
_PART_PATTERN = r"^[^\s/:\x00-\x1f\x7f]+$"
_WORDS_PATTERN = r"^[^\x00]*\S[^\x00]*$"


def _storable(metadata: dict[str, Any]) -> dict[str, Any]:
    try:
        length = len(json.dumps(metadata, ensure_ascii=False, allow_nan=False).encode())
    except (ValueError, RecursionError):
        raise ValueError("it holds a number or a character that JSON has not") from None
    if length > MOST_METADATA:
        raise ValueError(f"it is {length:,} bytes long as JSON; the most is {MOST_METADATA:,}")
    return metadata


Moment: TypeAlias = Annotated[str, Field(json_schema_extra={"format": "date-time"})]
Words: TypeAlias = Annotated[str, Field(min_length=1, max_length=MAX_TEXT, pattern=_WORDS_PATTERN)]
Name: TypeAlias = Annotated[str, Field(min_length=1, max_length=MAX_NAME, pattern=_WORDS_PATTERN)]
Key: TypeAlias = Annotated[
    str, Field(pattern=KEY_PATTERN, min_length=3, max_length=MAX_KEY, examples=["websocket:3f2a"])
]
KeyPart: TypeAlias = Annotated[str, Field(pattern=_PART_PATTERN, min_length=1, max_length=90)]
Metadata: TypeAlias = Annotated[dict[str, JsonValue], AfterValidator(_storable)]
Busy: TypeAlias = Literal["enqueue", "inject", "interrupt", "reject"]
WrittenRole: TypeAlias = Literal["user", "assistant", "system"]

_MOST = 1_000_000_000
_MOMENT = "2026-11-16T09:00:00.000+00:00"


class Body(BaseModel):
    model_config = ConfigDict(extra="forbid")


class AutoCommitPolicyIn(Body):
    """When a session is put away by itself. A trigger that is null is off."""

    enabled: StrictBool
    token_threshold: StrictInt | None = Field(None, gt=0, le=_MOST)
    message_count_threshold: StrictInt | None = Field(None, gt=0, le=_MOST)
    idle_timeout_seconds: StrictInt | None = Field(None, gt=0, le=_MOST)
    min_commit_interval_seconds: StrictInt = Field(0, ge=0, le=_MOST)
    keep_recent_count: StrictInt = Field(0, ge=0, le=MOST_KEPT)


class ChangeAutoCommitPolicy(Body):
    """The fields that are given are changed; the others stay."""

    enabled: StrictBool | None = None
    token_threshold: StrictInt | None = Field(None, gt=0, le=_MOST)
    message_count_threshold: StrictInt | None = Field(None, gt=0, le=_MOST)
    idle_timeout_seconds: StrictInt | None = Field(None, gt=0, le=_MOST)
    min_commit_interval_seconds: StrictInt | None = Field(None, ge=0, le=_MOST)
    keep_recent_count: StrictInt | None = Field(None, ge=0, le=MOST_KEPT)


TimesZone: TypeAlias = Annotated[
    str | None,
    Field(
        max_length=MAX_NAME,
        description="The IANA zone of a time that names none; left out, the session's.",
        examples=["Europe/Berlin"],
    ),
]


class OpenSession(Body):
    """A key, or the parts of one, or neither: then a new key is made."""

    key: Key | None = Field(None, description="`channel:chat_id`")
    channel: KeyPart | None = Field(None, description="Without a key; `websocket` where it is left out.")
    chat_id: KeyPart | None = Field(None, description="Without a key; made where it is left out.")
    chat_type: Literal["private", "group"] = "private"
    title: Name | None = None
    timezone: str | None = Field(None, max_length=MAX_NAME, examples=["Europe/Berlin"])
    metadata: Metadata = Field(default_factory=dict)
    auto_commit_policy: AutoCommitPolicyIn | None = None

    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={"examples": [{"key": "websocket:3f2a", "timezone": "Europe/Berlin"}]},
    )


class ChangeSession(Body):
    """What is given is changed; null clears it."""

    title: Name | None = None
    timezone: str | None = Field(None, max_length=MAX_NAME)
    when_busy: Busy | None = None
    metadata: Metadata | None = None
    auto_commit_policy: ChangeAutoCommitPolicy | None = None

    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [{"title": "Travel"}]})


class NewTurn(Body):
    content: Words = Field(description="What the user says.")
    when_busy: Busy | None = Field(
        None, description="What to do while a turn is under way; else the session's rule, else the server's."
    )

    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [{"content": "What is new?"}]})


class WriteMessage(Body):
    role: WrittenRole
    content: Words
    auto_commit_policy: AutoCommitPolicyIn | None = None

    model_config = ConfigDict(
        extra="forbid", json_schema_extra={"examples": [{"role": "user", "content": "I am in Rome."}]}
    )


class BatchMessage(Body):
    role: WrittenRole
    content: Words

    @model_validator(mode="before")
    @classmethod
    def _has_no_policy(cls, given: Any) -> Any:
        if isinstance(given, dict) and "auto_commit_policy" in given:
            raise ValueError(
                "Per-message auto_commit_policy is not allowed in batch requests; "
                "use the top-level auto_commit_policy field instead"
            )
        return given


class WriteMessages(Body):
    messages: list[BatchMessage] = Field(min_length=1, max_length=MOST_AT_ONCE)
    auto_commit_policy: AutoCommitPolicyIn | None = None

    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={
            "examples": [
                {
                    "messages": [
                        {"role": "user", "content": "I am in Rome."},
                        {"role": "assistant", "content": "Noted."},
                    ]
                }
            ]
        },
    )


class Login(Body):
    key: str = Field(min_length=1, max_length=1000, description="An API key of this server.")


class MarkdownIn(Body):
    text: Words

    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [{"text": "It is **green**."}]})


class RenderedOut(BaseModel):
    html: str


class WhenOut(BaseModel):
    phrase: str = Field(description="What was read, as it stands in the sentence.")
    repeats: bool
    next: list[Moment] = Field(description="One moment, or the first three of a schedule.")
    passed: bool = Field(description="The one moment is over: nothing can be set for it.")


class FoundOut(BaseModel):
    when: WhenOut | None = Field(description="Null unless the verdict is `read`.")
    verdict: Literal["read", "ambiguous", "not_read"]
    readings: list[str] = Field(description="What it can mean, if it is ambiguous; for people to read.")
    unread: str = Field(
        description="The words of time that were not read. Empty if all were, and if there are none."
    )


class LogOut(BaseModel):
    events: list[dict[str, JsonValue]]
    next_cursor: str | None


class RecallOut(BaseModel):
    id: str
    session_id: str = Field(description="The session's key.", examples=["websocket:3f2a"])
    call_type: Literal["once", "recurring", "immediate"]
    trigger_at: Moment = Field(
        description="When it fires next; while it waits for a busy session, since when; of one that is over, "
        "its last moment."
    )
    interval_seconds: int | float | None
    internal_comment: str | None
    additional_context_message: str
    status: Literal["pending", "running", "fired", "cancelled"] = Field(
        description="`pending` until its turn starts, also while it waits for a busy session."
    )
    created_at: Moment
    updated_at: Moment


class SessionOut(BaseModel):
    key: str = Field(examples=["websocket:3f2a"])
    channel: str
    chat_id: str
    chat_type: Literal["private", "group"]
    title: str | None = Field(description="Given, or the first line of the first message.")
    timezone: str | None
    account: str
    user: str
    created_at: Moment = Field(examples=[_MOMENT])
    last_message_at: Moment | None
    message_count: int = Field(description="Messages that no commit has put away.")
    pending_tokens: int = Field(description="What these come to, by estimate.")
    last_line: str | None = Field(description="How the newest message begins, whoever wrote it.")
    last_line_at: Moment | None
    keep_recent_count: int
    auto_commit_policy: AutoCommitPolicyIn | None
    auto_commit_last_error: str
    auto_commit_last_error_at: str = Field(description="Empty when nothing has failed since.")
    state: Literal["idle", "running"]
    queued: int = Field(description="Turns that wait.")
    recall: RecallOut | None = Field(description="The pending one, else the one that runs.")
    automation_count: int
    when_busy: Busy | None
    metadata: dict[str, JsonValue]


class SessionsOut(BaseModel):
    sessions: list[SessionOut]
    next_cursor: str | None = Field(description="Give it as `cursor` for what follows; null at the end.")


class BlockingJob(BaseModel):
    id: str
    name: str
    enabled: bool


class Deleted(BaseModel):
    """`{"deleted": true}`, or false with the automations that stand in the way."""

    deleted: bool
    blocked_by_automations: bool | None = None
    automations: list[BlockingJob] | None = None


class SourceOut(BaseModel):
    kind: Literal["cron", "recall", "scheduled_send", "system"]
    job_id: str
    label: str
    run_id: str


class MessageOut(BaseModel):
    id: str
    seq: int = Field(description="The number of its event in the session's log.")
    role: Literal["user", "assistant", "system", "tool"]
    content: str
    html: str = Field(description="The content as Markdown, rendered and sanitised.")
    created_at: Moment
    turn_id: str | None
    source: SourceOut | None = Field(description="Null for what a user caused.")
    metadata: dict[str, JsonValue]
    archived: bool
    delivery: Literal["sent", "failed", "unknown"] | None = Field(
        description="Of an answer that goes out through a channel; null while it is on its way."
    )


class MessagesOut(BaseModel):
    messages: list[MessageOut]
    next_cursor: str | None


class TurnAccepted(BaseModel):
    turn_id: str
    state: Literal["queued"]
    position: int = Field(description="How many turns stand before it.")


class TurnOut(BaseModel):
    turn_id: str
    session_key: str
    state: Literal["queued", "running", "done", "failed", "cancelled"]
    outcome: str | None
    content: str
    reply: str | None = Field(description="The agent's own words, if it had any.")
    error: str | None
    usage: dict[str, JsonValue] | None
    source: SourceOut | None
    attempt: int
    joined_into: str | None = Field(description="The turn that took its words in (`when_busy: inject`).")
    queued_at: Moment
    started_at: Moment | None
    finished_at: Moment | None


class Stopped(BaseModel):
    stopped: bool
    turn_id: str | None


class MessageWritten(BaseModel):
    session_key: str
    message_count: int
    pending_tokens: int


class MessagesWritten(MessageWritten):
    added: int


class PromptRefOut(BaseModel):
    id: str
    version: int
    sha256: str = Field(description="Of the rendered prompt.")


class RunOut(BaseModel):
    run_id: str
    job_id: str
    session_key: str
    turn_id: str | None
    state: Literal["queued", "running"] | None = Field(description="Until it has an outcome.")
    slot: Moment = Field(description="The moment it was due.")
    queued_at: Moment
    started_at: Moment | None
    finished_at: Moment | None
    outcome: str | None
    reason: str | None
    lateness_ms: int
    attempt: int
    missed_count: int
    prompt_ref: PromptRefOut | None
    prompt_vars: dict[str, JsonValue] | None
    rendered_prompt: str | None
    error: str | None
    usage: dict[str, JsonValue] | None
    delivery: Literal["sent", "failed", "unknown"] | None = Field(
        description="Of its answer, if that goes out through a channel; null while it is on its way."
    )
    delivery_error: str | None = Field(description="Why its answer could not be delivered.")


class RunsOut(BaseModel):
    runs: list[RunOut]
    next_cursor: str | None


class SchedulerOut(BaseModel):
    alive: bool
    lag_ms: int = Field(description="By how much the most overdue job is late.")


HealthReason = Literal[
    "disk_full",
    "read_only",
    "disk_error",
    "no_memory",
    "locked",
    "too_many_connections",
    "unreachable",
    "damaged",
    "database_gone",
    "workers_stopped",
    "jobs_overdue",
]


class Health(BaseModel):
    status: Literal["ok", "degraded", "unavailable"]
    reason: HealthReason | None
    version: str
    database: Literal["sqlite", "postgres"]
    capabilities: list[str]
    scheduler: SchedulerOut


class Who(BaseModel):
    account: str
    user: str
    role: Literal["user", "admin"]


class Problem(BaseModel):
    """RFC 9457, with a `code` that programs may rely on."""

    type: str = Field(examples=["about:blank"])
    title: str
    status: int
    detail: str
    code: str = Field(examples=["not_found"])
    field: str | None = Field(None, description="Of a validation error: the field that is wrong.")
