"""Rows to records and back. JSON is opened here and nowhere else."""

import json
from collections.abc import Mapping, Sequence
from datetime import datetime
from functools import lru_cache
from typing import Any

from segue.action import Action, Ask, Say, action_from_json
from segue.clock import to_ms
from segue.errors import SegueError
from segue.model import (
    Delivery,
    Event,
    Job,
    Overview,
    Owner,
    Recall,
    Run,
    ScheduledMessage,
    Session,
    Source,
    Turn,
)
from segue.moment import in_seconds
from segue.policy import Policy
from segue.prompts import Brief, PromptRef, Rendered, brief_from_json, render
from segue.states import (
    CallType,
    DeliveryState,
    JobKind,
    JobState,
    Outcome,
    TurnState,
    message_status,
    recall_status,
)
from segue.store.database import Row
from segue.store.live_rows import live
from segue.text import clean
from segue.tokens import estimate
from segue.trigger import At, Every, Trigger, trigger_from_json

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
def _trigger(text: str) -> Trigger:
    return trigger_from_json(json.loads(text))


@lru_cache(_MOST_TEXTS)
def _policy(text: str) -> Policy:
    return Policy.stored(json.loads(text))


@lru_cache(256)
def _action(text: str) -> Action:
    return action_from_json(json.loads(text))


@lru_cache(_MOST_TEXTS)
def _source(text: str | None) -> Source | None:
    return Source(**json.loads(text)) if text else None


def brief_text(brief: Brief | None) -> str | None:
    return None if brief is None else _encode(brief.to_json())


def _brief(text: str | None) -> Brief | None:
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


def _outcome(text: str | None) -> Outcome | None:
    return Outcome(text) if text else None


def session(row: Row) -> Session:
    return Session(
        id=row["id"],
        owner=Owner(row["account"], row["user_id"]),
        key=row["key"],
        chat_type=row["chat_type"],
        title=row["title"],
        timezone=row["timezone"],
        when_busy=row["when_busy"],
        metadata={} if row["metadata"] == "{}" else from_text(row["metadata"]),
        created_at=row["created_at"],
        last_message_at=row["last_message_at"],
        last_seq=row["last_seq"],
        unarmed=bool(row["unarmed"]),
        ready_at=row["ready_at"],
        holder=row["holder"],
        fence=row["fence"],
        live=live(row),
    )


def overview(row: Row) -> Overview:
    return Overview(
        session=session(row),
        message_count=row["message_count"],
        last_line=row["last_line"],
        last_line_at=row["last_line_at"],
        queued=row["queued"],
        automations=row["automations"],
        recall=_pending_recall(row) if row["recall_id"] else None,
    )


_OF_RECALL = ("id", "trigger", "action", "next_at", "created_at", "updated_at", "call_type", "comment")


def _pending_recall(row: Row) -> Recall | None:
    """None also for one that a newer version wrote: its session is shown all the same."""
    fields = {name: row[f"recall_{name}"] for name in _OF_RECALL}
    try:
        return recall({**fields, "state": JobState.ACTIVE, "outcome": None})
    except UNREADABLE:
        return None


def recall(row: Row) -> Recall:
    trigger, action = _trigger(row["trigger"]), _action(row["action"])
    return Recall(
        id=row["id"],
        call_type=_call_type(row["call_type"], trigger),
        trigger_at=row["next_at"] or _first_moment(trigger, row["created_at"]),
        interval_seconds=in_seconds(trigger.interval) if isinstance(trigger, Every) else None,
        comment=row["comment"],
        instruction=action.prompt if isinstance(action, Ask) else "",
        status=recall_status(JobState(row["state"]), _outcome(row["outcome"])),
        created_at=row["created_at"],
        updated_at=row["updated_at"],
    )


def _call_type(stored: str | None, trigger: Trigger) -> CallType:
    """One that was scheduled as a plain job says by its trigger what it is."""
    if stored is not None:
        return CallType(stored)
    return CallType.RECURRING if trigger.repeats else CallType.ONCE


def _first_moment(trigger: Trigger, created_at: int) -> int:
    first = trigger.at if isinstance(trigger, At) else trigger.start if isinstance(trigger, Every) else None
    return to_ms(first) if isinstance(first, datetime) else created_at


def turn(row: Row) -> Turn:
    return Turn(
        id=row["id"],
        session_id=row["session_id"],
        via_id=row["via_id"],
        run_id=row["run_id"],
        state=TurnState(row["state"]),
        content=row["content"],
        prompt=row["prompt"],
        brief=_brief(row["brief"]),
        call=from_text(row["call"]) or None,
        source=_source(row["source"]),
        joined_into=row["joined_into"],
        attempt=row["attempt"],
        crashes=row["crashes"],
        retries=row["retries"],
        crash=row["crash"],
        timeout_ms=row["timeout_ms"],
        acted=bool(row["acted"]),
        fence=row["fence"],
        draft=row["draft"],
        not_before=row["not_before"],
        queued_at=row["queued_at"],
        started_at=row["started_at"],
        finished_at=row["finished_at"],
        outcome=_outcome(row["outcome"]),
        reply=row["reply"],
        error=row["error"],
        usage=from_text(row["usage"]) or None,
    )


def job(row: Row) -> Job:
    return Job(
        id=row["id"],
        session_id=row["session_id"],
        account=row["account"],
        kind=JobKind(row["kind"]),
        name=row["name"],
        state=JobState(row["state"]),
        state_reason=row["state_reason"],
        protected=bool(row["protected"]),
        trigger=_trigger(row["trigger"]),
        action=_action(row["action"]),
        policy=_policy(row["policy"]),
        slot=row["slot"],
        next_at=row["next_at"],
        revision=row["revision"],
        run_count=row["run_count"],
        failures=row["failures"],
        last_run_at=row["last_run_at"],
        last_outcome=_outcome(row["last_outcome"]),
        last_error=row["last_error"],
        created_at=row["created_at"],
        updated_at=row["updated_at"],
    )


def run(row: Row) -> Run:
    outcome = _outcome(row["outcome"])
    prompt = _prompt_of_run(row)
    return Run(
        id=row["id"],
        job_id=row["job_id"],
        session_id=row["session_id"],
        slot=row["slot"],
        turn_id=row["turn_id"],
        delivery_id=row["delivery_id"],
        queued_at=row["queued_at"],
        started_at=row["started_at"],
        finished_at=row["finished_at"],
        outcome=outcome,
        reason=row["reason"],
        lateness_ms=row["lateness_ms"],
        missed_count=row["missed_count"],
        prompt_ref=prompt.ref if prompt else None,
        prompt_vars=prompt.vars if prompt else None,
        rendered_prompt=prompt.text if prompt else None,
        attempt=row["attempt"] or 0,
        error=row["error"],
        usage=from_text(row["usage"]) or None,
        state=None if outcome else (row["turn_state"] or "queued"),
    )


def _prompt_of_run(row: Row) -> Rendered | None:
    """As its record has it when it is over; until then as its turn would render it."""
    if row["prompt_ref"]:
        ref = PromptRef(**json.loads(row["prompt_ref"]))
        return Rendered(ref=ref, vars=from_text(row["prompt_vars"]), text=row["rendered_prompt"])
    brief, source = _brief(row["brief"]), _source(row["source"])
    if row["outcome"] or brief is None or source is None or row["started_at"] is None:
        return None
    return render(brief, job=source.label, message=row["prompt"] or "", now=row["started_at"])


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
        source=_source(row["source"]),
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


def delivery(row: Row) -> Delivery:
    return Delivery(
        id=row["id"],
        session_id=row["session_id"],
        run_id=row["run_id"],
        turn_id=row["turn_id"],
        channel=row["channel"],
        chat_id=row["chat_id"],
        content=row["content"],
        source=_source(row["source"]),
        state=DeliveryState(row["state"]),
        not_before=row["not_before"],
        fence=row["fence"],
        attempt=row["attempt"],
        created_at=row["created_at"],
        sent_at=row["sent_at"],
        sent_message_id=row["sent_message_id"],
        error=row["error"],
    )


def scheduled_message(row: Row) -> ScheduledMessage:
    trigger, action = _trigger(row["trigger"]), _action(row["action"])
    assert isinstance(trigger, At)  # what the queries ask for
    return ScheduledMessage(
        id=row["id"],
        session_id=row["session_id"],
        chat_type=row["chat_type"] or "private",
        text=action.text if isinstance(action, Say) else "",
        send_at=to_ms(trigger.moment),
        status=message_status(JobState(row["state"]), row["run_id"] is not None, _outcome(row["outcome"])),
        created_at=row["created_at"],
        updated_at=row["finished_at"] or row["updated_at"],
        created_by_tool_call_id=row["created_by_tool_call_id"],
        cancelled_by_tool_call_id=row["cancelled_by_tool_call_id"],
        replaced_by=row["replaced_by"],
        replace_existing=bool(row["replace_existing"]),
        sent_message_id=row["sent_message_id"],
        sent_at=row["sent_at"],
        last_error=row["error"] or row["delivery_error"],
    )
