"""Schedules: reads one from words or an object into a trigger, and lists a job's coming slots.

`{"kind": "at", "at": …}`, `{"kind": "every", "every_seconds": …}`, `{"kind": "cron", "expr": …, "tz": …}`,
`{"kind": "rrule", "rrule": …, "start": …, "tz": …}`, or words: `every 2h`, `every other friday at 9`,
`0 9 * * 1-5`, an ISO time. A text is read completely or refused.
"""

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta
from itertools import islice, pairwise
from typing import Any
from zoneinfo import ZoneInfo

from segue.errors import BadTrigger
from segue.model.records import Job
from segue.times.clock import to_moment
from segue.times.format import quoted, spoken
from segue.times.trigger import At, Cron, Every, Idle, RRule, Trigger, resolve, trigger_from_json

_KINDS = ("at", "every", "cron", "rrule")
_CHECKED_SLOTS = 100
"""How many slots of a cron line are checked for two that are too close together."""


def read_trigger(schedule: str | Mapping[str, Any], *, now: datetime, zone: str | None) -> Trigger:
    """Returns the trigger of a schedule; `zone` is for times that name none. Raises BadTrigger, BadTime."""
    if isinstance(schedule, str):
        return _from_words(schedule, now, zone)
    if schedule.get("kind") not in _KINDS:
        raise BadTrigger(
            "a schedule is words such as 'every weekday at 9', or {kind: at, at: …}, "
            "{kind: every, every_seconds: …}, {kind: cron, expr: …, tz: …}, {kind: rrule, rrule: …, "
            f"start: …, tz: …}}; got {quoted(dict(schedule))}"
        )
    return resolve(trigger_from_json(schedule), now=now, zone=zone)


def _from_words(words: str, now: datetime, zone: str | None) -> Trigger:
    from segue.times.reader import read_schedule  # the grammar is large, and seldom needed
    from segue.times.reader.triggers import trigger_of

    return trigger_of(read_schedule(words, now=now, zone=zone), zone)


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


def upcoming(job: Job, count: int) -> list[datetime]:
    """The job's next slots, as it is now: fewer than `count` if it ends before, or if they are unknown."""
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
