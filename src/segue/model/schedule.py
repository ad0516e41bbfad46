"""Schedules: reads one into a trigger, gives a new or changed job its slot, and lists a job's coming slots.

`{"kind": "at", "at": …}`, `{"kind": "every", "every_seconds": …}`, `{"kind": "cron", "expr": …, "tz": …}`,
`{"kind": "rrule", "rrule": …, "start": …, "tz": …}`, or words: `every 2h`, `every other friday at 9`,
`0 9 * * 1-5`, an ISO time. A text is read completely or refused.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import islice, pairwise
from typing import Any
from zoneinfo import ZoneInfo

from segue.errors import BadSetting, BadTrigger
from segue.model.action import Action, Ask, Call, Say
from segue.model.decision import End, PassOver, keeps_no_appointments
from segue.model.policy import Policy, jittered
from segue.model.records import Job, Run
from segue.model.replies.last_reply import awake
from segue.model.states import JobKind, JobState, Outcome
from segue.model.text_checks import MAX_NAME, check_text
from segue.times.clock import to_moment, to_ms
from segue.times.days.day_sets import DaySet
from segue.times.format import quoted, spoken
from segue.times.trigger import At, Cron, Every, Idle, RRule, Trigger, resolve, trigger_from_json

_KINDS = ("at", "every", "cron", "rrule")
_KIND_OF = {Ask: JobKind.CRON, Say: JobKind.MESSAGE, Call: JobKind.SYSTEM}
_CHECKED_SLOTS = 100
"""How many slots of a cron line are checked for two that are too close together."""


def read_trigger(
    schedule: str | Mapping[str, Any], *, now: datetime, zone: str | None, days: str | None = None
) -> Trigger:
    """Returns the trigger of a schedule; `zone` is for times that name none. Raises BadTrigger, BadTime.

    `days`: the day set that words about working days mean.
    """
    if isinstance(schedule, str):
        return _from_words(schedule, now, zone, days)
    if schedule.get("kind") not in _KINDS:
        raise BadTrigger(
            "a schedule is words such as 'every weekday at 9', or {kind: at, at: …}, "
            "{kind: every, every_seconds: …}, {kind: cron, expr: …, tz: …}, {kind: rrule, rrule: …, "
            f"start: …, tz: …}}; got {quoted(dict(schedule))}"
        )
    return resolve(trigger_from_json(schedule), now=now, zone=zone)


def _from_words(words: str, now: datetime, zone: str | None, days: str | None) -> Trigger:
    from segue.times.reader import read_schedule  # the grammar is large, and seldom needed
    from segue.times.reader.triggers import trigger_of

    return trigger_of(read_schedule(words, now=now, zone=zone), zone, days=days)


def check_rhythm(trigger: Trigger, least: timedelta, now: datetime) -> None:
    """Raises BadTrigger when two slots are closer together than `least`, the limit for users."""
    gap = _shortest_gap(trigger, now)
    if gap is not None and gap < least:
        raise BadTrigger(
            f"{trigger} is too often: there must be at least {spoken(least)} between two runs; "
            "choose a longer interval"
        )


def _shortest_gap(trigger: Trigger, now: datetime) -> timedelta | None:
    match trigger:
        case Every(interval=interval):
            return interval
        case Cron() | RRule():
            gaps = (
                later - earlier for earlier, later in pairwise(islice(_slots(trigger, now), _CHECKED_SLOTS))
            )
            return min(gaps, default=None)
        case _:
            return None


def _slots(trigger: Trigger, after: datetime) -> Iterator[datetime]:
    slot = trigger.next_after(after)
    while slot is not None:
        yield slot
        slot = trigger.next_after(slot)


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
        kind=kind or _KIND_OF[type(action)],
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


def skipped_until(newest: Sequence[Run], now: int) -> int:
    """Now, or the slot of the newest run if it was skipped ahead of its time."""
    return max([now, *(run.slot for run in newest[:1] if run.outcome is Outcome.SKIPPED)])


def with_days(job: Job, days: DaySet, now: int, *, earliest: int) -> Job | None:
    """The job with a new version of its day set; None if it does not use that set, or is over.

    Its next slot moves to the first one after `earliest`. A slot that is due stays: it must end as a row. A
    job that has no slot left is paused.
    """
    over = job.state not in (JobState.ACTIVE, JobState.PAUSED)
    if over or not isinstance(job.trigger, Cron) or job.trigger.days != days.name:
        return None
    changed = replace(job, trigger=replace(job.trigger, own_days=days))
    if job.state is not JobState.ACTIVE or job.slot is None or job.slot <= now:
        return changed
    try:
        return with_first_slot(changed, earliest)
    except BadTrigger as error:
        return replace(changed, state=JobState.PAUSED, state_reason=str(error), slot=None, next_at=None)


def with_slot(job: Job, slot: datetime) -> Job:
    if job.policy.until is not None and slot > job.policy.until:
        raise BadTrigger(f"the first slot of {job.trigger} lies after the policy's until")
    look_at = to_ms(jittered(slot, job.policy, job.id))
    return replace(job, slot=to_ms(slot), next_at=look_at, state_reason=None)


def with_snooze(job: Job) -> Job:
    """The job with the moment at which the timer looks at it: that of its snooze, if this comes first.

    A job that is not active is not snoozed.
    """
    if job.snoozed_to is None:
        return job
    if job.state is not JobState.ACTIVE:
        return replace(job, replied=awake(job.replied))
    return replace(job, next_at=earliest(job.next_at, job.snoozed_to))


def earliest(*moments: int | None) -> int | None:
    return min((moment for moment in moments if moment is not None), default=None)


def skipped_slot(job: Job, next_slot: int, now: int, *, reason: str = "skipped by request") -> PassOver:
    """The decision to skip a slot by request."""
    slot = to_moment(next_slot)
    relative = keeps_no_appointments(job.trigger)
    later = job.trigger.next_after(max(slot, to_moment(now)) if relative else slot)
    return PassOver(
        slot=slot,
        outcome=Outcome.SKIPPED,
        reason=reason,
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


def upcoming(job: Job, count: int) -> list[datetime]:
    """The job's next slots, as it is now: fewer than `count` if it ends before, or if they are unknown."""
    snoozed = [] if job.snoozed_to is None else [to_moment(job.snoozed_to)]
    return sorted([*snoozed, *_upcoming_slots(job, count)])[: max(0, count)]


def _upcoming_slots(job: Job, count: int) -> list[datetime]:
    if job.slot is None:
        return []
    first = to_moment(job.slot)
    if isinstance(job.trigger, Idle):  # the slots after it depend on messages
        return [first]
    if job.policy.max_runs is not None:
        count = min(count, job.policy.max_runs - job.run_count)
    slots = [first, *islice(_slots(job.trigger, first), max(0, count - 1))][: max(0, count)]
    until = job.policy.until
    return [slot for slot in slots if until is None or slot <= until]


def local(moment: datetime, zone: str | None) -> datetime:
    return moment.astimezone(ZoneInfo(zone) if zone else UTC)


def zone_of(trigger: Trigger, otherwise: str | None) -> str:
    """The zone in which the trigger's slots are shown."""
    own = trigger.tz if isinstance(trigger, At | Cron | RRule) else None
    return own or otherwise or "UTC"
