"""Checks conditions against the facts of a conversation: a pure function with a reason for people.

They are checked twice: when a slot is decided, and when its turn starts, under the lock of the session that
it runs in. So an answer that arrives while a run waits in the lane still counts.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import field
from datetime import datetime, timedelta
from zoneinfo import ZoneInfo

from segue.model.conditions.vocabulary import Condition, If, Since
from segue.record import positional, record
from segue.times.format import spoken

CONDITION = ("unless: ", "only if ")
"""The beginnings of the reasons for which conditions keep a slot from running."""

MOST_EVENTS = 2000
"""How far back words are looked for, in events of the log."""

_FIRST_CJK = "\u2e80"


@positional
class UserMessage:
    """What a user said, and when."""

    at: datetime
    text: str
    seq: int | None = None
    """Its number in the log; None while its turn waits."""


@positional
class LastRun:
    """How another job ended last."""

    name: str
    outcome: str | None
    at: datetime | None


@record
class ConversationFacts:
    """What conditions are checked against: facts of the session that the turn runs in."""

    created_at: datetime
    """When the job was made."""
    last_run_at: datetime | None
    """When its last run ended."""
    heard_at: datetime | None
    """When a user last wrote."""
    said: Sequence[UserMessage] = ()
    """What users said since the job was made, newest first; read only if a condition has words."""
    done_at: datetime | None = None
    """When a user last answered this job's message with "done"."""
    jobs: Mapping[str, LastRun] = field(default_factory=dict)
    """The jobs that conditions name, by their ids."""
    zone: str = "UTC"
    """The zone in which reasons name times."""

    def since(self, condition: Condition) -> datetime:
        if condition.since is Since.LAST_RUN and self.last_run_at is not None:
            return self.last_run_at
        return self.created_at


def unmet(conditions: Sequence[Condition], facts: ConversationFacts, now: datetime) -> str | None:
    """Why the conditions do not hold; None if all of them do."""
    now = now.astimezone(ZoneInfo(facts.zone))
    for condition in conditions:
        if reason := _unmet(condition, facts, now):
            return reason
    return None


def message_behind(
    reason: str, conditions: Sequence[Condition], said: Sequence[UserMessage]
) -> UserMessage | None:
    """The message for which a slot did not run. `said`: what users said until then, newest first."""
    words = [word for condition in conditions for word in condition.words]
    if word := next((word for word in words if reason.startswith(f"unless: {word!r} was said")), None):
        whole = _whole(word)
        return next((message for message in said if whole.search(message.text.casefold())), None)
    about_newest = reason.startswith(("unless: you answered", "only if quiet"))
    return said[0] if said and about_newest else None


def _unmet(condition: Condition, facts: ConversationFacts, now: datetime) -> str | None:
    since = facts.since(condition)
    answered = facts.heard_at is not None and facts.heard_at > since
    match condition.test:
        case If.UNANSWERED:
            return f"unless: you answered at {_clock(facts.heard_at, now)}" if answered else None
        case If.ANSWERED:
            return None if answered else f"only if answered: no user wrote since {_clock(since, now)}"
        case If.QUIET:
            return _too_lively(condition, facts, now)
        case If.ACTIVE:
            return None if _too_lively(condition, facts, now) else _too_quiet(condition)
        case If.SAID:
            return None if _found(condition, facts) else f"only if said: none of {_listed(condition)}"
        case If.UNSAID:
            found = _found(condition, facts)
            return f"unless: {found[0]!r} was said at {_clock(found[1].at, now)}" if found else None
        case If.NOT_DONE:
            done = facts.done_at is not None and facts.done_at >= since  # it answers the run itself
            return f"unless: it was done at {_clock(facts.done_at, now)}" if done else None
        case If.OUTCOME:
            return _other_outcome(condition, facts, now)


def _too_lively(condition: Condition, facts: ConversationFacts, now: datetime) -> str | None:
    if facts.heard_at is None or now - facts.heard_at >= timedelta(seconds=condition.for_seconds):
        return None
    wanted = spoken(timedelta(seconds=condition.for_seconds), units=2)
    return f"only if quiet for {wanted}: a user wrote at {_clock(facts.heard_at, now)}"


def _too_quiet(condition: Condition) -> str:
    wanted = spoken(timedelta(seconds=condition.for_seconds), units=2)
    return f"only if active: no user wrote within {wanted}"


def _found(condition: Condition, facts: ConversationFacts) -> tuple[str, UserMessage] | None:
    """The first of the words that a user said, and the newest message with it."""
    since = facts.since(condition)
    for word in condition.words:
        whole = _whole(word)
        for message in facts.said:
            if message.at > since and whole.search(message.text.casefold()):
                return word, message
    return None


def _whole(word: str) -> re.Pattern[str]:
    """Finds a whole word. Scripts without spaces have no words: there it is found anywhere."""
    escaped = re.escape(word.casefold())
    return re.compile(escaped if word[0] >= _FIRST_CJK else rf"(?<!\w){escaped}(?!\w)")


def _listed(condition: Condition) -> str:
    return ", ".join(map(repr, condition.words))


def _other_outcome(condition: Condition, facts: ConversationFacts, now: datetime) -> str | None:
    other = facts.jobs.get(condition.job)
    if other is None:
        return f"only if job {condition.job} ended as {condition.outcome}: it is not here any more"
    if other.outcome != condition.outcome or other.at is None:
        ended = f"it ended as {other.outcome}" if other.outcome else "it has not run"
        return f"only if {other.name!r} ended as {condition.outcome}: {ended}"
    within = condition.within_seconds
    if within is not None and now - other.at > timedelta(seconds=within):
        return (
            f"only if {other.name!r} ended as {condition.outcome} within "
            f"{spoken(timedelta(seconds=within), units=2)}: it did at {_clock(other.at, now)}"
        )
    return None


def _clock(at: datetime | None, now: datetime) -> str:
    """The time in the zone of `now`, with the day if that is another one."""
    if at is None:
        return "no time"
    local = at.astimezone(now.tzinfo)
    return f"{local:%H:%M}" if local.date() == now.date() else f"{local:%H:%M on %Y-%m-%d}"
