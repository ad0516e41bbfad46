"""Rows to records and back. JSON is opened here and nowhere else.

What is read for every turn is taken from its row by place, which is three times as fast as by name: wherever
a query gives a session, a turn or a job, it lists their columns first and in this order, and
`tests/store/test_columns.py` holds it to that.
"""

import json
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

from segue.action import Action, action_from_json
from segue.errors import SegueError
from segue.model import (
    Event,
    Job,
    Owner,
    Session,
    Source,
    Turn,
)
from segue.policy import Policy
from segue.prompts import Brief, Rendered, brief_from_json
from segue.states import (
    JobKind,
    JobState,
    Outcome,
    TurnState,
)
from segue.store.database import Row
from segue.store.live_rows import live
from segue.text import clean
from segue.tokens import estimate
from segue.trigger import Trigger, trigger_from_json

# Many jobs share a trigger, a policy, even an action, and all three are values: parse each text once.
_MOST_TEXTS = 4096

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


def brief_text(brief: Brief | None) -> str | None:
    return None if brief is None else _encode(brief.to_json())


def brief_of(text: str | None) -> Brief | None:
    return brief_from_json(json.loads(text)) if text else None


def prompt_params(prompt: Rendered | None) -> dict[str, str | int | None]:
    """What a run's record keeps of the prompt that it ran with."""
    if prompt is None:
        return {"prompt_ref": None, "prompt_vars": None, "rendered_prompt": None}
    return {
        "prompt_ref": _encode(prompt.ref.to_json()),
        "prompt_vars": to_text(prompt.vars),
        "rendered_prompt": prompt.text,
    }


def outcome_of(text: str | None) -> Outcome | None:
    return Outcome(text) if text else None


def session(row: Row) -> Session:
    (
        id,
        account,
        user,
        key,
        chat_type,
        title,
        timezone,
        when_busy,
        metadata,
        created_at,
        last_message_at,
        last_seq,
        unarmed,
        ready_at,
        holder,
        fence,
        *live_part,
    ) = row
    return Session(
        id=id,
        owner=Owner(account, user),
        key=key,
        chat_type=chat_type,
        title=title,
        timezone=timezone,
        when_busy=when_busy,
        metadata={} if metadata == "{}" else from_text(metadata),
        created_at=created_at,
        last_message_at=last_message_at,
        last_seq=last_seq,
        unarmed=bool(unarmed),
        ready_at=ready_at,
        holder=holder,
        fence=fence,
        live=live(live_part),
    )


def turn(row: Row) -> Turn:
    (
        id,
        session_id,
        via_id,
        run_id,
        state,
        _rank,
        not_before,
        content,
        prompt,
        brief,
        call,
        source,
        joined_into,
        attempt,
        crashes,
        retries,
        crash,
        timeout_ms,
        acted,
        _stop_asked,
        fence,
        draft,
        queued_at,
        started_at,
        finished_at,
        outcome,
        reply,
        error,
        usage,
        *_,
    ) = row
    return Turn(
        id=id,
        session_id=session_id,
        via_id=via_id,
        run_id=run_id,
        state=TurnState(state),
        content=content,
        prompt=prompt,
        brief=brief_of(brief),
        call=from_text(call) if call else None,
        source=source_of(source),
        joined_into=joined_into,
        attempt=attempt,
        crashes=crashes,
        retries=retries,
        crash=crash,
        timeout_ms=timeout_ms,
        acted=bool(acted),
        fence=fence,
        draft=draft,
        not_before=not_before,
        queued_at=queued_at,
        started_at=started_at,
        finished_at=finished_at,
        outcome=outcome_of(outcome),
        reply=reply,
        error=error,
        usage=from_text(usage) if usage else None,
    )


def job(row: Row) -> Job:
    (
        id,
        session_id,
        account,
        kind,
        name,
        state,
        state_reason,
        protected,
        trigger,
        action,
        policy,
        slot,
        next_at,
        revision,
        run_count,
        failures,
        last_run_at,
        last_outcome,
        last_error,
        created_at,
        updated_at,
        *_,
    ) = row
    return Job(
        id=id,
        session_id=session_id,
        account=account,
        kind=JobKind(kind),
        name=name,
        state=JobState(state),
        state_reason=state_reason,
        protected=bool(protected),
        trigger=trigger_of(trigger),
        action=action_of(action),
        policy=_policy(policy),
        slot=slot,
        next_at=next_at,
        revision=revision,
        run_count=run_count,
        failures=failures,
        last_run_at=last_run_at,
        last_outcome=outcome_of(last_outcome),
        last_error=last_error,
        created_at=created_at,
        updated_at=updated_at,
    )


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
