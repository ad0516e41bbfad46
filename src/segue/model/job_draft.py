"""Job drafts: a new job with its first slot, and jobs with another slot, before they are stored. Pure."""

from dataclasses import replace
from datetime import datetime

from segue.errors import BadSetting, BadTrigger
from segue.model.action import Action, Ask, Call, Say
from segue.model.decision import End, PassOver, keeps_no_appointments
from segue.model.policy import Policy, jittered
from segue.model.records import Job
from segue.model.states import JobKind, JobState, Outcome
from segue.model.text_checks import MAX_NAME, check_text
from segue.times.clock import to_moment, to_ms
from segue.times.trigger import Trigger

_KINDS = {Ask: JobKind.CRON, Say: JobKind.MESSAGE, Call: JobKind.SYSTEM}


def draft(
    job_id: str,
    trigger: Trigger,
    action: Action,
    now: int,
    *,
    account: str,
    name: str | None = None,
    policy: Policy | None = None,
    kind: JobKind | None = None,
) -> Job:
    """A checked job with its first slot, not stored yet. Raises BadSetting, BadText, BadTrigger."""
    _refuse_second_target(action, kind)
    job = Job(
        id=check_text(job_id, "a job id", longest=MAX_NAME),
        session_id="",
        account=account,
        kind=kind or _KINDS[type(action)],
        name=check_text(name or _title(action), "the name of a job", longest=MAX_NAME),
        state=JobState.ACTIVE,
        state_reason=None,
        protected=False,
        trigger=trigger,
        action=action,
        policy=policy or Policy(),
        slot=None,
        next_at=None,
        revision=1,
        run_count=0,
        failures=0,
        last_run_at=None,
        last_outcome=None,
        last_error=None,
        created_at=now,
        updated_at=now,
    )
    return with_first_slot(job, now)


def with_first_slot(job: Job, now: int) -> Job:
    """The job with its first slot from now on. Raises BadTrigger when there is none."""
    slot = job.trigger.first(to_moment(now))
    if slot is None:
        raise BadTrigger(f"{job.trigger} names no moment that is still to come")
    return with_slot(job, slot)


def with_slot(job: Job, slot: datetime) -> Job:
    if job.policy.until is not None and slot > job.policy.until:
        raise BadTrigger(f"the first slot of {job.trigger} lies after the policy's until")
    look_at = to_ms(jittered(slot, job.policy, job.id))
    return replace(job, slot=to_ms(slot), next_at=look_at, state_reason=None)


def skipped_slot(job: Job, next_slot: int, now: int) -> PassOver:
    """The decision to skip a slot by request."""
    slot = to_moment(next_slot)
    relative = keeps_no_appointments(job.trigger)
    later = job.trigger.next_after(max(slot, to_moment(now)) if relative else slot)
    return PassOver(
        slot=slot,
        outcome=Outcome.SKIPPED,
        reason="skipped by request",
        next=later,
        end=None if later else End.PASSED_OVER,
    )


def _refuse_second_target(action: Action, kind: JobKind | None) -> None:
    elsewhere = isinstance(action, Ask) and (action.to is not None or action.channel_meta is not None)
    if elsewhere and kind is not JobKind.LEGACY:
        raise BadSetting("a job speaks in the session it belongs to; only a legacy one has another target")


def _title(action: Action) -> str:
    match action:
        case Ask(prompt=words) | Say(text=words):
            return words.strip().splitlines()[0][:80]
        case Call(function=function):
            return function
