"""Conversion between rows and records of sessions, turns, jobs and events. JSON columns are parsed here.

Records that every turn reads take columns by position: SQLite finds a column name by linear search. So every
query that returns a session, a turn or a job lists their columns first, in the order of its file's column
lists; `tests/store/test_columns.py` checks that.
"""

import json
import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cache, lru_cache
from sys import intern
from typing import Any, Protocol

from segue.errors import BadPolicy, SegueError
from segue.model.action import action_from_json
from segue.model.auto_commit import AutoCommitPolicy, Unarchived
from segue.model.conditions.check import UserMessage
from segue.model.cost.budget import Budget, Estimate
from segue.model.files import File, files_from_json
from segue.model.policy import Policy
from segue.model.prompts import prompt_facts_from_json
from segue.model.quiet.digest import Digest
from segue.model.quiet.hours import stored_hours
from segue.model.records import Event, Job, Owner, PushSubscription, Session, Source, Turn
from segue.model.replies.last_reply import last_reply_from_json
from segue.model.states import JobKind, JobState, Outcome, TurnState
from segue.model.text_checks import clean
from segue.store import queries
from segue.store.database import Row, T
from segue.times.clock import to_moment
from segue.times.trigger import Trigger, stored_json, trigger_from_stored

_log = logging.getLogger(__name__)


def fields_of(row: Row, names: Sequence[str]) -> dict[str, Any]:
    """The columns of a record by name. They are the first columns of its row."""
    return dict(zip(names, row, strict=False))


@cache
def _live_fields() -> list[str]:
    """The fields of `Unarchived`, in the order of their columns."""
    names = queries.sessions.columns["live"]
    # Interned like names in code: CPython then matches keyword arguments by identity.
    return [intern(name.removeprefix("live_").removeprefix("auto_commit_")) for name in names]


@lru_cache(256)
def auto_commit_policy(text: str | None) -> AutoCommitPolicy | None:
    try:
        return AutoCommitPolicy.stored(json.loads(text)) if text else None
    except (BadPolicy, ValueError, TypeError) as error:
        _log.warning("unreadable auto_commit_policy ignored: %s", error)
        return None


def live(values: Iterable[Any]) -> Unarchived:
    """From the columns `live` of a session; further values are ignored."""
    fields: dict[str, Any] = dict(zip(_live_fields(), values, strict=False))
    fields["policy"] = auto_commit_policy(fields["policy"])
    return Unarchived(**fields)


UNREADABLE = (SegueError, ValueError, KeyError, TypeError)
"""The errors that reading a row may raise if a newer version wrote it."""

_encode = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), default=str).encode


class HasJson(Protocol):
    def to_json(self) -> Mapping[str, Any]: ...


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


def json_text(value: HasJson | None) -> str | None:
    return None if value is None else clean(_encode(value.to_json()))


auto_commit_text = lru_cache(256)(json_text)


def trigger_text(trigger: Trigger) -> str:
    return _encode(stored_json(trigger))


def parts_text(parts: Sequence[File]) -> str | None:
    return _encode([file.to_json() for file in parts]) if parts else None


def parts_of(text: str | None) -> tuple[File, ...]:
    return files_from_json(json.loads(text)) if text else ()


def reserved_text(reserved: Estimate | None) -> str | None:
    return None if reserved is None else _encode([reserved.usd_micros, reserved.tokens])


# Many rows share a text, and the values are immutable: each text is parsed once.


def _parser(read: Callable[[Any], T], most: int = 256) -> Callable[[str], T]:
    """Reads a JSON column. What `read` raises is in `UNREADABLE`."""
    return lru_cache(most)(lambda text: read(json.loads(text)))


def _optional(read: Callable[[Any], T]) -> Callable[[str | None], T | None]:
    """The same for a column that may be NULL."""
    return lru_cache(256)(lambda text: read(json.loads(text)) if text else None)


trigger_of = _parser(trigger_from_stored, most=4096)
_policy_of = _parser(Policy.stored, most=4096)
action_of = _parser(action_from_json)
source_of = _optional(lambda fields: Source(**fields))
brief_of = _optional(prompt_facts_from_json)
budget_of = _optional(Budget.from_json)
quiet_of = _optional(stored_hours)
"""The quiet hours of a session; None: those of the settings."""
digest_of = _optional(Digest.from_json)
_reserved_of = _optional(lambda pair: Estimate(usd_micros=pair[0], tokens=pair[1]))
_reply_of = _optional(last_reply_from_json)


def outcome_of(text: str | None) -> Outcome | None:
    return Outcome(text) if text else None


def owner(row: Row) -> Owner:
    return Owner(row["account"], row["user_id"])


def session(row: Row) -> Session:
    columns, values = queries.sessions.columns["session"], tuple(row)
    fields: dict[str, Any] = dict(zip(columns, values, strict=False))
    fields["owner"] = Owner(fields.pop("account"), fields.pop("user_id"))
    fields["metadata"] = {} if fields["metadata"] == "{}" else from_text(fields["metadata"])
    fields["unarmed"] = bool(fields["unarmed"])
    return Session(**fields, live=live(values[len(columns) :]))


def turn(row: Row) -> Turn:
    fields = fields_of(row, queries.turns.columns["turn"])
    del fields["rank"], fields["stop_asked"]
    fields["state"] = TurnState(fields["state"])
    fields["brief"] = brief_of(fields["brief"])
    fields["call"] = from_text(fields["call"]) if fields["call"] else None
    fields["source"] = source_of(fields["source"])
    fields["acted"] = bool(fields["acted"])
    fields["outcome"] = outcome_of(fields["outcome"])
    fields["usage"] = from_text(fields["usage"]) if fields["usage"] else None
    fields["parts"] = parts_of(fields["parts"])
    fields["reserved"] = _reserved_of(fields["reserved"])
    return Turn(**fields)


def job(row: Row) -> Job:
    fields = fields_of(row, queries.jobs.columns["job"])
    fields["kind"] = JobKind(fields["kind"])
    fields["state"] = JobState(fields["state"])
    fields["protected"] = bool(fields["protected"])
    fields["trigger"] = trigger_of(fields["trigger"])
    fields["action"] = action_of(fields["action"])
    fields["policy"] = _policy_of(fields["policy"])
    fields["last_outcome"] = outcome_of(fields["last_outcome"])
    fields["replied"] = _reply_of(fields["replied"])
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
    """The event, with the id of the turn that replaced its turn in the body."""
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
