"""Records to shapes: how what the kernel keeps is shown outside."""

from datetime import UTC
from typing import Any, cast

from segue.model import auto_commit
from segue.model.records import Job, Overview, Recall, Run, Source, Turn, message_id
from segue.model.states import JobState
from segue.model.transcript import Message
from segue.server.schemas.common import (
    AutoCommitPolicyIn,
    BlockingJob,
    MessageOut,
    PromptRefOut,
    RecallOut,
    RunOut,
    SessionOut,
    SourceOut,
    TurnOut,
)
from segue.times.clock import to_moment

_SOURCES = {"message": "scheduled_send", "legacy": "cron"}


def moment(ms: int) -> str:
    return to_moment(ms).astimezone(UTC).isoformat(timespec="milliseconds")


def maybe_moment(ms: int | None) -> str | None:
    return None if ms is None else moment(ms)


def session(overview: Overview) -> SessionOut:
    there = overview.session
    return SessionOut(
        key=there.key,
        channel=there.channel,
        chat_id=there.chat_id,
        chat_type=cast(Any, there.chat_type),
        title=there.title,
        timezone=there.timezone,
        account=there.owner.account,
        user=there.owner.user,
        created_at=moment(there.created_at),
        last_message_at=maybe_moment(there.last_message_at),
        message_count=overview.message_count,
        pending_tokens=overview.pending_tokens,
        last_line=overview.last_line,
        last_line_at=maybe_moment(overview.last_line_at),
        keep_recent_count=there.live.keep_recent_count,
        auto_commit_policy=_policy(there.live.policy),
        auto_commit_last_error=there.live.last_error,
        auto_commit_last_error_at=maybe_moment(there.live.last_error_at) or "",
        state="idle" if there.holder is None else "running",
        queued=overview.queued,
        recall=None if overview.recall is None else recall(overview.recall, there.key),
        automation_count=overview.automations,
        when_busy=cast(Any, there.when_busy),
        metadata=dict(there.metadata),
    )


def recall(there: Recall, session_key: str) -> RecallOut:
    return RecallOut(
        id=there.id,
        session_id=session_key,
        call_type=cast(Any, str(there.call_type)),
        trigger_at=moment(there.trigger_at),
        interval_seconds=there.interval_seconds,
        internal_comment=there.comment,
        additional_context_message=there.instruction,
        status=cast(Any, str(there.status)),
        created_at=moment(there.created_at),
        updated_at=moment(there.updated_at),
    )


def _policy(policy: auto_commit.AutoCommitPolicy | None) -> AutoCommitPolicyIn | None:
    return None if policy is None else AutoCommitPolicyIn(**policy.to_json())


def message(said: Message, session_id: str, *, html: str, archived_seq: int = 0) -> MessageOut:
    return MessageOut(
        id=message_id(session_id, said.seq),
        seq=said.seq,
        role=cast(Any, said.role),
        content=said.content,
        html=html,
        created_at=moment(said.at),
        turn_id=said.turn_id,
        source=source(said.source),
        metadata=_trigger_fields(said),
        archived=said.seq <= archived_seq,
        delivery=cast(Any, said.delivery),
    )


def source(where: Source | None) -> SourceOut | None:
    if where is None:
        return None
    kind = cast(Any, _SOURCES.get(where.kind, str(where.kind)))
    return SourceOut(kind=kind, job_id=where.job_id, label=where.label, run_id=where.run_id)


def _trigger_fields(said: Message) -> dict[str, Any]:
    """The message that a scheduled turn begins with carries the names that its seed gave these facts."""
    if said.source is None or said.role != "user":
        return {}
    if said.source.kind == "recall":
        return {"is_recall": True}
    return {
        "_cron_turn": True,
        "cron_job_id": said.source.job_id,
        "cron_job_name": said.source.label,
        "cron_run_id": said.source.run_id,
        "cron_prompt_ref": said.prompt_ref and dict(said.prompt_ref),
    }


def turn(there: Turn, session_key: str) -> TurnOut:
    return TurnOut(
        turn_id=there.id,
        session_key=session_key,
        state=cast(Any, str(there.state)),
        outcome=there.outcome,
        content=there.content,
        reply=there.reply,
        error=there.error,
        usage=None if there.usage is None else dict(there.usage),
        source=source(there.source),
        attempt=there.attempt,
        joined_into=there.joined_into,
        queued_at=moment(there.queued_at),
        started_at=maybe_moment(there.started_at),
        finished_at=maybe_moment(there.finished_at),
    )


def run(there: Run, session_key: str) -> RunOut:
    return RunOut(
        run_id=there.id,
        job_id=there.job_id,
        session_key=session_key,
        turn_id=there.turn_id,
        state=cast(Any, there.state),
        slot=moment(there.slot),
        queued_at=moment(there.queued_at),
        started_at=maybe_moment(there.started_at),
        finished_at=maybe_moment(there.finished_at),
        outcome=there.outcome,
        reason=there.reason,
        lateness_ms=there.lateness_ms,
        attempt=there.attempt,
        missed_count=there.missed_count,
        prompt_ref=PromptRefOut(**there.prompt_ref.to_json()) if there.prompt_ref else None,
        prompt_vars=dict(there.prompt_vars) if there.prompt_vars else None,
        rendered_prompt=there.rendered_prompt,
        error=there.error,
        usage=None if there.usage is None else dict(there.usage),
        delivery=cast(Any, there.delivery),
        delivery_error=there.delivery_error,
    )


def blocking(job: Job) -> BlockingJob:
    return BlockingJob(id=job.id, name=job.name, enabled=job.state is JobState.ACTIVE)
