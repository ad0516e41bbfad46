"""Explanation facts: reads what `model.explain` needs to know about a job and one of its slots."""

from datetime import datetime

from segue.errors import NotFound
from segue.kernel.api.context import ApiContext
from segue.kernel.api.quiet import speaking_hours
from segue.kernel.transactions import unified
from segue.kernel.transactions.guards.conditions import read_conversation
from segue.model.conditions.check import CONDITION, message_behind, unmet
from segue.model.decision import QuietRule, quiet_rule
from segue.model.explain import ExplainFacts, stands_for
from segue.model.quiet.holding import choice_of
from segue.model.records import Job, Run, Session, Turn
from segue.store.store import Store
from segue.times.clock import to_moment, to_ms
from segue.times.trigger import Cron

_MOST_BLOCKERS = 10


async def gather_facts(
    context: ApiContext, job: Job, session: Session, slot: datetime | None
) -> ExplainFacts:
    """At most three reads: the run, its turn, and the turns that it waits or waited for.

    One more read for each of these, if the job has it:
      - a turn that is held: the question that its session waits for
      - a day set of the account
      - a common session: its quiet hours
      - an answer that waits to be sent
      - a condition: the message that it is about
    """
    store = context.store
    run = await _run_of(store, job, slot)
    turn = await _turn_of(store, run)
    waits = run is not None and run.outcome is None and run.state != "running"
    lane = await store.lane_now(turn.session_id if turn else session.id) if waits else None
    now = context.clock.ms()
    held = waits and turn is not None and turn.not_before > now
    question, until = (held and turn and await store.question(turn.session_id, now)) or (None, None)
    return ExplainFacts(
        job=job,
        session=session,
        now=to_moment(now),
        zone=context.zone_in(session) or "UTC",
        run=run,
        asked=slot,
        turn=turn,
        running=lane.running if lane else None,
        queued=lane.queued if lane else (),
        question=question,
        waiting_until=until,
        days_changed_at=await _days_changed_at(store, job),
        at_work=lane.at_work if lane else 0,
        held_up_by=await store.turns_before(turn, _MOST_BLOCKERS) if turn and not waits else (),
        runners=context.settings.runners,
        quiet=await _quiet_rule(context, job, session),
        held_until=await store.held_until(turn.id) if turn and session.held else None,
        message_seq=await _message_seq(context, job, session, run),
    )


async def unmet_conditions(context: ApiContext, job: Job, session: Session) -> str | None:
    """Why the next slot of a job would not run if nothing more were said; None if it would."""
    if not job.policy.when or job.slot is None:
        return None
    lane = await context.lane_of(session)
    zone = context.zone_in(session) or "UTC"
    read = await context.store.commit(read_conversation, job, lane.id, lane.last_message_at, zone)
    return unmet(job.policy.when, read.facts, to_moment(max(job.slot, context.clock.ms())))


async def _quiet_rule(context: ApiContext, job: Job, session: Session) -> QuietRule | None:
    lane = await context.lane_of(session) if job.kind in unified.SHARED else session
    hours = speaking_hours(context, lane)
    return quiet_rule(choice_of(job), hours.quiet, hours.zone)


async def _message_seq(context: ApiContext, job: Job, session: Session, run: Run | None) -> int | None:
    if run is None or run.reason is None or not run.reason.startswith(CONDITION):
        return None
    lane = await context.lane_of(session)
    said = await context.store.users_said(
        lane.id, since=job.created_at, until=run.finished_at or run.queued_at
    )
    message = message_behind(run.reason, job.policy.when or (), said)
    return message.seq if message else None


async def _run_of(store: Store, job: Job, slot: datetime | None) -> Run | None:
    """The run that records this slot; without a slot, the newest run."""
    if slot is None:
        newest = await store.runs_of_job(job.id, 1)
        return newest[0] if newest else None
    runs = await store.runs_of_job(job.id, 1, before=to_ms(slot) + 1)
    return runs[0] if runs and stands_for(runs[0], job, slot) else None


async def _days_changed_at(store: Store, job: Job) -> int | None:
    if not isinstance(job.trigger, Cron) or job.trigger.own_days is None:
        return None
    found = await store.day_set(job.account, job.trigger.own_days.name)
    return found[1] if found else None


async def _turn_of(store: Store, run: Run | None) -> Turn | None:
    if run is None or run.turn_id is None:
        return None
    try:
        return await store.turn(run.turn_id)
    except NotFound:  # turns are pruned before runs
        return None
