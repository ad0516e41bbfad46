"""Coming events: what the jobs of a session will do, as events of a calendar. Pure functions.

A job that repeats is one event with a rule where that is exact, otherwise single events. The identifier of an
event stays the same for as long as the job names its moment, so that a calendar program changes what it has.
"""

from collections.abc import Iterable, Iterator
from datetime import datetime, timedelta

from segue.model.action import Ask, Say
from segue.model.records import Job
from segue.model.schedule import upcoming
from segue.model.states import JobKind, JobState
from segue.times.clock import to_moment
from segue.times.cron_line import zone_named
from segue.times.icalendar.calendar_text import ComingEvent, Series
from segue.times.icalendar.rules import rule_of
from segue.times.trigger import Cron, Idle, RRule

_SHOWN = timedelta(days=90)
"""How far ahead single events of a repeating job are listed. Its next one is, however far it is."""
_MOST_OF_A_JOB = 100
_MOST = 2_000
_KINDS = (JobKind.CRON, JobKind.LEGACY, JobKind.RECALL, JobKind.MESSAGE)


def coming_events(jobs: Iterable[Job], now: datetime) -> list[ComingEvent]:
    """The events of active jobs, by time. A job that waits for a silence has no moment and is left out."""
    events = [event for job in jobs if _is_shown(job) for event in _events_of(job, now)]
    return sorted(events, key=lambda event: (event.start, event.uid))[:_MOST]


def _is_shown(job: Job) -> bool:
    shown = job.state is JobState.ACTIVE and job.kind in _KINDS and not job.protected
    return shown and not isinstance(job.trigger, Idle)


def _events_of(job: Job, now: datetime) -> Iterator[ComingEvent]:
    series = _series(job)
    if series is None or job.slot is None:
        moments = upcoming(job, _MOST_OF_A_JOB)
        listed = moments[:1] + [moment for moment in moments[1:] if moment <= now + _SHOWN]
        yield from (_event(job, moment) for moment in listed)
        return
    yield _event(job, to_moment(job.slot), series)
    if job.snoozed_to is not None:
        yield _event(job, to_moment(job.snoozed_to))


def _series(job: Job) -> Series | None:
    ends = job.policy.max_runs is not None or job.policy.until is not None
    if job.slot is None or ends or not isinstance(job.trigger, Cron | RRule) or job.trigger.tz is None:
        return None
    slot = to_moment(job.slot)
    rule = rule_of(job.trigger, slot)
    if rule is None:
        return None
    excluded = job.trigger.exdate if isinstance(job.trigger, RRule) else ()
    first = slot.astimezone(zone_named(job.trigger.tz)).replace(tzinfo=None)
    return Series(rule=rule, tz=job.trigger.tz, excluded=[wall for wall in excluded if wall > first])


def _event(job: Job, moment: datetime, series: Series | None = None) -> ComingEvent:
    place = "" if series else f"-{moment:%Y%m%dT%H%M%SZ}"
    return ComingEvent(
        uid=f"{job.id}{place}@segue",
        start=moment,
        title=job.name,
        description=_description(job),
        changed=to_moment(job.updated_at),
        series=series,
    )


def _description(job: Job) -> str:
    match job.action:
        case Ask(prompt=words, hidden=False) | Say(text=words):
            return words
    return ""
