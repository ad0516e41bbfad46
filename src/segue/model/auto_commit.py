"""Automatic archiving: the policy, the counts of unarchived messages, and the decision when to archive.

The counts are updated with every message, so that no session has to be read for them. Messages of a running
turn are counted when the turn ends: until then they cannot be archived.

Everything here is a pure function of these counts and the time.
"""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, Self, TypeAlias

from segue.errors import BadPolicy
from segue.record import positional, record

MOST_KEPT = 10_000
"""The largest `keep_recent_count`."""

_FIRST_PAUSE_MS = 60_000
_LONGEST_PAUSE_MS = 3_600_000
_LARGEST = 1_000_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class AutoCommitPolicy:
    """When a session is archived automatically, and how much of it. A threshold that is None is off."""

    enabled: bool
    token_threshold: int | None = None
    """Archive when this many tokens can be archived."""
    message_count_threshold: int | None = None
    """Archive when this many messages can be archived."""
    idle_timeout_seconds: int | None = None
    """Archive when the user has been silent for this long."""
    min_commit_interval_seconds: int = 0
    """The least time between two automatic commits."""
    keep_recent_count: int = 0
    """How many of the newest messages a commit leaves in the session."""

    def __post_init__(self) -> None:
        if not isinstance(self.enabled, bool):
            raise BadPolicy(f"auto_commit_policy.enabled is true or false, got {self.enabled!r}")
        for name in ("token_threshold", "message_count_threshold", "idle_timeout_seconds"):
            if getattr(self, name) is not None:
                _check(name, getattr(self, name), least=1, most=_LARGEST)
        _check("min_commit_interval_seconds", self.min_commit_interval_seconds, least=0, most=_LARGEST)
        _check("keep_recent_count", self.keep_recent_count, least=0, most=MOST_KEPT)

    def to_json(self) -> dict[str, Any]:
        return {field.name: getattr(self, field.name) for field in fields(self)}

    @classmethod
    def stored(cls, data: Mapping[str, Any]) -> Self:
        """The policy of a stored object, without fields that a newer version added."""
        return cls(**{field.name: data[field.name] for field in fields(cls) if field.name in data})

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        if "enabled" not in data:
            raise BadPolicy("auto_commit_policy needs enabled, true or false")
        known = [field.name for field in fields(cls)]
        for name in data:
            if name not in known:
                raise BadPolicy(f"auto_commit_policy has no {name!r}; it has {', '.join(known)}")
        return cls(**data)


def _check(name: str, value: object, *, least: int, most: int) -> None:
    number = isinstance(value, int) and not isinstance(value, bool)
    if not number or not least <= value <= most:  # type: ignore[operator]
        raise BadPolicy(
            f"auto_commit_policy.{name} is a whole number from {least} to {most:,}, got {value!r}"
        )


@record
class Unarchived:
    """Counts of a session's unarchived messages, with its policy and the state of archiving."""

    messages: int = 0
    tokens: int = 0
    kept_tokens: int = 0
    """Tokens of the newest messages, which an archive leaves in the session."""
    keep_recent_count: int = 0
    archived_seq: int = 0
    """The event number up to which the session is archived."""
    archives: int = 0
    policy: AutoCommitPolicy | None = None
    commit_at: int | None = None
    """When to check whether it is time to archive."""
    last_auto_commit_at: int | None = None
    last_error: str = ""
    last_error_at: int | None = None
    failures: int = 0

    @property
    def pending_tokens(self) -> int:
        """Tokens of the messages that an archive would take."""
        return max(0, self.tokens - self.kept_tokens)

    @property
    def uncommitted(self) -> bool:
        return self.pending_tokens > 0 or self.messages > self.keep_recent_count

    @property
    def active_policy(self) -> AutoCommitPolicy | None:
        return self.policy if self.policy is not None and self.policy.enabled else None


@positional
class CommitNow:
    """Archive now."""

    reason: str


@positional
class CommitLater:
    """Check again at `at`."""

    at: int


@positional
class NeverCommit:
    """Do nothing until the next message."""


Verdict: TypeAlias = CommitNow | CommitLater | NeverCommit


def verdict(live: Unarchived, heard_at: int | None, now: int, *, idle_enabled: bool) -> Verdict:
    """Whether to archive a session, decided by its current state when the armed moment has come."""
    policy = live.active_policy
    if policy is None or not live.uncommitted:
        return NeverCommit()
    reason = _crossed(policy, live)
    quiet_at = _quiet_at(policy, heard_at) if idle_enabled else None
    if reason is None and quiet_at is None:
        return NeverCommit()
    if reason is None and quiet_at is not None and quiet_at > now:
        return CommitLater(quiet_at)
    allowed_at = _allowed_at(policy, live)
    return CommitLater(allowed_at) if allowed_at > now else CommitNow(reason or "idle_timeout")


def next_look(live: Unarchived, heard_at: int | None, now: int) -> int | None:
    """The moment to arm after a message; None leaves the armed moment as it is.

    The idle timeout is armed once and not moved by messages: when its moment comes, `verdict` looks at the
    last message. After a failed attempt the armed moment is the end of a pause, which a new message resets.
    """
    policy = live.active_policy
    if policy is None or not live.uncommitted:
        return None
    if _crossed(policy, live):
        return max(now, _allowed_at(policy, live))
    waits_for_silence = live.commit_at is not None and not live.failures
    if waits_for_silence or policy.idle_timeout_seconds is None:
        return None
    quiet_at = _quiet_at(policy, heard_at)
    # Messages of jobs are no user activity, but they too are archived after a silence.
    return quiet_at if quiet_at is not None and quiet_at > now else now + policy.idle_timeout_seconds * 1000


def pause_ms(failures: int) -> int:
    """How long to wait after this many failed attempts in a row."""
    return min(_LONGEST_PAUSE_MS, _FIRST_PAUSE_MS << max(0, min(failures, 10) - 1))


def _crossed(policy: AutoCommitPolicy, live: Unarchived) -> str | None:
    if policy.token_threshold is not None and live.pending_tokens >= policy.token_threshold:
        return "token_threshold"
    beyond = live.messages - live.keep_recent_count
    if policy.message_count_threshold is not None and beyond >= policy.message_count_threshold:
        return "message_count_threshold"
    return None


def _quiet_at(policy: AutoCommitPolicy, heard_at: int | None) -> int | None:
    if policy.idle_timeout_seconds is None:
        return None
    return (heard_at or 0) + policy.idle_timeout_seconds * 1000


def _allowed_at(policy: AutoCommitPolicy, live: Unarchived) -> int:
    if live.last_auto_commit_at is None:
        return 0
    return live.last_auto_commit_at + policy.min_commit_interval_seconds * 1000
