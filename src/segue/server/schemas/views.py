"""Serializers: convert the kernel's records to the response models of the API."""

from collections.abc import Mapping
from datetime import UTC
from typing import Any, cast

from segue.kernel.transactions.replies import Acted
from segue.memory.message_search import FoundMessage
from segue.model import auto_commit
from segue.model.records import Job, Overview, Recall, Run, Source, Turn, message_id
from segue.model.states import JobState
from segue.model.transcript import Message
from segue.server.schemas.common import (
    AutoCommitPolicyIn,
    BlockingJob,
    FoundMessageOut,
    MessageOut,
    RecallOut,
    SessionOut,
    SourceOut,
    UndeliveredOut,
    Upcoming,
)
from segue.server.schemas.files import parts_out
from segue.server.schemas.quiet import DigestOut, QuietOut
from segue.server.schemas.runs import PromptRefOut, RunOut
from segue.server.schemas.turns import ControlDone, ControlOut, TurnOut
from segue.times.clock import to_moment

_SOURCES = {"message": "scheduled_send", "legacy": "cron"}


def moment(ms: int) -> str:
    return to_moment(ms).astimezone(UTC).isoformat(timespec="milliseconds")


def maybe_moment(ms: int | None) -> str | None:
    return None if ms is None else moment(ms)


def session(overview: Overview) -> SessionOut:
    record = overview.session
    return SessionOut(
        id=record.id,
        key=record.key,
        channel=record.channel,
        chat_id=record.chat_id,
        chat_type=cast(Any, record.chat_type),
        title=record.title,
        timezone=record.timezone,
        days=overview.days,
        budget=None if overview.budget is None else overview.budget.to_json(),
        account=record.owner.account,
        user=record.owner.user,
        created_at=moment(record.created_at),
        last_message_at=maybe_moment(record.last_message_at),
        message_count=overview.message_count,
        pending_tokens=overview.pending_tokens,
        last_seq=record.last_seq,
        last_line=overview.last_line,
        last_line_at=maybe_moment(overview.last_line_at),
        last_activity_at=moment(overview.last_activity_at),
        unread=overview.unread,
        upcoming=_upcoming(overview),
        keep_recent_count=record.live.keep_recent_count,
        auto_commit_policy=_policy(record.live.policy),
        auto_commit_last_error=record.live.last_error,
        auto_commit_last_error_at=maybe_moment(record.live.last_error_at) or "",
        state="idle" if record.holder is None else "running",
        queued=overview.queued,
        waiting_until=maybe_moment(record.waiting_until),
        quiet=QuietOut(**overview.quiet) if overview.quiet else None,
        quiet_until=maybe_moment(overview.quiet_until),
        digest=DigestOut(**overview.digest) if overview.digest else None,
        held=record.held,
        recall=None if overview.recall is None else recall(overview.recall, record.key),
        automation_count=overview.cron_jobs,
        when_busy=cast(Any, record.when_busy),
        metadata=dict(record.metadata),
    )


def _upcoming(overview: Overview) -> Upcoming | None:
    if overview.upcoming_at is None:
        return None
    return Upcoming(at=moment(overview.upcoming_at), name=overview.upcoming_name or "")


def recall(record: Recall, session_key: str) -> RecallOut:
    return RecallOut(
        id=record.id,
        session_id=session_key,
        call_type=cast(Any, str(record.call_type)),
        trigger_at=moment(record.trigger_at),
        interval_seconds=record.interval_seconds,
        internal_comment=record.comment,
        additional_context_message=record.instruction,
        status=cast(Any, str(record.status)),
        created_at=moment(record.created_at),
        updated_at=moment(record.updated_at),
    )


def _policy(policy: auto_commit.AutoCommitPolicy | None) -> AutoCommitPolicyIn | None:
    return None if policy is None else AutoCommitPolicyIn(**policy.to_json())


def message(record: Message, session_id: str, *, html: str, archived_seq: int = 0) -> MessageOut:
    return MessageOut(
        id=message_id(session_id, record.seq),
        seq=record.seq,
        role=cast(Any, record.role),
        content=record.content,
        html=html,
        parts=parts_out(record.parts),
        created_at=moment(record.at),
        turn_id=record.turn_id,
        source=source(record.source),
        metadata=_trigger_fields(record),
        archived=record.seq <= archived_seq,
        delivery=cast(Any, record.delivery),
        held_until=maybe_moment(record.held_until),
        outcome=record.outcome,
        undelivered=UndeliveredOut(**record.undelivered) if record.undelivered else None,
        replaces=record.replaces,
        replaced_by=record.replaced_by,
    )


def control(acted: Acted) -> ControlDone:
    done = ControlOut(action=cast(Any, acted.action), job_id=acted.job_id, undo=acted.undo)
    return ControlDone(reply=acted.line, control=done)


def found_message(found: FoundMessage) -> FoundMessageOut:
    message = found.message
    return FoundMessageOut(
        id=message_id(found.session_id, message.seq),
        session_key=found.session_key,
        session_title=found.session_title,
        seq=message.seq,
        role=cast(Any, message.role),
        excerpt=found.excerpt,
        created_at=moment(message.at),
        turn_id=message.turn_id,
        replaced_by=message.replaced_by,
    )


def source(record: Source | None) -> SourceOut | None:
    if record is None:
        return None
    kind = cast(Any, _SOURCES.get(record.kind, str(record.kind)))
    return SourceOut(kind=kind, job_id=record.job_id, label=record.label, run_id=record.run_id)


def _trigger_fields(message: Message) -> dict[str, Any]:
    """Metadata of the message that starts a scheduled turn. Clients rely on these names."""
    if message.source is None or message.role != "user":
        return {}
    if message.source.kind == "recall":
        return {"is_recall": True}
    return {
        "_cron_turn": True,
        "cron_job_id": message.source.job_id,
        "cron_job_name": message.source.label,
        "cron_run_id": message.source.run_id,
        "cron_prompt_ref": message.prompt_ref and dict(message.prompt_ref),
    }


def turn(record: Turn, session_key: str, *, replaced_by: str | None = None) -> TurnOut:
    return TurnOut(
        turn_id=record.id,
        session_key=session_key,
        state=cast(Any, str(record.state)),
        outcome=record.outcome,
        content=record.content,
        parts=parts_out(record.parts),
        reply=record.reply,
        error=record.error,
        usage=None if record.usage is None else dict(record.usage),
        source=source(record.source),
        attempt=record.attempt,
        joined_into=record.joined_into,
        replaces=record.replaces,
        replaced_by=replaced_by,
        queued_at=moment(record.queued_at),
        started_at=maybe_moment(record.started_at),
        finished_at=maybe_moment(record.finished_at),
    )


_NO_USAGE: Mapping[str, Any] = {
    "requests": {},
    "cache_read_tokens": 0,
    "cache_write_tokens": 0,
    "cost_usd": None,
}
"""What an agent did not report: nothing, and an unknown cost."""


def run(record: Run, session_key: str) -> RunOut:
    return RunOut(
        run_id=record.id,
        job_id=record.job_id,
        session_key=session_key,
        turn_id=record.turn_id,
        state=cast(Any, record.state),
        slot=moment(record.slot),
        queued_at=moment(record.queued_at),
        started_at=maybe_moment(record.started_at),
        finished_at=maybe_moment(record.finished_at),
        outcome=record.outcome,
        reason=record.reason,
        lateness_ms=record.lateness_ms,
        attempt=record.attempt,
        missed_count=record.missed_count,
        prompt_ref=PromptRefOut(**record.prompt_ref.to_json()) if record.prompt_ref else None,
        prompt_vars=dict(record.prompt_vars) if record.prompt_vars else None,
        rendered_prompt=record.rendered_prompt,
        error=record.error,
        usage=None if record.usage is None else {**_NO_USAGE, **record.usage},
        delivery=cast(Any, record.delivery),
        delivery_error=record.delivery_error,
    )


def blocking(job: Job) -> BlockingJob:
    return BlockingJob(id=job.id, name=job.name, enabled=job.state is JobState.ACTIVE)
