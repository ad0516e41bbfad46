"""Parsing of responses: JSON of the HTTP API to records."""

from collections.abc import Mapping
from datetime import date, datetime
from typing import Any, TypeAlias

from segue.client import records
from segue.kernel.api.cost.budgets import BudgetNow, JobBudget, SessionBudget
from segue.kernel.api.guests import Guest
from segue.kernel.api.health import HealthStatus
from segue.kernel.transactions.memory.archive import CommitSkipped
from segue.model.action import View
from segue.model.auto_commit import AutoCommitPolicy
from segue.model.cost.budget import Budget, BudgetUnit, Over, Per
from segue.model.cost.forecast import ForecastVerdict
from segue.model.cost.past_runs import MICROS
from segue.model.explain import UpcomingSlot
from segue.model.files import files_from_json
from segue.model.memory import ArchiveState, MemoryKind, TaskState
from segue.model.policy import Policy
from segue.model.prompts import Mode, PromptRef
from segue.model.records import Owner, Recall, Source
from segue.model.states import CallType, DeliveryState, MessageStatus, Outcome, RecallStatus, TurnState
from segue.model.transcript import Message
from segue.times.clock import to_ms
from segue.times.days.day_sets import DaySet
from segue.times.icalendar.timed_events import LeftOut
from segue.times.trigger import trigger_from_json

JSON: TypeAlias = Mapping[str, Any]


def ms(moment: str) -> int:
    return to_ms(datetime.fromisoformat(moment))


def maybe_ms(moment: str | None) -> int | None:
    return ms(moment) if moment else None


def outcome(name: str | None) -> Outcome | None:
    return None if name is None else Outcome(name)


def source(data: JSON | None) -> Source | None:
    if data is None:
        return None
    kind = "message" if data["kind"] == "scheduled_send" else data["kind"]
    return Source(kind=kind, job_id=data["job_id"], label=data["label"], run_id=data["run_id"])


def message(data: JSON) -> Message:
    return Message(
        seq=data["seq"],
        role=data["role"],
        content=data["content"],
        at=ms(data["created_at"]),
        turn_id=data["turn_id"],
        source=source(data["source"]),
        prompt_ref=data["metadata"].get("cron_prompt_ref"),
        delivery=data["delivery"],
        held_until=maybe_ms(data["held_until"]),
        outcome=data["outcome"],
        undelivered=data["undelivered"],
        replaces=data["replaces"],
        replaced_by=data["replaced_by"],
        parts=files_from_json(data["parts"]),
    )


def found_message(data: JSON) -> records.RemoteFoundMessage:
    return records.RemoteFoundMessage(
        session_key=data["session_key"],
        session_title=data["session_title"],
        seq=data["seq"],
        role=data["role"],
        excerpt=data["excerpt"],
        at=ms(data["created_at"]),
        turn_id=data["turn_id"],
    )


def session(data: JSON) -> records.RemoteSession:
    policy = data["auto_commit_policy"]
    return records.RemoteSession(
        id=data["id"],
        owner=Owner(data["account"], data["user"]),
        key=data["key"],
        chat_type=data["chat_type"],
        title=data["title"],
        timezone=data["timezone"],
        when_busy=data["when_busy"],
        metadata=data["metadata"],
        created_at=ms(data["created_at"]),
        last_message_at=maybe_ms(data["last_message_at"]),
        last_seq=data["last_seq"],
        busy=data["state"] == "running" or data["queued"] > 0,
        auto_commit_policy=None if policy is None else AutoCommitPolicy.stored(policy),
    )


def overview(data: JSON) -> records.RemoteOverview:
    upcoming = data["upcoming"] or {"at": None, "name": None}
    return records.RemoteOverview(
        session=session(data),
        message_count=data["message_count"],
        pending_tokens=data["pending_tokens"],
        last_line=data["last_line"],
        last_line_at=maybe_ms(data["last_line_at"]),
        last_activity_at=ms(data["last_activity_at"]),
        budget=None if data["budget"] is None else Budget.from_json(data["budget"]),
        unread=data["unread"],
        queued=data["queued"],
        cron_jobs=data["automation_count"],
        recall=None if data["recall"] is None else recall(data["recall"]),
        upcoming_at=maybe_ms(upcoming["at"]),
        upcoming_name=upcoming["name"],
        quiet=data["quiet"],
        quiet_until=maybe_ms(data["quiet_until"]),
        digest=data["digest"]
        and {name: value for name, value in data["digest"].items() if value is not None},
        held=data["held"],
    )


def turn(data: JSON) -> records.RemoteTurn:
    return records.RemoteTurn(
        id=data["turn_id"],
        session_key=data["session_key"],
        state=TurnState(data["state"]),
        content=data["content"],
        source=source(data["source"]),
        joined_into=data["joined_into"],
        replaces=data["replaces"],
        replaced_by=data["replaced_by"],
        attempt=data["attempt"],
        queued_at=ms(data["queued_at"]),
        started_at=maybe_ms(data["started_at"]),
        finished_at=maybe_ms(data["finished_at"]),
        outcome=outcome(data["outcome"]),
        reply=data["reply"],
        error=data["error"],
        usage=data["usage"],
        parts=files_from_json(data["parts"]),
    )


def job(data: JSON) -> records.RemoteJob:
    state = data["state"]
    return records.RemoteJob(
        id=data["id"],
        session_key=data["session_key"],
        name=data["name"],
        enabled=data["enabled"],
        trigger=trigger_from_json(dict(data["schedule"])),
        message=data["message"],
        mode=Mode(data["mode"]),
        view=View(data["view"]),
        model=data["model"],
        look=data["look"],
        policy=Policy.stored(data["policy"]),
        protected=data["protected"],
        next_runs=tuple(datetime.fromisoformat(each) for each in data["next_runs"]),
        pending=state["pending"],
        failures=state["consecutive_failures"],
        last_run_at=maybe_ms(state["last_run_at"]),
        last_outcome=outcome(state["last_outcome"]),
        last_error=state["last_error"],
        created_at=ms(data["created_at"]),
        updated_at=ms(data["updated_at"]),
    )


def explanation(data: JSON) -> records.RemoteExplanation:
    return records.RemoteExplanation(
        job_id=data["job_id"],
        session_key=data["session_key"],
        verdict=data["verdict"],
        text=data["text"],
        slot=None if data["slot"] is None else datetime.fromisoformat(data["slot"]),
        run_id=data["run_id"],
        facts=data["facts"],
        next=tuple(UpcomingSlot(datetime.fromisoformat(each["at"]), each["note"]) for each in data["next"]),
    )


def forecast(data: JSON) -> records.RemoteForecast:
    return records.RemoteForecast(
        session_key=data["session_key"],
        start=datetime.fromisoformat(data["start"]),
        end=datetime.fromisoformat(data["end"]),
        total=data["total"],
        jobs=data["jobs"],
        slots=[_forecast_slot(each) for each in data["slots"]],
        days=data["days"],
        listed=data["listed"],
    )


def usage(data: JSON) -> records.RemoteUsage:
    return records.RemoteUsage(
        session_key=data["session_key"],
        timezone=data["timezone"],
        start=datetime.fromisoformat(data["start"]),
        end=datetime.fromisoformat(data["end"]),
        total=data["total"],
        jobs=data["jobs"],
        days=data["days"],
    )


def session_budget(data: JSON) -> SessionBudget:
    jobs = [
        JobBudget(job_id=each["job_id"], name=each["name"], now=_budget_now(each)) for each in data["jobs"]
    ]
    return SessionBudget(own=None if data["unit"] is None else _budget_now(data), jobs=jobs)


def _budget_now(data: JSON) -> BudgetNow:
    unit = BudgetUnit(data["unit"])
    whole = MICROS if unit is BudgetUnit.USD else 1
    limit = data["limit"] if unit is BudgetUnit.USD else int(data["limit"])
    return BudgetNow(
        budget=Budget(unit, limit, Per(data["per"]), Over(data["over"])),
        spent=round(data["spent"] * whole),
        reserved=round(data["reserved"] * whole),
        resets_at=datetime.fromisoformat(data["resets_at"]),
    )


def _forecast_slot(data: JSON) -> records.RemoteForecastSlot:
    return records.RemoteForecastSlot(
        job_id=data["job_id"],
        slot=datetime.fromisoformat(data["slot"]),
        verdict=ForecastVerdict(data["verdict"]),
        reason=data["reason"],
        note=data["note"],
        count=data["count"],
        collides_with=data["collides_with"],
    )


def preview(data: JSON) -> records.RemotePreview:
    return records.RemotePreview(
        name=data["name"],
        trigger=trigger_from_json(dict(data["schedule"])),
        message=data["message"],
        policy=Policy.stored(data["policy"]),
        next=[datetime.fromisoformat(slot) for slot in data["next_runs"]],
        prompt_tokens=data["prompt_tokens"],
        context_tokens=data["context_tokens"],
        warnings=data["detail"],
    )


def run(data: JSON) -> records.RemoteRun:
    ref = data["prompt_ref"]
    return records.RemoteRun(
        id=data["run_id"],
        job_id=data["job_id"],
        session_key=data["session_key"],
        slot=ms(data["slot"]),
        turn_id=data["turn_id"],
        queued_at=ms(data["queued_at"]),
        started_at=maybe_ms(data["started_at"]),
        finished_at=maybe_ms(data["finished_at"]),
        outcome=outcome(data["outcome"]),
        reason=data["reason"],
        lateness_ms=data["lateness_ms"],
        missed_count=data["missed_count"],
        prompt_ref=None if ref is None else PromptRef(**ref),
        prompt_vars=data["prompt_vars"],
        rendered_prompt=data["rendered_prompt"],
        attempt=data["attempt"],
        error=data["error"],
        usage=data["usage"],
        state=data["state"],
        delivery=data["delivery"],
        delivery_error=data["delivery_error"],
    )


def recall(data: JSON) -> Recall:
    return Recall(
        id=data["id"],
        call_type=CallType(data["call_type"]),
        trigger_at=ms(data["trigger_at"]),
        interval_seconds=data["interval_seconds"],
        comment=data["internal_comment"],
        instruction=data["additional_context_message"],
        status=RecallStatus(data["status"]),
        created_at=ms(data["created_at"]),
        updated_at=ms(data["updated_at"]),
    )


def scheduled_message(data: JSON) -> records.RemoteScheduledMessage:
    return records.RemoteScheduledMessage(
        id=data["task_id"],
        session_key=data["session_id"],
        chat_type=data["chat_type"],
        text=data["message_text"],
        send_at=ms(data["send_at"]),
        status=MessageStatus(data["status"]),
        created_at=ms(data["created_at"]),
        updated_at=ms(data["updated_at"]),
        created_by_tool_call_id=data["created_by_tool_call_id"],
        cancelled_by_tool_call_id=data["cancelled_by_tool_call_id"],
        replace_existing=data["replace_existing"],
        sent_message_id=data["sent_message_id"],
        sent_at=maybe_ms(data["sent_at"]),
        last_error=data["last_error"],
    )


def delivery(data: JSON) -> records.RemoteDelivery:
    return records.RemoteDelivery(
        id=data["id"],
        run_id=data["run_id"],
        turn_id=data["turn_id"],
        content=data["content"],
        state=DeliveryState(data["state"]),
        not_before=ms(data["not_before"]),
        attempt=data["attempt"],
        created_at=ms(data["created_at"]),
        sent_at=maybe_ms(data["sent_at"]),
        sent_message_id=data["sent_message_id"],
        error=data["error"],
        held_until=maybe_ms(data["held_until"]),
        joins=data["joins"],
    )


def commit(data: JSON, session_key: str) -> records.RemoteCommit:
    if not data["archived"]:
        return CommitSkipped(data["reason"])
    return records.RemoteArchiveMade(
        session_key=session_key, task_id=data["task_id"], archive_n=int(data["archive_id"])
    )


def archive(data: JSON, session_key: str) -> records.RemoteArchive:
    return records.RemoteArchive(
        session_key=session_key,
        n=data["n"],
        first_seq=data["first_seq"],
        last_seq=data["last_seq"],
        message_count=data["message_count"],
        tokens=data["tokens"],
        reason=data["reason"],
        task_id=data["task_id"],
        state=ArchiveState(data["state"]),
        summary=data["summary"],
        error=data["error"],
        learned=data["memories"],
        created_at=ms(data["created_at"]),
        finished_at=maybe_ms(data["finished_at"]),
        undone_at=maybe_ms(data["undone_at"]),
    )


def task(data: JSON) -> records.RemoteTask:
    return records.RemoteTask(
        id=data["task_id"],
        type=data["task_type"],
        session_key=data["session_key"],
        archive_n=int(data["archive_id"]),
        state=TaskState(data["status"]),
        stage=data["stage"],
        attempt=data["attempt"],
        result=data["result"],
        error=data["error"],
        created_at=ms(data["created_at"]),
        updated_at=ms(data["updated_at"]),
    )


def memory(data: JSON) -> records.RemoteMemory:
    origin = data["source"] or {}
    return records.RemoteMemory(
        id=data["id"],
        kind=MemoryKind(data["kind"]),
        topic=data["topic"],
        content=data["content"],
        confidence=round(data["confidence"] * 100),
        session_id=origin.get("session_id"),
        archive_n=origin.get("archive"),
        source_seq=origin.get("seq"),
        created_at=ms(data["created_at"]),
        updated_at=ms(data["updated_at"]),
    )


def found_memory(data: JSON) -> records.RemoteFoundMemory:
    return records.RemoteFoundMemory(memory=memory(data), score=data["score"])


def context(data: JSON) -> records.RemoteContext:
    tokens = data["tokens"]
    return records.RemoteContext(
        summary=data["summary"],
        memories=tuple(map(found_memory, data["memories"])),
        messages=tuple(map(message, data["messages"])),
        token_budget=tokens["budget"],
        left_out=data["left_out"],
        summary_tokens=tokens["summary"],
        memory_tokens=tokens["memories"],
        message_tokens=tokens["messages"],
    )


def day_set(data: JSON) -> records.RemoteDaySet:
    return records.RemoteDaySet(
        name=data["name"], known_until=date.fromisoformat(data["known_until"]), source=data["source"]
    )


def calendar_address(data: JSON) -> str:
    return str(data["url"])


def calendar_shared_at(data: JSON) -> int | None:
    return data["calendar"] and ms(data["calendar"]["created_at"])


def imported_events(data: JSON) -> records.RemoteImportedEvents:
    return records.RemoteImportedEvents(
        jobs=[job(each) for each in data["jobs"]],
        left_out=[LeftOut(title=each["summary"], reason=each["reason"]) for each in data["skipped"]],
        made=data["made"],
    )


def days(data: JSON) -> DaySet:
    return DaySet(
        name=data["name"],
        known_until=date.fromisoformat(data["known_until"]),
        source=data["source"],
        off={date.fromisoformat(each["date"]): each["reason"] for each in data["off"]},
        on=frozenset(map(date.fromisoformat, data["on"])),
    )


def guest(data: JSON) -> Guest:
    return Guest(
        channel=data["channel"],
        sender=data["sender"],
        name=data["name"],
        code=data["code"],
        allowed=data["allowed"],
        came_at=ms(data["came_at"]),
        user=data["user"],
    )


def health(data: JSON) -> HealthStatus:
    scheduler = data["scheduler"]
    return HealthStatus(data["status"], data["reason"], scheduler["alive"], scheduler["lag_ms"])
