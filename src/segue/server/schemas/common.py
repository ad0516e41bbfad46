"""Pydantic models of request bodies and responses. `views.py` converts records to responses.

Bodies refuse unknown fields. Times are RFC 3339 with an offset. Ids are strings.
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

from segue.kernel.api.log import MOST_AT_ONCE
from segue.model.auto_commit import MOST_KEPT
from segue.model.text_checks import MAX_KEY, MAX_NAME, MAX_TEXT
from segue.server.schemas.body import Body, broken_rule
from segue.server.schemas.budgets import BudgetIn
from segue.server.schemas.files import PartOut, Sent, WithParts
from segue.server.schemas.quiet import DigestIn, DigestOut, QuietIn, QuietOut

MOST_METADATA = 16_384
KEY_PATTERN = r"^[^\s/:\x00-\x1f\x7f]+:[^\s/\x00-\x1f\x7f]+$"
_CHANNEL_PATTERN = r"^[^\s/:\x00-\x1f\x7f]+$"
_CHAT_PATTERN = r"^[^\s/\x00-\x1f\x7f]+$"
_NON_BLANK = r"^[^\x00]*\S[^\x00]*$"


def _storable(metadata: dict[str, Any]) -> dict[str, Any]:
    try:
        length = len(json.dumps(metadata, ensure_ascii=False, allow_nan=False).encode())
    except (ValueError, RecursionError):
        raise ValueError("it holds a number or a character that JSON does not allow") from None
    if length > MOST_METADATA:
        raise ValueError(f"it is {length:,} bytes long as JSON; the limit is {MOST_METADATA:,}")
    return metadata


Moment: TypeAlias = Annotated[str, Field(json_schema_extra={"format": "date-time"})]
NonBlankText: TypeAlias = Annotated[str, Field(min_length=1, max_length=MAX_TEXT, pattern=_NON_BLANK)]
Name: TypeAlias = Annotated[str, Field(min_length=1, max_length=MAX_NAME, pattern=_NON_BLANK)]
Key: TypeAlias = Annotated[
    str, Field(pattern=KEY_PATTERN, min_length=3, max_length=MAX_KEY, examples=["websocket:3f2a"])
]
Channel: TypeAlias = Annotated[str, Field(pattern=_CHANNEL_PATTERN, min_length=1, max_length=90)]
ChatId: TypeAlias = Annotated[str, Field(pattern=_CHAT_PATTERN, min_length=1, max_length=109)]
MessageId: TypeAlias = Annotated[str, Field(min_length=1, max_length=200, pattern=r"^[^\x00]+$")]
Metadata: TypeAlias = Annotated[dict[str, JsonValue], AfterValidator(_storable)]
Busy: TypeAlias = Literal["enqueue", "inject", "interrupt", "reject"]
WrittenRole: TypeAlias = Literal["user", "assistant", "system"]

_MOST = 1_000_000_000
_MOMENT = "2026-11-16T09:00:00.000+00:00"


class AutoCommitPolicyIn(Body):
    """When a session is archived automatically. A trigger that is null is off."""

    enabled: StrictBool
    token_threshold: StrictInt | None = Field(None, gt=0, le=_MOST)
    message_count_threshold: StrictInt | None = Field(None, gt=0, le=_MOST)
    idle_timeout_seconds: StrictInt | None = Field(None, gt=0, le=_MOST)
    min_commit_interval_seconds: StrictInt = Field(0, ge=0, le=_MOST)
    keep_recent_count: StrictInt = Field(0, ge=0, le=MOST_KEPT)


class ChangeAutoCommitPolicy(Body):
    """Changes the given fields only."""

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
        description="The IANA zone for a time without a zone. Default: the session's zone.",
        examples=["Europe/Berlin"],
    ),
]


class OpenSession(Body):
    """Give a key, or its parts, or neither: then the server makes a new key."""

    key: Key | None = Field(None, description="`channel:chat_id`")
    channel: Channel | None = Field(None, description="Use instead of a key. Default: `websocket`.")
    chat_id: ChatId | None = Field(None, description="Use instead of a key. Default: a new id.")
    chat_type: Literal["private", "group"] = "private"
    title: Name | None = None
    timezone: str | None = Field(None, max_length=MAX_NAME, examples=["Europe/Berlin"])
    when_busy: Busy | None = None
    metadata: Metadata = Field(default_factory=dict)
    auto_commit_policy: AutoCommitPolicyIn | None = None

    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={"examples": [{"key": "websocket:3f2a", "timezone": "Europe/Berlin"}]},
    )


class ChangeSession(Body):
    """Changes the given fields only; null clears a field."""

    title: Name | None = None
    timezone: str | None = Field(None, max_length=MAX_NAME)
    days: str | None = Field(
        None,
        max_length=MAX_NAME,
        examples=["CN"],
        description="The day set that words such as `every workday at 9` mean here.",
    )
    budget: BudgetIn | None = Field(
        None, description="What all scheduled runs of the session may use in a period."
    )
    when_busy: Busy | None = None
    quiet: QuietIn | None = Field(
        None, description="Quiet hours. Null: there are none, whatever the settings say."
    )
    digest: DigestIn | None = Field(None, description="When answers that jobs collect are sent.")
    metadata: Metadata | None = None
    auto_commit_policy: ChangeAutoCommitPolicy | None = None

    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [{"title": "Travel"}]})


class NewTurn(Sent):
    """A user's message."""

    when_busy: Busy | None = Field(
        None,
        description="What to do while a turn is running. Default: the session's setting, then the server's.",
    )

    reply_to: MessageId | None = Field(
        None,
        description="The message that this one answers. If a job said it and `content` is a control such as "
        "`stop`, `skip`, `snooze 1h`, `make it 8`, `why?` or `done`, it is done at once, without a turn.",
    )
    as_turn: StrictBool = Field(
        False, description="Start a turn in any case, also if the content is an order to a job."
    )

    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [{"content": "What is new?"}]})


SaidAt: TypeAlias = Annotated[
    str | None,
    Field(
        max_length=40,
        json_schema_extra={"format": "date-time"},
        description="When it was said, RFC 3339, not in the future. The order is that of writing.",
    ),
]


class WriteMessage(WithParts):
    role: WrittenRole
    created_at: SaidAt = None
    auto_commit_policy: AutoCommitPolicyIn | None = None

    model_config = ConfigDict(
        extra="forbid", json_schema_extra={"examples": [{"role": "user", "content": "I am in Rome."}]}
    )


class BatchMessage(WithParts):
    role: WrittenRole
    created_at: SaidAt = None

    @model_validator(mode="before")
    @classmethod
    def _has_no_policy(cls, given: Any) -> Any:
        if isinstance(given, dict) and "auto_commit_policy" in given:
            raise broken_rule(
                "auto_commit_policy",
                "Per-message auto_commit_policy is not allowed in batch requests; "
                "use the top-level auto_commit_policy field instead",
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


class MarkdownIn(Body):
    text: NonBlankText

    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [{"text": "It is **green**."}]})


class RenderedOut(BaseModel):
    html: str


class WhenOut(BaseModel):
    phrase: str = Field(description="The words of the sentence that were read as a time.")
    repeats: bool
    next: list[Moment] = Field(description="The time, or the first three times of a schedule.")
    passed: bool = Field(description="The time is in the past.")


class FoundTimeOut(BaseModel):
    when: WhenOut | None = Field(description="Null unless the verdict is `read`.")
    verdict: Literal["read", "ambiguous", "not_read"]
    readings: list[str] = Field(description="The possible meanings of an ambiguous time, as text for users.")
    unread: str = Field(description="The words of time that were not read.")
    unless: Literal["answered", "done"] | None = Field(
        description="The condition that the sentence names: `unless I have answered`, `until done`."
    )


class LogOut(BaseModel):
    events: list[dict[str, JsonValue]]
    next_cursor: str | None


class RecallOut(BaseModel):
    id: str
    session_id: str = Field(description="The session's key.", examples=["websocket:3f2a"])
    call_type: Literal["once", "recurring", "immediate"]
    trigger_at: Moment = Field(
        description="When it fires next. While it waits for a busy session: since when it waits. After its "
        "end: its last time."
    )
    interval_seconds: int | float | None
    internal_comment: str | None
    additional_context_message: str
    status: Literal["pending", "running", "fired", "cancelled"] = Field(
        description="`pending` until its turn starts, also while it waits for a busy session."
    )
    created_at: Moment
    updated_at: Moment


class Upcoming(BaseModel):
    at: Moment
    name: str


class SessionOut(BaseModel):
    id: str = Field(description="Differs from that of a deleted session with the same key.")
    key: str = Field(examples=["websocket:3f2a"])
    channel: str
    chat_id: str
    chat_type: Literal["private", "group"]
    title: str | None = Field(description="The given title, or the first line of the first message.")
    timezone: str | None
    days: str | None = Field(description="The day set that words about working days mean here.")
    budget: dict[str, JsonValue] | None = Field(
        description="What its scheduled runs may use in a period.", examples=[{"usd": 5, "per": "month"}]
    )
    account: str
    user: str
    created_at: Moment = Field(examples=[_MOMENT])
    last_message_at: Moment | None
    message_count: int = Field(description="Messages that are not archived.")
    pending_tokens: int = Field(description="Estimated number of tokens in these messages.")
    last_seq: int = Field(description="The number of the newest event in its log.")
    last_line: str | None = Field(description="The beginning of the newest message.")
    last_line_at: Moment | None
    last_activity_at: Moment = Field(
        description="When something last happened in it, by a user or a schedule."
    )
    unread: int = Field(description="Messages that its owner has not read.")
    upcoming: Upcoming | None = Field(description="What happens next in it, or null.")
    keep_recent_count: int
    auto_commit_policy: AutoCommitPolicyIn | None
    auto_commit_last_error: str
    auto_commit_last_error_at: str = Field(description="Empty if there is no error.")
    state: Literal["idle", "running"]
    queued: int = Field(description="Number of queued turns.")
    waiting_until: Moment | None = Field(
        description="Set while the agent waits for the user's answer: scheduled turns are held until then."
    )
    quiet: QuietOut | None = Field(description="Its quiet hours, or those of the settings.")
    quiet_until: Moment | None = Field(description="Set during quiet hours: when they end.")
    digest: DigestOut | None = Field(description="When answers that jobs collect are sent.")
    held: int = Field(description="Answers that wait to be sent.")
    recall: RecallOut | None = Field(description="The pending recall, or the running one, or null.")
    automation_count: int
    when_busy: Busy | None
    metadata: dict[str, JsonValue]


class ChangedSessionOut(SessionOut):
    notice: str | None = Field(
        None, description="What the change does not do, such as a digest without effect."
    )


class HeldSentOut(BaseModel):
    sent: int = Field(description="Number of answers that waited and are sent now.")


class SessionsOut(BaseModel):
    sessions: list[SessionOut]
    next_cursor: str | None = Field(
        description="Pass it as `cursor` to get the next page; null on the last page."
    )


class BlockingJob(BaseModel):
    id: str
    name: str
    enabled: bool


class Deleted(BaseModel):
    """`{"deleted": true}`, or false with the automations that prevent the deletion."""

    deleted: bool
    blocked_by_automations: bool | None = None
    automations: list[BlockingJob] | None = None


class SourceOut(BaseModel):
    kind: Literal["cron", "recall", "scheduled_send", "system"]
    job_id: str
    label: str
    run_id: str


class UndeliveredOut(BaseModel):
    """The answer that a note is about."""

    seq: int
    turn_id: str | None
    delivery: Literal["failed", "unknown"]
    reason: str | None


class MessageOut(BaseModel):
    id: str
    seq: int = Field(description="The number of its event in the session's log.")
    role: Literal["user", "assistant", "system", "tool"]
    content: str
    html: str = Field(description="The content as Markdown, rendered and sanitised.")
    parts: list[PartOut] = Field(description="The files that were sent with it.")
    created_at: Moment
    turn_id: str | None
    source: SourceOut | None = Field(description="The job that caused the message; null if a user did.")
    metadata: dict[str, JsonValue]
    archived: bool
    delivery: Literal["sent", "failed", "unknown"] | None = Field(
        description="Delivery of an answer through a channel; null until it is decided, or if none is needed."
    )
    held_until: Moment | None = Field(
        description="Of an answer that waits for the end of quiet hours or for a digest: when it is sent."
    )
    outcome: str | None = Field(description="Of an answer: how its turn ended.", examples=["ok"])
    undelivered: UndeliveredOut | None = Field(
        description="Of a note that an answer was not delivered: which answer, and why."
    )
    replaces: str | None = Field(description="On the first message of a turn: the turn that it replaces.")
    replaced_by: str | None = Field(description="The turn that has replaced its turn; show that one instead.")


class MessagesOut(BaseModel):
    messages: list[MessageOut]
    next_cursor: str | None


class FoundMessageOut(BaseModel):
    id: str
    session_key: str
    session_title: str | None
    seq: int = Field(description="The number of its event in the session's log.")
    role: Literal["user", "assistant", "system", "tool"]
    excerpt: str = Field(description="The text around the first word that was found, on one line.")
    created_at: Moment
    turn_id: str | None
    replaced_by: str | None = Field(description="The turn that has replaced its turn.")


class FoundMessagesOut(BaseModel):
    messages: list[FoundMessageOut]
    next_cursor: str | None


class MessageWritten(BaseModel):
    session_key: str
    seq: int = Field(description="The number of the message, or of the last one.")
    message_count: int
    pending_tokens: int


class MessagesWritten(MessageWritten):
    added: int


class Problem(BaseModel):
    """An error in the format of RFC 9457, with a stable `code`."""

    type: str = Field(examples=["about:blank"])
    title: str
    status: int
    detail: str
    code: str = Field(examples=["not_found"])
    field: str | None = Field(None, description="The invalid field of a validation error.")
    jobs: list[str] | None = Field(None, description="With `in_use`: the ids of the jobs that use it.")
