"""Firing: takes a due slot of a job and queues its turn, skips it, or postpones it.

Invariants
  - a slot is taken by compare-and-set on the revision of the job that was read
  - the session's row is locked before the job's
  - every slot that passes leaves a run row
  - an active job has a next slot, except an idle job that has no deadline yet
"""

from dataclasses import replace

from segue.kernel.transactions import jobs, lane, session_log, unified
from segue.kernel.transactions.deliveries import Outbox, delivery_params
from segue.kernel.transactions.guards import budgets
from segue.kernel.transactions.guards.budgets import NoRoom, Reserving
from segue.kernel.transactions.lane import Admission
from segue.kernel.transactions.result import Name, Result
from segue.kernel.transactions.unified import Route
from segue.model.cost.budget import Over, over_budget
from segue.model.decision import Fire, Missed, PassOver, Postpone
from segue.model.policy import jittered
from segue.model.records import Job, Source, run_id
from segue.model.replies.last_reply import awake
from segue.model.schedule import earliest
from segue.model.states import JobKind, JobState, Outcome
from segue.record import record
from segue.store import queries
from segue.store.database import Transaction, Value
from segue.store.queues import Unreadable
from segue.store.rows import core as rows
from segue.times.clock import to_moment, to_ms
from segue.times.trigger import Idle

_COURIER = frozenset({Name.COURIER})


@record
class OutgoingMessage:
    """A written message to deliver: what a `Say` action becomes instead of a turn."""

    delivery_id: str
    content: str
    source: Source


def fire(
    job: Job,
    decision: Fire,
    work: Admission | OutgoingMessage,
    now: int,
    *,
    keep: int | None = None,
    lane_id: str | None = None,
    asking: Reserving | None = None,
    outbox: Outbox | None = None,
) -> Transaction[Result[Outcome | None] | None]:
    """Take a due slot and queue its turn or its message. None: another timer took it, or the job was changed.

    `keep`: how many run rows the job may have. `lane_id`: in unified mode, the id for a common session
    created here. `asking`: what its run reserves of budgets. If they have no room, the slot is skipped, and
    the result is `Outcome.SKIPPED`.
    """
    route = yield from unified.lock_route_of_job(job, now, lane_id=lane_id)
    slot = to_ms(decision.slot)
    reserved = (yield from budgets.reserve(job, slot, asking)) if asking is not None else False
    if asking is not None and isinstance(reserved, NoRoom):
        return (yield from _skip_over_budget(route, job, asking.otherwise, reserved, now, keep, outbox))
    if not (yield from _take_slot(job, decision, now, fired=0 if decision.extra else 1)):
        if reserved:
            yield from budgets.withdraw(job, slot)
        return None
    if decision.missed:
        yield from _record_passed(job, decision.missed, now)
    opened = yield (
        queries.runs.open,
        {
            **_run_columns(job, slot, decision.reason, decision.missed.count if decision.missed else 0, now),
            "turn_id": work.turn_id if isinstance(work, Admission) else None,
            "delivery_id": work.delivery_id if isinstance(work, OutgoingMessage) else None,
        },
    )
    if not opened:  # the clock was set back: this slot has run already
        return None
    yield from _trim_runs(job, keep)
    if isinstance(work, OutgoingMessage):
        delivery = delivery_params(work.delivery_id, route.chat, work.content, work.source, now)
        yield queries.deliveries.create, {**delivery, "run_id": work.source.run_id}
        return Result(value=None, wake=_COURIER)
    queued = yield from lane.admit(route, work, now)
    events = queued.events
    if events:  # The turn waits. Otherwise its `stream_start` shows that the job fired.
        session = route.chat if route.chat.id == job.session_id else route.lane
        grown = sum(event.session_id == session.id for event in events)
        session = replace(session, last_seq=session.last_seq + grown)
        events = (*events, *(yield from jobs.announce(session, job, now)))
    return Result(value=None, events=events, wake=queued.wake)


def _record_passed(job: Job, passed: Missed, now: int) -> Transaction[None]:
    """Record the slots before the one that runs. A skipped row stands for one slot more than it counts."""
    first, reason = to_ms(passed.first), passed.reason
    if passed.outcome is Outcome.SKIPPED:
        yield from _insert_skipped_run(job, first, passed.outcome, reason, passed.count - 1, now)
        return
    slots = "slot" if passed.count == 1 else "slots"
    reason = f"{reason}; {passed.count} {slots} passed, and a later one ran instead"
    yield from _insert_skipped_run(job, first, passed.outcome, reason, passed.count, now)


def _skip_over_budget(
    route: Route,
    job: Job,
    otherwise: PassOver,
    refused: NoRoom,
    now: int,
    keep: int | None,
    outbox: Outbox | None,
) -> Transaction[Result[Outcome | None] | None]:
    """Skip a slot for which a budget has no room. The session is told once in each period."""
    told = yield from budgets.was_told(job, refused.scoped)
    if not (yield from _take_unrun(job, replace(otherwise, reason=refused.reason), now, keep)):
        return None
    budget = refused.scoped.budget
    if budget.over is Over.PAUSE:
        yield queries.jobs.pause, {"id": job.id, "reason": refused.reason, "now": now}
    session = route.chat if route.chat.id == job.session_id else route.lane
    events, wake = jobs.update_of(session, job, now), frozenset[Name]()
    if not told:
        source = _source(job, to_ms(otherwise.slot))
        text = over_budget(job.name, refused.reason, budget, refused.scoped.scope)
        if outbox is not None and outbox.delivers(route.chat.channel):
            # It joins the transcript when it is sent.
            delivery = delivery_params(outbox.delivery_id, route.chat, text, source, now)
            yield queries.deliveries.create, delivery
            wake = _COURIER
        else:
            events.append(session_log.message(session.id, "assistant", text, now, source=source))
    written = (yield from session_log.append_events(session, events, now)) if events else ()
    return Result(value=Outcome.SKIPPED, events=written, wake=wake)


def pass_over(
    job: Job, decision: PassOver, now: int, *, keep: int | None = None
) -> Transaction[Result[None] | None]:
    """Take a slot without running it. A missed one-shot leaves a message in its session."""
    session = yield from session_log.lock_session(job.session_id)
    if not (yield from _take_unrun(job, decision, now, keep)):
        return None
    slot = to_ms(decision.slot)
    events = jobs.update_of(session, job, now)
    if decision.question is not None:
        delivery_id, source = f"{slot:012x}{job.id}", _source(job, slot)
        asked = delivery_params(delivery_id, session, decision.question, source, now)
        yield queries.deliveries.create, asked
    if decision.outcome == Outcome.MISSED and not job.trigger.repeats:
        text = f"Missed: {job.name}. {decision.reason}"
        events.append(session_log.message(session.id, "assistant", text, now, source=_source(job, slot)))
    written = (yield from session_log.append_events(session, events, now)) if events else ()
    return Result(value=None, events=written, wake=_COURIER if decision.question else frozenset())


def _take_unrun(job: Job, decision: PassOver, now: int, keep: int | None) -> Transaction[bool]:
    """Take a slot that does not run, and insert its run row. False: it was taken, or the job was changed."""
    if not (yield from _take_slot(job, decision, now, fired=0)):
        return False
    missed = decision.count if decision.outcome == Outcome.MISSED else decision.count - 1
    slot = to_ms(decision.slot)
    yield from _insert_skipped_run(job, slot, decision.outcome, decision.reason, missed, now)
    yield from _trim_runs(job, keep)
    return True


def _source(job: Job, slot: int) -> Source:
    return Source(kind=job.kind, job_id=job.id, label=job.name, run_id=run_id(job.id, slot))


def postpone(job: Job, decision: Postpone, now: int) -> Transaction[Result[None] | None]:
    """Check the same slot again later; until then the job carries the reason.

    Announced at the first postponement only, but each time for a recall: its users see when it fires.
    """
    session = yield from session_log.lock_session(job.session_id)
    until = to_ms(decision.until)
    taken = yield (
        queries.jobs.take,
        {
            **_unchanged(job, now),
            "next_at": earliest(until, job.snoozed_to),
            "state_reason": decision.reason,
        },
    )
    if not taken:
        return None
    if decision.or_message:
        yield queries.sessions.disarm_idle, {"id": job.session_id}
    announced = job.kind is not JobKind.RECALL and job.next_at != _first_check(job)
    if isinstance(job.trigger, Idle) or announced:
        return Result(value=None)
    return Result(value=None, events=(yield from jobs.announce(session, job, now)))


def _first_check(job: Job) -> int | None:
    return None if job.slot is None else to_ms(jittered(to_moment(job.slot), job.policy, job.id))


def _trim_runs(job: Job, keep: int | None) -> Transaction[None]:
    """Delete the oldest run rows beyond `keep`."""
    # A taken slot adds at most two rows and raises the revision, so this skips jobs with few runs.
    if keep is not None and 2 * job.revision >= keep:
        yield queries.runs.thin, {"job_id": job.id, "keep": keep}


def pause_unreadable(due: Unreadable, now: int) -> Transaction[Result[None]]:
    """Pause a job that this version cannot read, and announce it if enough of it can be read."""
    session = (yield from session_log.lock_session(due.job.session_id)) if due.job else None
    paused = yield queries.jobs.pause, {"id": due.job_id, "reason": due.reason, "now": now}
    if not paused or session is None or due.job is None:
        return Result(value=None, wake=_COURIER)
    events = yield from jobs.announce(session, due.job, now)
    return Result(value=None, events=events, wake=_COURIER)


def _take_slot(job: Job, decision: Fire | PassOver, now: int, *, fired: int) -> Transaction[bool]:
    fires = run_id(job.id, to_ms(decision.slot))
    taken = {**_unchanged(job, now), "slot": None, "next_at": None, "fired": fired, "fires": fires}
    taken["state_reason"] = None
    replied = awake(job.replied) if decision.ends_snooze else job.replied
    snoozed_to = replied.snoozed_to if replied else None
    taken["replied"] = rows.json_text(replied)
    if decision.next is not None:
        taken["slot"] = to_ms(decision.next)
        taken["next_at"] = earliest(to_ms(jittered(decision.next, job.policy, job.id)), snoozed_to)
    elif snoozed_to is not None:
        taken["next_at"] = snoozed_to
    elif decision.end is not None:
        taken["state"] = str(JobState.ENDED)
        taken["state_reason"] = str(decision.end)
    elif isinstance(decision, PassOver) and decision.question is not None:
        taken["state"] = str(JobState.PAUSED)
        taken["state_reason"] = decision.reason
    done = yield queries.jobs.take, taken
    if done and isinstance(job.trigger, Idle):
        yield queries.sessions.disarm_idle, {"id": job.session_id}
    return bool(done)


def _unchanged(job: Job, now: int) -> dict[str, Value]:
    return {
        "id": job.id,
        "revision": job.revision,
        "slot": job.slot,
        "next_at": job.next_at,
        "state": str(job.state),
        "state_reason": job.state_reason,
        "fired": 0,
        "fires": None,
        "replied": rows.json_text(job.replied),
        "now": now,
    }


def _insert_skipped_run(
    job: Job, slot: int, outcome: str, reason: str, missed: int, now: int
) -> Transaction[None]:
    """Insert the run row of a slot that does not run, or of the first of several."""
    columns = _run_columns(job, slot, reason, missed, now)
    yield queries.runs.record, {**columns, "outcome": str(outcome)}


def _run_columns(job: Job, slot: int, reason: str | None, missed: int, now: int) -> dict[str, Value]:
    return {
        "id": run_id(job.id, slot),
        "job_id": job.id,
        "session_id": job.session_id,
        "slot": slot,
        "reason": reason,
        "lateness_ms": max(0, now - slot),
        "missed_count": missed,
        "now": now,
    }
