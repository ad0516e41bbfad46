"""Rows to records and back. JSON is opened here and nowhere else.

What is read for every turn is taken from its row by place, because a row of SQLite looks for a name from its
first column on. Wherever a query gives a session, a turn or a job, it lists their columns first and in the
order below, and `tests/store/test_columns.py` holds it to that.
"""

import json
import logging
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from sys import intern
from typing import Any

from segue.errors import BadPolicy, SegueError
from segue.model.action import Action, action_from_json
from segue.model.auto_commit import AutoCommitPolicy, Unarchived
from segue.model.policy import Policy
from segue.model.prompts import PromptFacts, prompt_facts_from_json
from segue.model.records import Event, Job, Owner, Session, Source, Turn
from segue.model.states import JobKind, JobState, Outcome, TurnState
from segue.model.text_checks import clean
from segue.model.tokens import estimate
from segue.store.database import Row
from segue.times.trigger import Trigger, trigger_from_json

_log = logging.getLogger(__name__)


def columns(listed: str) -> tuple[str, ...]:
    """The names of a record's fields, as a query lists their columns."""
    # Interned, as names in code are: a keyword that is the same object is found without comparing letters.
    return tuple(map(intern, listed.split(", ")))


_LIVE = columns(
    "archived_seq, archives, messages, tokens, kept_tokens, keep_recent_count, policy, commit_at, "
    "last_auto_commit_at, last_error, last_error_at, failures"
)


@lru_cache(256)
def auto_commit_policy(text: str | None) -> AutoCommitPolicy | None:
    try:
        return AutoCommitPolicy.stored(json.loads(text)) if text else None
    except (BadPolicy, ValueError, TypeError) as error:
        _log.warning("an auto_commit_policy cannot be read, and counts as none: %s", error)
        return None


@lru_cache(256)
def auto_commit_text(policy: AutoCommitPolicy | None) -> str | None:
    return None if policy is None else json.dumps(policy.to_json(), separators=(",", ":"))


def live(values: Iterable[Any]) -> Unarchived:
    """From its columns, in the order in which every query lists them; what comes after is left alone."""
    given: dict[str, Any] = dict(zip(_LIVE, values, strict=False))
    given["policy"] = auto_commit_policy(given["policy"])
    return Unarchived(**given)


# Many jobs share a trigger, a policy, even an action, and all three are values: parse each text once.
_MOST_TEXTS = 4096

SESSION = columns(
    "id, account, user_id, key, chat_type, title, timezone, when_busy, metadata, created_at, "
    "last_message_at, last_seq, unarmed, ready_at, holder, fence"
)
"""Before those of its live part."""
TURN = columns(
    "id, session_id, via_id, run_id, state, rank, not_before, content, prompt, brief, call, source, "
    "joined_into, attempt, crashes, retries, crash, timeout_ms, acted, stop_asked, fence, draft, queued_at, "
    "started_at, finished_at, outcome, reply, error, usage"
)
JOB = columns(
    "id, session_id, account, kind, name, state, state_reason, protected, trigger, action, policy, slot, "
    "next_at, revision, run_count, failures, last_run_at, last_outcome, last_error, created_at, updated_at"
)

UNREADABLE = (SegueError, ValueError, KeyError, TypeError)
"""What reading a row raises that a newer version wrote."""

_encode = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), default=str).encode


def to_text(value: Mapping[str, Any] | None) -> str | None:
    if not value:
        return None
    # What a tool returned or a provider reported may hold characters that no database takes.
    return clean(_encode(value))


def list_text(values: Sequence[str]) -> str:
    return clean(_encode(values))


def from_text(text: str | None) -> dict[str, Any]:
    return json.loads(text) if text else {}


@lru_cache(_MOST_TEXTS)  # a run's source is written with its turn, and again with each of its events
def source_text(source: Source | None) -> str | None:
    if source is None:
        return None
    return to_text(
        {"kind": source.kind, "job_id": source.job_id, "label": source.label, "run_id": source.run_id}
    )


def trigger_text(trigger: Trigger) -> str:
    return json.dumps(trigger.to_json(), ensure_ascii=False)


def action_text(action: Action) -> str:
    return json.dumps(action.to_json(), ensure_ascii=False, default=str)


def policy_text(policy: Policy) -> str:
    return json.dumps(policy.to_json(), ensure_ascii=False)


@lru_cache(_MOST_TEXTS)
def trigger_of(text: str) -> Trigger:
    return trigger_from_json(json.loads(text))


@lru_cache(_MOST_TEXTS)
def _policy(text: str) -> Policy:
    return Policy.stored(json.loads(text))


@lru_cache(256)
def action_of(text: str) -> Action:
    return action_from_json(json.loads(text))


@lru_cache(_MOST_TEXTS)
def source_of(text: str | None) -> Source | None:
    return Source(**json.loads(text)) if text else None


def brief_text(brief: PromptFacts | None) -> str | None:
    return None if brief is None else _encode(brief.to_json())


@lru_cache(256)
def brief_of(text: str | None) -> PromptFacts | None:
    return prompt_facts_from_json(json.loads(text)) if text else None


def outcome_of(text: str | None) -> Outcome | None:
    return Outcome(text) if text else None


def session(row: Row) -> Session:
    values = tuple(row)
    given: dict[str, Any] = dict(zip(SESSION, values, strict=False))
    given["owner"] = Owner(given.pop("account"), given.pop("user_id"))
    given["metadata"] = {} if given["metadata"] == "{}" else from_text(given["metadata"])
    given["unarmed"] = bool(given["unarmed"])
    return Session(**given, live=live(values[len(SESSION) :]))


def turn(row: Row) -> Turn:
    given: dict[str, Any] = dict(zip(TURN, row, strict=False))
    del given["rank"], given["stop_asked"]
    given["state"] = TurnState(given["state"])
    given["brief"] = brief_of(given["brief"])
    given["call"] = from_text(given["call"]) if given["call"] else None
    given["source"] = source_of(given["source"])
    given["acted"] = bool(given["acted"])
    given["outcome"] = outcome_of(given["outcome"])
    given["usage"] = from_text(given["usage"]) if given["usage"] else None
    return Turn(**given)


def job(row: Row) -> Job:
    given: dict[str, Any] = dict(zip(JOB, row, strict=False))
    given["kind"] = JobKind(given["kind"])
    given["state"] = JobState(given["state"])
    given["protected"] = bool(given["protected"])
    given["trigger"] = trigger_of(given["trigger"])
    given["action"] = action_of(given["action"])
    given["policy"] = _policy(given["policy"])
    given["last_outcome"] = outcome_of(given["last_outcome"])
    return Job(**given)


def event(row: Row) -> Event:
    return Event(
        session_id=row["session_id"],
        seq=row["seq"],
        type=row["type"],
        at=row["at"],
        turn_id=row["turn_id"],
        via_id=row["via_id"],
        role=row["role"],
        content=row["content"],
        source=source_of(row["source"]),
        body=from_text(row["body"]),
    )


def told_event(row: Row) -> Event:
    """With what became of the delivery of an answer, where the query gives it."""
    there = event(row)
    if row["delivery"] is None:
        return there
    return replace(there, body={**there.body, "delivery": row["delivery"]})


def event_params(event: Event) -> dict[str, str | int | None]:
    return {
        "session_id": event.session_id,
        "seq": event.seq,
        "type": event.type,
        "turn_id": event.turn_id,
        "via_id": event.via_id,
        "at": event.at,
        "role": event.role,
        "content": event.content,
        "source": source_text(event.source),
        "body": to_text(event.body),
        "tokens": estimate(event.content) if event.role and event.content else 0,
    }
