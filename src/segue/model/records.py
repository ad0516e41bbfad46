"""Records: the rows of the store as immutable values, with properties that follow from their fields."""

import random
from collections.abc import Collection, Mapping, Sequence
from dataclasses import field
from typing import Any, NamedTuple, TypeAlias

from segue.model.action import Action
from segue.model.auto_commit import Unarchived
from segue.model.cost.budget import Budget, Estimate
from segue.model.files import File, files_from_json, text_of
from segue.model.policy import Policy
from segue.model.prompts import PromptFacts, PromptRef, RenderedPrompt, render
from segue.model.replies.last_reply import LastReply
from segue.model.states import (
    MAX_CRASHES,
    CallType,
    DeliveryState,
    JobKind,
    JobState,
    MessageStatus,
    Outcome,
    RecallStatus,
    TurnState,
)
from segue.model.tokens import estimate
from segue.record import positional, record
from segue.times.trigger import Trigger


class Owner(NamedTuple):
    """The account and the user that own a session. The same key under two owners is two sessions."""

    account: str = "default"
    user: str = "default"

    @property
    def own(self) -> "Owner":
        return self

    def reaches(self, owner: "Owner") -> bool:
        return self == owner

    def lookup(self, key: str, networks: Collection[str]) -> "Lookup":
        return Lookup(self, self)


@positional
class Operator:
    """The person who runs an account. As `owner=`, it reaches the sessions of all users of the account.

    `user` is the operator's own user: of two sessions with the same key, the operator's own comes first.
    """

    account: str = "default"
    user: str = "default"

    @property
    def own(self) -> Owner:
        return Owner(self.account, self.user)

    def reaches(self, owner: Owner) -> bool:
        return self.account == owner.account

    def lookup(self, key: str, networks: Collection[str]) -> "Lookup":
        user = user_of(key, networks) or self.user
        return Lookup(Owner(self.account, user), self.own, whole_account=True)


Asker: TypeAlias = Owner | Operator
"""The owner or operator that a call is made for."""


def user_of(key: str, networks: Collection[str]) -> str | None:
    """The user that a session key names: on a chat network each chat is a user of its own. None: no user."""
    return key if key.partition(":")[0] in networks else None


@positional
class Lookup:
    """How the session of a key is found, and its owner if it has to be made."""

    owner: Owner
    """The owner of a new session."""
    first: Owner
    """A session of this owner is taken before any other."""
    whole_account: bool = False
    """Without a session of `first`: the only session of that key in the account. Several are a conflict."""


@record
class Session:
    """A conversation. Its lane, in which one turn runs at a time, is `ready_at`, `holder` and `fence`."""

    id: str
    owner: Owner
    key: str
    """The channel and the chat, such as `telegram:42`."""
    chat_type: str
    """`private` or `group`."""
    title: str | None
    timezone: str | None
    when_busy: str | None
    metadata: Mapping[str, Any]
    created_at: int
    last_message_at: int | None
    last_seq: int
    unarmed: bool
    """An idle job of this session waits for a message to count from."""
    ready_at: int | None
    holder: str | None
    fence: int
    waiting_until: int | None
    """Set while it waits for its user's answer: until then at the latest, its scheduled turns are held."""
    quiet: str | None
    """Its quiet hours as JSON; None: those of the settings."""
    digest: str | None
    """Its digest as JSON."""
    held: int
    """How many answers wait to be sent through its channel."""
    live: Unarchived
    """Counts of the messages that are not archived yet."""

    @property
    def channel(self) -> str:
        return self.key.partition(":")[0]

    @property
    def chat_id(self) -> str:
        return self.key.partition(":")[2]

    @property
    def busy(self) -> bool:
        """Whether a turn is running or waiting."""
        return self.holder is not None or self.ready_at is not None

    def waits_at(self, now: int) -> bool:
        """Whether it waits for its user's answer."""
        return self.waiting_until is not None and self.waiting_until > now


@record
class Overview:
    """A session with its counts."""

    session: Session
    message_count: int
    """Messages that are not archived yet, those of the running turn included."""
    last_line: str | None
    """The beginning of the newest message."""
    last_line_at: int | None
    queued: int
    """Turns that wait."""
    cron_jobs: int
    """Jobs of kind `cron` that are active or paused."""
    recall: "Recall | None"
    """The pending recall."""
    last_activity_at: int
    """When something last happened in it, by a user or a schedule. It does not move the idle clock."""
    upcoming_at: int | None
    """When something happens next: a job of a user, a recall or a written message."""
    upcoming_name: str | None
    days: str | None = None
    """The day set that words about working days mean in it."""
    budget: Budget | None = None
    """What its scheduled runs may use in a period; also None if this version cannot read it."""
    unread: int = 0
    """Messages that its owner has not read; 0 if they are sent through a channel."""
    quiet: Mapping[str, Any] | None = None
    """The quiet hours that hold here, its own or those of the settings."""
    digest: Mapping[str, Any] | None = None
    quiet_until: int | None = None
    """Set during quiet hours: when they end."""

    @property
    def pending_tokens(self) -> int:
        """Estimated tokens of the messages that a commit would archive."""
        return self.session.live.pending_tokens

    @property
    def page_start(self) -> "PageStart":
        return PageStart(self.last_activity_at, self.session.id)


@record
class PushSubscription:
    """A device of an owner that is told of news by Web Push."""

    id: str
    owner: Owner
    endpoint: str
    """An address of the browser's push service. It is a secret: a request to it reaches the device."""
    p256dh: str
    """The device's public key, in base64url."""
    auth: str
    """The secret that it shares with this server, in base64url."""
    vapid_key: str
    """The public key of the server that it subscribed with, in base64url."""
    site: str
    """The origin of the page that subscribed."""
    visible_until: int = 0
    """Until then the page is visible on the device."""


@positional
class News:
    """A session with news that its owner's devices are to be told of."""

    owner: Owner
    key: str


@record
class Recall:
    """A job by which an agent calls itself back into a conversation, as users see it."""

    id: str
    call_type: CallType
    trigger_at: int
    """When it fires next; if it waits for a busy session, since when; if it has ended, its last moment."""
    interval_seconds: float | None
    comment: str | None
    instruction: str
    status: RecallStatus
    created_at: int
    updated_at: int

    @property
    def page_start(self) -> "PageStart":
        return PageStart(self.created_at, self.id)


@record
class ScheduledMessage:
    """A text that is written now and sent later, as users see it: its job and its delivery in one record."""

    id: str
    session_id: str
    chat_type: str
    text: str
    send_at: int
    status: MessageStatus
    created_at: int
    updated_at: int
    created_by_tool_call_id: str | None
    cancelled_by_tool_call_id: str | None
    replaced_by: str | None
    """The id of the message that replaced it."""
    replace_existing: bool
    sent_message_id: str | None
    """The channel's own id of the message."""
    sent_at: int | None
    last_error: str | None

    @property
    def page_start(self) -> "PageStart":
        return PageStart(self.created_at, self.id)


class PageStart(NamedTuple):
    """The position after which a page begins, in a list that is read newest first."""

    at: int
    id: str


NEWEST = PageStart(1 << 62, "")
"""Where the first page begins."""


@record
class Source:
    """The job and run that a scheduled turn or message comes from; None stands for the user."""

    kind: str
    job_id: str
    label: str
    run_id: str


@record
class Turn:
    """One question to the agent and its answer. The fields from `call` to `not_before` are for workers."""

    id: str
    session_id: str
    """The session in whose lane it runs, with its memory and its log."""
    via_id: str
    """The session that it came through; different from `session_id` only in unified mode."""
    run_id: str | None
    state: TurnState
    content: str
    """The text that joins the transcript when the turn starts."""
    prompt: str | None
    """What the agent is asked, if that differs from `content`."""
    brief: PromptFacts | None
    """The facts that the prompt of a scheduled turn is rendered from."""
    call: Mapping[str, Any] | None
    source: Source | None
    joined_into: str | None
    attempt: int
    crashes: int
    retries: int
    crash: str
    timeout_ms: int
    acted: bool
    fence: int | None
    draft: str | None
    not_before: int
    queued_at: int
    started_at: int | None
    finished_at: int | None
    outcome: Outcome | None
    reply: str | None
    error: str | None
    usage: Mapping[str, Any] | None
    parts: tuple[File, ...] = ()
    """The files that the user sent with it."""
    reserved: Estimate | None = None
    """What its run reserved of budgets; None for a turn that draws on none."""
    replaces: str | None = None
    """The turn that it replaces: a message that was edited, or an answer that is tried again."""

    @property
    def chat_id(self) -> str | None:
        """The chat that it came through, if that is not the session it runs in."""
        return None if self.via_id == self.session_id else self.via_id

    @property
    def scheduled(self) -> bool:
        return self.run_id is not None

    @property
    def on_trial(self) -> bool:
        """Whether one more crash parks the turn."""
        return self.crashes == MAX_CRASHES - 1

    @property
    def guarded(self) -> bool:
        """Whether its job's conditions are checked as it starts: one that had begun is not taken back."""
        return self.brief is not None and self.brief.guarded and self.attempt == 1 and self.source is not None

    def rendered(self) -> RenderedPrompt | None:
        """The prompt of its newest attempt; None before it has started, and for a user's turn."""
        if self.brief is None or self.started_at is None or self.source is None:
            return None
        return render(self.brief, job=self.source.label, message=self.prompt or "", now=self.started_at)


@record
class LaneNow:
    """The turns of a session that have not ended, and how many turns run now in all sessions."""

    running: Turn | None
    queued: Sequence[Turn]
    """In their order."""
    at_work: int


@record
class Job:
    """A trigger, an action and a policy, stored in a session."""

    id: str
    session_id: str
    account: str
    kind: JobKind
    name: str
    state: JobState
    state_reason: str | None
    """Why it is paused or has ended, or why its slot was postponed."""
    protected: bool
    """It belongs to the system: no verb changes, skips or removes it."""
    trigger: Trigger
    action: Action
    policy: Policy
    slot: int | None
    """The next nominal moment."""
    next_at: int | None
    """When the timer looks at it: the slot, or later by jitter or postponement."""
    revision: int
    run_count: int
    failures: int
    last_run_at: int | None
    last_outcome: Outcome | None
    last_error: str | None
    created_at: int
    updated_at: int
    replied: LastReply | None = None
    """What the last reply to one of its messages did."""

    @property
    def page_start(self) -> PageStart:
        return PageStart(self.created_at, self.id)

    @property
    def snoozed_to(self) -> int | None:
        """When it runs once more, apart from its schedule."""
        return self.replied.snoozed_to if self.replied else None


@record
class Run:
    """One slot of a job and what became of it."""

    id: str
    job_id: str
    session_id: str
    slot: int
    turn_id: str | None
    delivery_id: str | None
    queued_at: int
    started_at: int | None
    finished_at: int | None
    outcome: Outcome | None
    """None until it has ended."""
    reason: str | None
    lateness_ms: int
    missed_count: int
    prompt_ref: PromptRef | None
    """Which prompt template its newest attempt used; None before it has started."""
    prompt_vars: Mapping[str, Any] | None
    rendered_prompt: str | None
    attempt: int
    error: str | None
    usage: Mapping[str, Any] | None
    state: str | None
    """`queued` or `running` until it has an outcome; taken from its turn."""
    delivery: str | None = None
    """Of its answer, as in `Message.delivery`. It does not change the outcome."""
    delivery_error: str | None = None
    """Why the delivery failed."""

    @property
    def page_start(self) -> PageStart:
        return PageStart(self.queued_at, self.id)


@record
class Event:
    """A numbered entry of a session's log: `docs/reference/events.md`. One with a role is a message."""

    session_id: str
    seq: int
    type: str
    at: int
    turn_id: str | None = None
    via_id: str | None = None
    """In unified mode, for an event of the common log: the chat that it came through and is copied into."""
    role: str | None = None
    content: str | None = None
    source: Source | None = None
    body: Mapping[str, Any] = field(default_factory=dict)

    @property
    def parts(self) -> tuple[File, ...]:
        """The files that were sent with the message."""
        return files_from_json(self.body["parts"]) if "parts" in self.body else ()

    def numbered(self, seq: int) -> "Event":
        """The same with a number. Written out because `replace` takes three times as long."""
        return Event(
            session_id=self.session_id,
            seq=seq,
            type=self.type,
            at=self.at,
            turn_id=self.turn_id,
            via_id=self.via_id,
            role=self.role,
            content=self.content,
            source=self.source,
            body=self.body,
        )

    @property
    def tokens(self) -> int:
        """An estimate for the message with its files; 0 for an event that is no message."""
        return message_tokens(self.content, self.parts) if self.role and self.content else 0


@record
class Delivery:
    """A message on its way through a channel."""

    id: str
    session_id: str
    run_id: str | None
    turn_id: str | None
    channel: str
    chat_id: str
    content: str
    source: Source | None
    state: DeliveryState
    not_before: int
    fence: int
    attempt: int
    created_at: int
    sent_at: int | None
    sent_message_id: str | None
    error: str | None
    logged: bool = False
    """Whether its text is in the session's log already, as that of a turn's answer is."""
    held_until: int | None = None
    """Set while it collects answers: when it is sent at the latest."""
    joins: str | None = None
    """The id of the delivery that carries it: several answers are sent as one message."""
    carries: int = 0
    """How many answers it carries."""
    metadata: Mapping[str, Any] = field(default_factory=dict)
    """Where in the chat it belongs, such as a topic: that of its session when it is sent."""
    parts: tuple[File, ...] = ()
    """The files of the answer, which follow the text."""
    contents: Mapping[str, bytes] = field(default_factory=dict, repr=False)
    """The bytes of its files by their id, for a channel that sends files."""

    @property
    def words(self) -> str:
        """The text to send; empty if the message has files only."""
        return "" if self.parts and self.content == text_of(self.parts) else self.content


def merged(metadata: Mapping[str, Any], *later: Mapping[str, Any]) -> dict[str, Any]:
    """The metadata with later values; None removes a name."""
    result = dict(metadata)
    for given in later:
        result |= given
    return {name: value for name, value in result.items() if value is not None}


class Ids:
    """Makes ids that sort by time and, within one process, in the order in which they were made."""

    def __init__(self, rng: random.Random) -> None:
        self._rng = rng
        self._last = (0, 0)

    def __call__(self, now: int) -> str:
        last, count = self._last
        self._last = (now, 0) if now > last else (last, count + 1)
        return f"{self._last[0]:012x}{self._last[1]:05x}{self._rng.getrandbits(44):011x}"


def message_tokens(content: str, parts: Sequence[File]) -> int:
    return estimate(content) + sum(file.tokens for file in parts)


def parts_body(parts: Sequence[File]) -> dict[str, Any]:
    """What the body of a message's event has of its files."""
    return {"parts": [file.to_json() for file in parts]} if parts else {}


def run_id(job_id: str, slot: int) -> str:
    return f"{job_id}:{slot}"


def slot_of(run_id: str) -> int:
    """The slot that a run's id names, in milliseconds."""
    return int(run_id.rpartition(":")[2])


def message_id(session_id: str, seq: int) -> str:
    """The message's id in the API, stable for as long as the message exists."""
    return f"{session_id}-{seq:x}"


def parse_message_id(message_id: str) -> tuple[str, int]:
    """The session and the number of a message; an empty session for a text that is no such id."""
    session_id, _, seq = message_id.rpartition("-")
    if not seq or len(seq) > 12 or not set(seq) <= set("0123456789abcdef"):
        return "", 0
    return session_id, int(seq, 16)
