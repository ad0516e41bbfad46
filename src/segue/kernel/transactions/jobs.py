"""The standing orders: how a job is made, changed and removed; how its slots are taken is in `firing`.

Transactions, as in `lane`.

Invariants
  - whoever changes a job names the revision that was read
  - the session's row is locked before the job's
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from segue.errors import ChangedMeanwhile, Conflict, DuplicateId, NotFound, RecallPending, TooManyJobs
from segue.kernel.transactions import lane, session_log
from segue.kernel.transactions.lane import ReadyLane, TurnEnd
from segue.model.records import Event, Job, Owner, Session
from segue.model.states import JobKind, JobState, Outcome, RecallStatus
from segue.record import record
from segue.store import queries
from segue.store.database import Transaction
from segue.store.rows import core as rows
from segue.store.rows import overviews
from segue.times.clock import to_moment

UPDATES: Mapping[str, str] = {
    JobKind.CRON: "automation_update",
    JobKind.LEGACY: "automation_update",
    JobKind.RECALL: "recall_update",
    JobKind.MESSAGE: "message_update",
}
"""What a session's listeners are told when one of its jobs has changed."""


@record
class JobChanged:
    """A job after a verb, with what to tell listeners and who may have work now."""

    job: Job
    events: Sequence[Event] = ()
    ready: ReadyLane | None = None


def create(
    owner: Owner, key: str, job: Job, *, new_session_id: str, most: int | None = None
) -> Transaction[JobChanged]:
    """`most`: with how many automations the session may end up."""
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
            "trigger_kind": job.trigger.kind,
            "trigger": rows.trigger_text(job.trigger),
            "action": rows.action_text(job.action),
            "policy": rows.policy_text(job.policy),
            "slot": job.slot,
            "next_at": job.next_at,
            "now": job.created_at,
        },
    )
    if not made:
        return (yield from _made_before(session, job))
    if most is not None:
        # Counted when it is in: driven again, it must not be refused because of itself.
        found = yield queries.jobs.automation_count, {"session_id": session.id}
        if found[0]["count"] > most:
            raise TooManyJobs(f"{key} has {most} automations, which is the most; remove one first")
    return (yield from announce(session, job, job.created_at))


def _made_before(session: Session, job: Job) -> Transaction[JobChanged]:
    """The id or the place is taken, unless it was taken by this very call, driven again."""
    found = yield queries.jobs.by_id, {"id": job.id}
    if not found:
        raise (yield from _second_recall(session))
    there = rows.job(found[0])
    if (there.session_id, there.created_at, there.trigger, there.action) != (
        session.id,
        job.created_at,
        job.trigger,
        job.action,
    ):
        raise DuplicateId(f"there is a job {job.id} already; choose another id or leave it out")
    return JobChanged(job=there)


def _refuse_second_recall(session: Session, job_id: str) -> Transaction[None]:
    """`RecallPending` if another recall of a locked session is to come, or waits in the lane."""
    found = yield queries.recalls.current, {"session_id": session.id}
    if found and found[0]["id"] != job_id and overviews.recall(found[0]).status is RecallStatus.PENDING:
        raise (yield from _second_recall(session))


def _second_recall(session: Session) -> Transaction[RecallPending]:
    found = yield queries.recalls.current, {"session_id": session.id}
    there = overviews.recall(found[0])
    return RecallPending(
        f"{session.key} has a pending recall already, {there.id}, which fires at "
        f"{to_moment(there.trigger_at).isoformat()}; cancel it before you set another"
    )


def change(job: Job, now: int) -> Transaction[JobChanged]:
    """Write a job that was changed from the revision it carries."""
    session = yield from session_log.lock_session(job.session_id)
    if job.kind is JobKind.RECALL and job.state is JobState.ACTIVE:
        yield from _refuse_second_recall(session, job.id)
    changed = yield (
        queries.jobs.change,
        {
            "id": job.id,
            "revision": job.revision,
            "name": job.name,
            "trigger_kind": job.trigger.kind,
            "trigger": rows.trigger_text(job.trigger),
            "action": rows.action_text(job.action),
            "policy": rows.policy_text(job.policy),
            "state": str(job.state),
            "state_reason": job.state_reason,
            "slot": job.slot,
            "next_at": job.next_at,
            "failures": job.failures,
            "now": now,
        },
    )
    if not changed:
        raise ChangedMeanwhile(f"job {job.id} was changed meanwhile; read it again")
    return (yield from announce(session, replace(job, revision=job.revision + 1, updated_at=now), now))


def remove(job: Job, reason: str, now: int) -> Transaction[JobChanged]:
    """No start after this: its waiting run is withdrawn and its unsent message cancelled."""
    # A recall is listed after it was cancelled, with the moment at which it would have fired.
    last = job.next_at if job.kind is JobKind.RECALL else None
    gone = replace(job, state=JobState.REMOVED, state_reason=reason, slot=last, next_at=None)
    changed = yield from change(gone, now)
    left = yield from _withdraw_waiting(job, Outcome.CANCELLED, reason, now)
    unsent = yield queries.runs.unsent_of_job, {"job_id": job.id}
    for row in unsent:
        yield from cancel_delivery(row["delivery_id"], reason, now)
    return JobChanged(job=changed.job, events=[*changed.events, *left.events], ready=left.ready)


def skip_waiting(job: Job, reason: str, now: int) -> Transaction[JobChanged]:
    """A run that waits in the lane is skipped; the job keeps its next moment. `Conflict`: none waits."""
    left = yield from _withdraw_waiting(job, Outcome.SKIPPED, reason, now)
    if not left.events:
        raise Conflict(f"the run of job {job.id} has started meanwhile; stop it instead")
    told = yield from announce((yield from session_log.lock_session(job.session_id)), job, now)
    return JobChanged(job=job, events=[*left.events, *told.events], ready=left.ready)


def _withdraw_waiting(job: Job, outcome: Outcome, reason: str, now: int) -> Transaction[TurnEnd]:
    waiting = yield queries.turns.queued_of_job, {"job_id": job.id}
    events: list[Event] = []
    ready = None
    for row in waiting:
        session = yield from session_log.lock_session(row["session_id"])
        closures = yield from lane.withdraw(row["id"], outcome, reason, now)
        left = yield from lane.queue_changed(session, closures or (), now)
        events += left.events
        ready = left.ready
    return TurnEnd(events=events, ready=ready)


def cancel_delivery(delivery_id: str, reason: str, now: int) -> Transaction[bool]:
    """An unsent message and its run end together. False: it is being sent, or was."""
    taken = yield queries.deliveries.cancel, {"id": delivery_id, "reason": reason}
    for row in taken:
        if row["run_id"]:
            yield (
                queries.runs.close,
                {"id": row["run_id"], "outcome": "cancelled", "reason": reason, "error": None, "now": now},
            )
    return bool(taken)


def load(job_id: str) -> Transaction[Job]:
    found = yield queries.jobs.by_id, {"id": job_id}
    if not found:
        raise NotFound(f"there is no job {job_id}")
    return rows.job(found[0])


def announce(session: Session, job: Job, now: int) -> Transaction[JobChanged]:
    """Tell the session's listeners of its job, where people are shown jobs of that kind."""
    facts = update_of(session, job, now)
    return JobChanged(job=job, events=(yield from session_log.append_events(session, facts)) if facts else ())


def update_of(session: Session, job: Job, now: int) -> list[Event]:
    if job.kind not in UPDATES:
        return []
    return [Event(session_id=session.id, seq=0, type=UPDATES[job.kind], at=now, body={"job_id": job.id})]
