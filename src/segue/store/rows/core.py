"""Conversion between rows and records of sessions, turns, jobs and events. JSON columns are parsed here.

Records that every turn reads take columns by position: SQLite finds a column name by linear search. So every
query that returns a session, a turn or a job lists their columns first, in the order below;
`tests/store/test_columns.py` checks that.
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
from segue.model.conditions.check import UserMessage
from segue.model.cost.budget import Budget, Estimate
from segue.model.files import File, files_from_json
from segue.model.policy import Policy
from segue.model.prompts import PromptFacts, prompt_facts_from_json
from segue.model.quiet.digest import Digest
from segue.model.quiet.hours import QuietHours, stored_hours
from segue.model.records import Event, Job, Owner, PushSubscription, Session, Source, Turn
from segue.model.replies.last_reply import LastReply, last_reply_from_json
from segue.model.states import JobKind, JobState, Outcome, TurnState
from segue.model.text_checks import clean
from segue.store import queries
from segue.store.database import Row
from segue.times.clock import to_moment
from segue.times.trigger import Trigger, stored_json, trigger_from_stored

_log = logging.getLogger(__name__)


def columns(listed: str) -> tuple[str, ...]:
    """The field names of a record, in the order in which queries list its columns."""
    # Interned like names in code: CPython then matches keyword arguments by identity.
    return tuple(map(intern, listed.split(", ")))


def fields_of(row: Row, names: Sequence[str]) -> dict[str, Any]:
    """The columns of a record by name. They are the first columns of its row."""
    return dict(zip(names, row, strict=False))


_LIVE = columns(
    "archived_seq, archives, messages, tokens, kept_tokens, keep_recent_count, policy, commit_at, "
    "last_auto_commit_at, last_error, last_error_at, failures"
)


@lru_cache(256)
def auto_commit_policy(text: str | None) -> AutoCommitPolicy | None:
    try:
        return AutoCommitPolicy.stored(json.loads(text)) if text else None
    except (BadPolicy, ValueError, TypeError) as error:
        _log.warning("unreadable auto_commit_policy ignored: %s", error)
        return None


@lru_cache(256)
def auto_commit_text(policy: AutoCommitPolicy | None) -> str | None:
    return None if policy is None else json.dumps(policy.to_json(), separators=(",", ":"))


def live(values: Iterable[Any]) -> Unarchived:
    """From its columns in the order of `_LIVE`; further values are ignored."""
    fields: dict[str, Any] = dict(zip(_LIVE, values, strict=False))
    fields["policy"] = auto_commit_policy(fields["policy"])
    return Unarchived(**fields)


# Many jobs share a trigger, a policy or an action, and all three are immutable: parse each text once.
_MOST_TEXTS = 4096

SESSION = columns(
    "id, account, user_id, key, chat_type, title, timezone, when_busy, metadata, created_at, "
    "last_message_at, last_seq, unarmed, ready_at, holder, fence, waiting_until, quiet, digest, held"
)
"""Followed by the columns of `_LIVE`."""
TURN = columns(
    "id, session_id, via_id, run_id, state, rank, not_before, content, prompt, brief, call, source, "
    "joined_into, attempt, crashes, retries, crash, timeout_ms, acted, stop_asked, fence, draft, queued_at, "
    "started_at, finished_at, outcome, reply, error, usage, parts, reserved, replaces"
)
JOB = columns(
    "id, session_id, account, kind, name, state, state_reason, protected, trigger, action, policy, slot, "
    "next_at, revision, run_count, failures, last_run_at, last_outcome, last_error, created_at, updated_at, "
    "replied"
)

UNREADABLE = (SegueError, ValueError, KeyError, TypeError)
"""The errors that reading a row may raise if a newer version wrote it."""

_encode = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), default=str).encode


def to_text(value: Mapping[str, Any] | None) -> str | None:
    if not value:
        return None
    # Tools and providers may return characters that PostgreSQL refuses.
    return clean(_encode(value))


def list_text(values: Sequence[str]) -> str:
    return clean(_encode(values))


def from_text(text: str | None) -> dict[str, Any]:
    return json.loads(text) if text else {}


@lru_cache(256)  # a run's source is written with its turn and with each of its events
def source_text(source: Source | None) -> str | None:
    if source is None:
        return None
    return to_text(
        {"kind": source.kind, "job_id": source.job_id, "label": source.label, "run_id": source.run_id}
    )


def trigger_text(trigger: Trigger) -> str:
    return json.dumps(stored_json(trigger), ensure_ascii=False)


def action_text(action: Action) -> str:
    return json.dumps(action.to_json(), ensure_ascii=False, default=str)


def policy_text(policy: Policy) -> str:
    return json.dumps(policy.to_json(), ensure_ascii=False)


@lru_cache(_MOST_TEXTS)
def trigger_of(text: str) -> Trigger:
    return trigger_from_stored(json.loads(text))


@lru_cache(_MOST_TEXTS)
def _policy(text: str) -> Policy:
    return Policy.stored(json.loads(text))


@lru_cache(256)
def action_of(text: str) -> Action:
    return action_from_json(json.loads(text))


@lru_cache(256)
def source_of(text: str | None) -> Source | None:
    return Source(**json.loads(text)) if text else None


def brief_text(brief: PromptFacts | None) -> str | None:
    return None if brief is None else _encode(brief.to_json())


@lru_cache(256)
def brief_of(text: str | None) -> PromptFacts | None:
    return prompt_facts_from_json(json.loads(text)) if text else None


def parts_text(parts: Sequence[File]) -> str | None:
    return _encode([file.to_json() for file in parts]) if parts else None


def parts_of(text: str | None) -> tuple[File, ...]:
    return files_from_json(json.loads(text)) if text else ()


def reserved_text(reserved: Estimate | None) -> str | None:
    return None if reserved is None else _encode([reserved.usd_micros, reserved.tokens])


def reserved_of(text: str | None) -> Estimate | None:
    if text is None:
        return None
    usd_micros, tokens = json.loads(text)
    return Estimate(usd_micros=usd_micros, tokens=tokens)


@lru_cache(256)
def budget_of(text: str | None) -> Budget | None:
    return Budget.from_json(json.loads(text)) if text else None


@lru_cache(256)
def quiet_of(text: str | None) -> QuietHours | None:
    """The quiet hours of a session; None: those of the settings. Raises `BadSetting`."""
    return stored_hours(json.loads(text)) if text else None


@lru_cache(256)
def digest_of(text: str | None) -> Digest | None:
    return Digest.from_json(json.loads(text)) if text else None


def reply_text(reply: LastReply | None) -> str | None:
    return None if reply is None else clean(_encode(reply.to_json()))


def reply_of(text: str | None) -> LastReply | None:
    return last_reply_from_json(json.loads(text)) if text else None


def outcome_of(text: str | None) -> Outcome | None:
    return Outcome(text) if text else None


def session(row: Row) -> Session:
    values = tuple(row)
    fields: dict[str, Any] = dict(zip(SESSION, values, strict=False))
    fields["owner"] = Owner(fields.pop("account"), fields.pop("user_id"))
    fields["metadata"] = {} if fields["metadata"] == "{}" else from_text(fields["metadata"])
    fields["unarmed"] = bool(fields["unarmed"])
    return Session(**fields, live=live(values[len(SESSION) :]))


def turn(row: Row) -> Turn:
    fields = fields_of(row, TURN)
    del fields["rank"], fields["stop_asked"]
    fields["state"] = TurnState(fields["state"])
    fields["brief"] = brief_of(fields["brief"])
    fields["call"] = from_text(fields["call"]) if fields["call"] else None
    fields["source"] = source_of(fields["source"])
    fields["acted"] = bool(fields["acted"])
    fields["outcome"] = outcome_of(fields["outcome"])
    fields["usage"] = from_text(fields["usage"]) if fields["usage"] else None
    fields["parts"] = parts_of(fields["parts"])
    fields["reserved"] = reserved_of(fields["reserved"])
    return Turn(**fields)


def job(row: Row) -> Job:
    fields = fields_of(row, JOB)
    fields["kind"] = JobKind(fields["kind"])
    fields["state"] = JobState(fields["state"])
    fields["protected"] = bool(fields["protected"])
    fields["trigger"] = trigger_of(fields["trigger"])
    fields["action"] = action_of(fields["action"])
    fields["policy"] = _policy(fields["policy"])
    fields["last_outcome"] = outcome_of(fields["last_outcome"])
    fields["replied"] = reply_of(fields["replied"])
    return Job(**fields)


def event(row: Row) -> Event:
    fields = fields_of(row, queries.events.columns["event"])
    return Event(**{**fields, "source": source_of(fields["source"]), "body": from_text(fields["body"])})


def user_message(row: Row) -> UserMessage:
    return UserMessage(to_moment(row["at"]), row["content"], row["seq"])


def file(row: Row) -> File:
    return File(id=row["id"], name=row["name"], media_type=row["media_type"], size=row["size"])


def push_subscription(row: Row) -> PushSubscription:
    fields = fields_of(row, queries.push.columns["subscription"])
    del fields["created_at"]
    return PushSubscription(owner=Owner(fields.pop("account"), fields.pop("user_id")), **fields)


def event_with_replacement(row: Row) -> Event:
    """The event; in its body, by which turn its turn was replaced."""
    plain = event(row)
    if row["replaced_by"] is None:
        return plain
    return replace(plain, body={**plain.body, "replaced_by": row["replaced_by"]})


def event_with_delivery(row: Row) -> Event:
    """As above; an answer that was delivered also has the state of its delivery in its body."""
    plain = event_with_replacement(row)
    told = {name: row[name] for name in ("delivery", "held_until") if row[name] is not None}
    return replace(plain, body={**plain.body, **told}) if told else plain


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
        "tokens": event.tokens,
    }
