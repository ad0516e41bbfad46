"""A schedule as people write it: from words or an object to a trigger, and to the moments it names.

`{"kind": "at", "at": …}`, `{"kind": "every", "every_seconds": …}`, `{"kind": "cron", "expr": …, "tz": …}`, or
words: `every 2h`, `every weekday at 9`, `0 9 * * 1-5`, an ISO time. What cannot be read whole is refused.
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
from segue.times.trigger import At, Cron, Every, Idle, Trigger, resolve, trigger_from_json

_KINDS = ("at", "every", "cron")
_LOOKED_AT = 100
"""How many slots of a cron line are looked at for two that are too close together."""


def read_trigger(schedule: str | Mapping[str, Any], *, now: datetime, zone: str | None) -> Trigger:
    """`zone` is for times that name none."""
    if isinstance(schedule, str):
        return _from_words(schedule, now, zone)
    if schedule.get("kind") not in _KINDS:
        raise BadTrigger(
            "a schedule is words such as 'every weekday at 9', or {kind: at, at: …}, "
            f"{{kind: every, every_seconds: …}}, {{kind: cron, expr: …, tz: …}}; got {quoted(dict(schedule))}"
        )
    return resolve(trigger_from_json(schedule), now=now, zone=zone)


def _from_words(words: str, now: datetime, zone: str | None) -> Trigger:
    from segue.times.reader import (  # the grammar is large, and seldom needed
        CronLine,
        Interval,
        read_schedule,
    )

    match read_schedule(words, now=now, zone=zone):
        case Interval(seconds=seconds):
            return Every(seconds)
        case CronLine(expr=expr, zone=named):
            return Cron(expr, tz=named)
        case moment:
            return At(moment.at, tz=_name_of(moment.at) or zone)


def _name_of(moment: datetime) -> str | None:
    return moment.tzinfo.key if isinstance(moment.tzinfo, ZoneInfo) else None


def check_rhythm(trigger: Trigger, least: timedelta, now: datetime) -> None:
    """BadTrigger when two of its slots are closer together than users may have them."""
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
        case Cron():
            gaps = (later - earlier for earlier, later in pairwise(islice(_slots(trigger, now), _LOOKED_AT)))
            return min(gaps, default=None)
        case _:
            return None


def _slots(trigger: Trigger, after: datetime) -> Iterator[datetime]:
    slot = trigger.next_after(after)
    while slot is not None:
        yield slot
        slot = trigger.next_after(slot)


def upcoming(job: Job, count: int) -> list[datetime]:
    """The job's next slots, as things stand: fewer when it ends before, or nobody can know."""
    if job.slot is None:
        return []
    first = to_moment(job.slot)
    if isinstance(job.trigger, Idle):  # each silence is armed by the message before it
        return [first]
    if job.policy.max_runs is not None:
        count = min(count, job.policy.max_runs - job.run_count)
    slots = [first, *islice(_slots(job.trigger, first), max(0, count - 1))][: max(0, count)]
    until = job.policy.until
    return [slot for slot in slots if until is None or slot <= until]


def local(moment: datetime, zone: str | None) -> datetime:
    return moment.astimezone(ZoneInfo(zone) if zone else UTC)


def zone_of(trigger: Trigger, otherwise: str | None) -> str:
    """In which zone its moments are told."""
    own = trigger.tz if isinstance(trigger, At | Cron) else None
    return own or otherwise or "UTC"
