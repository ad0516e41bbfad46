"""Rows to records that join several tables: session overviews, recalls, runs, deliveries, messages."""

import json
from datetime import datetime

from segue.model.action import Ask, Say
from segue.model.cost.budget import Budget
from segue.model.cost.past_runs import PastRun
from segue.model.prompts import PromptRef, RenderedPrompt, kept, render
from segue.model.records import Delivery, Overview, Recall, Run, ScheduledMessage
from segue.model.states import CallType, DeliveryState, JobState, message_status, recall_status
from segue.store import queries
from segue.store.database import Row
from segue.store.rows import core as rows
from segue.times.clock import to_ms
from segue.times.moment import in_seconds
from segue.times.trigger import At, Every, Trigger


def overview(row: Row) -> Overview:
    return Overview(
        session=rows.session(row),
        message_count=row["message_count"],
        last_line=row["last_line"],
        last_line_at=row["last_line_at"],
        queued=row["queued"],
        cron_jobs=row["automations"],
        recall=_current_recall(row) if row["recall_id"] else None,
        last_activity_at=row["active_at"],
        unread=row["unread"],
        upcoming_at=row["upcoming_at"],
        upcoming_name=row["upcoming_name"],
        days=row["day_set"],
        budget=_budget(row["budget"]),
    )


def _budget(text: str | None) -> Budget | None:
    try:
        return rows.budget_of(text)
    except rows.UNREADABLE:
        return None


_NOT_ENDED = {"last_slot": None, "outcome": None}
"""A current recall has no outcome yet."""


def _current_recall(row: Row) -> Recall | None:
    """None for a recall that this version cannot read: its session is still listed."""
    names = [name for name in queries.recalls.columns["recall"] if name not in _NOT_ENDED]
    try:
        return recall({**_NOT_ENDED, **{name: row[f"recall_{name}"] for name in names}})
    except rows.UNREADABLE:
        return None


def recall(row: Row) -> Recall:
    trigger, action = rows.trigger_of(row["trigger"]), rows.action_of(row["action"])
    return Recall(
        id=row["id"],
        call_type=_call_type(row["call_type"], trigger),
        trigger_at=_trigger_at(row, trigger),
        interval_seconds=in_seconds(trigger.interval) if isinstance(trigger, Every) else None,
        comment=row["comment"],
        instruction=action.prompt if isinstance(action, Ask) else "",
        status=recall_status(JobState(row["state"]), row["turn_state"], rows.outcome_of(row["outcome"])),
        created_at=row["created_at"],
        updated_at=row["updated_at"],
    )


def _trigger_at(row: Row, trigger: Trigger) -> int:
    """The moment a queued run is for, else the next one, else the last one."""
    known = (row[name] for name in ("waits_since", "next_at", "slot", "last_slot"))
    return next((at for at in known if at is not None), None) or _first_moment(trigger, row["created_at"])


def _call_type(stored: str | None, trigger: Trigger) -> CallType:
    """Stored for recalls; for a job that was scheduled without a call type, derived from its trigger."""
    if stored is not None:
        return CallType(stored)
    return CallType.RECURRING if trigger.repeats else CallType.ONCE


def _first_moment(trigger: Trigger, created_at: int) -> int:
    first = trigger.at if isinstance(trigger, At) else trigger.start if isinstance(trigger, Every) else None
    return to_ms(first) if isinstance(first, datetime) else created_at


def run(row: Row) -> Run:
    fields = rows.fields_of(row, queries.runs.columns["run"])
    outcome = rows.outcome_of(fields["outcome"])
    prompt = _prompt_of_run(row)
    turn_state = fields.pop("turn_state")
    for name in ("prompt_version", "brief", "prompt", "source"):
        del fields[name]
    fields |= {
        "outcome": outcome,
        "prompt_ref": prompt.ref if prompt else None,
        "prompt_vars": prompt.vars if prompt else None,
        "rendered_prompt": prompt.text if prompt else None,
        "attempt": fields["attempt"] or 0,
        "usage": rows.from_text(fields["usage"]) or None,
        "state": None if outcome else (turn_state or "queued"),
    }
    return Run(**fields, delivery=row["delivery"], delivery_error=row["delivery_error"])


def past_run(row: Row) -> PastRun:
    return PastRun(row["finished_at"] - row["started_at"], rows.from_text(row["usage"]))


def _prompt_of_run(row: Row) -> RenderedPrompt | None:
    """The prompt stored when the run ended, else the prompt its turn would render."""
    if row["prompt_ref"]:  # written by a version that stored prompts with runs, not with turns
        ref = PromptRef(**json.loads(row["prompt_ref"]))
        return RenderedPrompt(ref=ref, vars=rows.from_text(row["prompt_vars"]), text=row["rendered_prompt"])
    brief, source = rows.brief_of(row["brief"]), rows.source_of(row["source"])
    if brief is None or source is None or row["started_at"] is None:
        return None
    job, now = source.label, row["started_at"]
    if row["rendered_prompt"] is not None:
        text, version = row["rendered_prompt"], row["prompt_version"]
        return kept(brief, version=version, job=job, text=text, now=now)
    return render(brief, job=job, message=row["prompt"] or "", now=now)


def delivery(row: Row) -> Delivery:
    fields = rows.fields_of(row, queries.deliveries.columns["delivery"])
    del fields["holder"]
    fields |= {"source": rows.source_of(fields["source"]), "state": DeliveryState(fields["state"])}
    fields["parts"] = rows.parts_of(fields["parts"])
    fields["logged"] = bool(fields["logged"])
    return Delivery(**fields)


def scheduled_message(row: Row) -> ScheduledMessage:
    trigger, action = rows.trigger_of(row["trigger"]), rows.action_of(row["action"])
    assert isinstance(trigger, At)  # the queries select no other trigger
    return ScheduledMessage(
        id=row["id"],
        session_id=row["session_id"],
        chat_type=row["chat_type"] or "private",
        text=action.text if isinstance(action, Say) else "",
        send_at=to_ms(trigger.moment),
        status=message_status(
            JobState(row["state"]), row["run_id"] is not None, rows.outcome_of(row["outcome"])
        ),
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
