"""Jobs: creates, changes and removes them. `fire` takes their slots.

Invariants
  - a change is a compare-and-set on the revision of the job that was read
  - the session's row is locked before the job's, and in unified mode the common session's before the chat's
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from segue.errors import ChangedMeanwhile, Conflict, DuplicateId, NotFound, RecallPending, TooManyJobs
from segue.kernel.transactions import day_sets, lane, session_log
from segue.kernel.transactions.result import Name, Result, combined
from segue.model import closure
from segue.model.policy import PAUSE_AFTER_FAILURES
from segue.model.records import Event, Job, Owner, Session, Source
from segue.model.schedule import with_snooze
from segue.model.states import FAILURES, JobKind, JobState, Outcome, RecallStatus
from segue.store import queries
from segue.store.database import Transaction
from segue.store.rows import core as rows
from segue.store.rows import overviews
from segue.times.clock import to_moment
from segue.times.trigger import Cron, stored_kind

UPDATES: Mapping[str, str] = {
    JobKind.CRON: "automation_update",
    JobKind.LEGACY: "automation_update",
    JobKind.RECALL: "recall_update",
    JobKind.MESSAGE: "message_update",
}
"""The event that announces a changed job, by the job's kind; other kinds have none."""


_TIMER = frozenset({Name.TIMER})
_TIMER_AND_COURIER = frozenset({Name.TIMER, Name.COURIER})
"""The courier too: other messages may have waited behind one that was changed or removed."""


def create(
    owner: Owner, key: str, job: Job, *, new_session_id: str, most: int | None = None
) -> Transaction[Result[Job]]:
    """Store a new job, in a session that is created if it is missing.

    `most`: how many cron jobs the session may have. Raises `TooManyJobs`, `DuplicateId`, `RecallPending`.
    """
    session = yield from session_log.open_session(owner, key, new_session_id, job.created_at)
    job = replace(job, session_id=session.id, account=owner.account)
    if job.kind is JobKind.RECALL:
        yield from _refuse_second_recall(session, job.id)
    made = yield (
        queries.jobs.create,
        {
            "id": job.id,
            "session_id": session.id,
            "account": owner.account,
            "kind": str(job.kind),
            "name": job.name,
            "protected": int(job.protected),
            "trigger_kind": stored_kind(job.trigger),
            "trigger": rows.trigger_text(job.trigger),
            "action": rows.json_text(job.action),
            "policy": rows.json_text(job.policy),
            "slot": job.slot,
            "next_at": job.next_at,
            "now": job.created_at,
        },
    )
    if not made:
        return (yield from _existing_or_conflict(session, job))
    if isinstance(job.trigger, Cron) and job.trigger.days is not None:
        yield from day_sets.note_use(job)
    if most is not None:
        # Counted after the insert: a retry of this transaction must not be refused because of its own job.
        found = yield queries.jobs.automation_count, {"session_id": session.id}
        if found[0]["count"] > most:
            raise TooManyJobs(f"{key} has {most} automations, which is the most; remove one first")
    events = yield from announce(session, job, job.created_at)
    return Result(value=job, events=events, wake=_TIMER)


def _existing_or_conflict(session: Session, job: Job) -> Transaction[Result[Job]]:
    """Return the job if this is a retry of the same call; else raise, because its id or place is taken."""
    found = yield queries.jobs.by_id, {"id": job.id}
    if not found:
        raise (yield from _recall_pending(session))
    existing = rows.job(found[0])
    if (existing.session_id, existing.created_at, existing.trigger, existing.action) != (
        session.id,
        job.created_at,
        job.trigger,
        job.action,
    ):
        raise DuplicateId(f"there is a job {job.id} already; choose another id or leave it out")
    return Result(value=existing, wake=_TIMER)


def _refuse_second_recall(session: Session, job_id: str) -> Transaction[None]:
    """Raise `RecallPending` if another recall of a locked session is scheduled or waits in the lane."""
    found = yield queries.recalls.current, {"session_id": session.id}
    if found and found[0]["id"] != job_id and overviews.recall(found[0]).status is RecallStatus.PENDING:
        raise (yield from _recall_pending(session))


def _recall_pending(session: Session) -> Transaction[RecallPending]:
    found = yield queries.recalls.current, {"session_id": session.id}
    pending = overviews.recall(found[0])
    return RecallPending(
        f"{session.key} has a pending recall already, {pending.id}, which fires at "
        f"{to_moment(pending.trigger_at).isoformat()}; cancel it before you set another"
    )


def change(job: Job, now: int) -> Transaction[Result[Job]]:
    """Store a changed job. `ChangedMeanwhile`: its revision is no longer the stored one."""
    session = yield from session_log.lock_session(job.session_id)
    job = with_snooze(job)
    if job.kind is JobKind.RECALL and job.state is JobState.ACTIVE:
        yield from _refuse_second_recall(session, job.id)
    changed = yield (
        queries.jobs.change,
        {
            "id": job.id,
            "revision": job.revision,
            "name": job.name,
            "trigger_kind": stored_kind(job.trigger),
            "trigger": rows.trigger_text(job.trigger),
            "action": rows.json_text(job.action),
            "policy": rows.json_text(job.policy),
            "state": str(job.state),
            "state_reason": job.state_reason,
            "slot": job.slot,
            "next_at": job.next_at,
            "failures": job.failures,
            "replied": rows.json_text(job.replied),
            "now": now,
        },
    )
    if not changed:
        raise ChangedMeanwhile(f"job {job.id} was changed meanwhile; read it again")
    yield from day_sets.note_use(job, changed=True)
    job = replace(job, revision=job.revision + 1, updated_at=now)
    return Result(value=job, events=(yield from announce(session, job, now)), wake=_TIMER_AND_COURIER)


def remove(job: Job, reason: str, now: int) -> Transaction[Result[Job]]:
    """Remove a job, withdraw its queued run and cancel its unsent message. No run starts after this."""
    yield from _lock_lanes(job)
    # A cancelled recall stays listed with the time at which it would have fired.
    last = job.next_at if job.kind is JobKind.RECALL else None
    removed = replace(job, state=JobState.REMOVED, state_reason=reason, slot=last, next_at=None)
    changed = yield from change(removed, now)
    withdrawn = yield from _withdraw_waiting(job, Outcome.CANCELLED, reason, now)
    unsent = yield queries.runs.unsent_of_job, {"job_id": job.id}
    for row in unsent:
        yield from cancel_delivery(row["delivery_id"], reason, now)
    return Result(
        value=changed.value,
        events=[*changed.events, *withdrawn.events],
        wake=changed.wake | withdrawn.wake,
        ready_at=withdrawn.ready_at,
    )


def _lock_lanes(job: Job) -> Transaction[None]:
    """Lock the lanes in which runs of a job wait, before its own session: the common session comes first.

    A run that is queued after this takes the job to another revision, and then the change raises.
    """
    waiting = yield queries.turns.queued_of_job, {"job_id": job.id}
    for session_id in sorted({row["session_id"] for row in waiting} - {job.session_id}):
        yield from session_log.lock_session(session_id)


def skip_waiting(job: Job, reason: str, now: int) -> Transaction[Result[Job]]:
    """Skip the queued run of a job, which keeps its next slot. `Conflict`: no run is queued."""
    withdrawn = yield from _withdraw_waiting(job, Outcome.SKIPPED, reason, now)
    if not withdrawn.events:
        raise Conflict(f"the run of job {job.id} has already started; stop it instead")
    announced = yield from announce((yield from session_log.lock_session(job.session_id)), job, now)
    return Result(
        value=job,
        events=[*withdrawn.events, *announced],
        wake=withdrawn.wake | _TIMER,
        ready_at=withdrawn.ready_at,
    )


def _withdraw_waiting(job: Job, outcome: Outcome, reason: str, now: int) -> Transaction[Result[None]]:
    waiting = yield queries.turns.queued_of_job, {"job_id": job.id}
    withdrawn: list[Result[None]] = []
    for row in waiting:
        session = yield from session_log.lock_session(row["session_id"])
        closures = yield from lane.withdraw(row["id"], outcome, reason, now)
        withdrawn.append((yield from lane.queue_changed(session, closures or (), now)))
    return combined(None, withdrawn)


def cancel_delivery(delivery_id: str, reason: str, now: int) -> Transaction[bool]:
    """Cancel an unsent message and its run. False: it is being sent, or was."""
    taken = yield queries.deliveries.cancel, {"id": delivery_id, "reason": reason}
    for row in taken:
        if row["run_id"]:
            yield (
                queries.runs.close,
                {"id": row["run_id"], "outcome": "cancelled", "reason": reason, "error": None, "now": now},
            )
    return bool(taken)


def count_failure(source: Source, outcome: Outcome, now: int) -> Transaction[str | None]:
    """Count a failed run. Returns a sentence for the user if this failure pauses the job."""
    if outcome not in FAILURES:
        return None
    failed = yield queries.jobs.fail, {"id": source.job_id, "run_id": source.run_id, "now": now}
    if not failed or failed[0]["failures"] < PAUSE_AFTER_FAILURES or failed[0]["state"] != JobState.ACTIVE:
        return None
    sentence = closure.PAUSED.format(failures=failed[0]["failures"])
    yield queries.jobs.pause, {"id": source.job_id, "reason": sentence, "now": now}
    return sentence


def load(job_id: str) -> Transaction[Job]:
    found = yield queries.jobs.by_id, {"id": job_id}
    if not found:
        raise NotFound(f"there is no job {job_id}")
    return rows.job(found[0])


def announce(session: Session, job: Job, now: int) -> Transaction[Sequence[Event]]:
    """Append the event that a job changed to its session's log, if jobs of its kind have one."""
    events = update_of(session, job, now)
    return (yield from session_log.append_events(session, events, now)) if events else ()


def update_of(session: Session, job: Job, now: int) -> list[Event]:
    if job.kind not in UPDATES:
        return []
    return [Event(session_id=session.id, seq=0, type=UPDATES[job.kind], at=now, body={"job_id": job.id})]
