"""Recurrence rules of a calendar file: the RRULE of a trigger, if a calendar program reads it exactly alike.

Not exact, and so None: a line that follows the clock (`*/10 * * * *`) or names days of the month and of the
week, several times a day (programs differ in BYHOUR), day sets, `COUNT` and added dates, and a time of day
that the clocks jump over.
"""

from collections.abc import Iterable
from datetime import UTC, datetime, time, timedelta
from typing import NamedTuple

from segue.times.cron_line import read_line, zone_named
from segue.times.icalendar.zones import jumps_over
from segue.times.trigger import Cron, RRule, Trigger

_WEEKDAYS = ("SU", "MO", "TU", "WE", "TH", "FR", "SA", "SU")
"""As cron numbers them: Sunday is 0 and 7."""
_ALL_DAYS = frozenset(range(1, 32))
_ALL_MONTHS = frozenset(range(1, 13))
_END_OF_DAY = timedelta(days=1, seconds=-1)


class _Found(NamedTuple):
    rule: str
    at: time
    """The time of day. The slot may differ from it, on a day on which the clocks jump over it."""


def rule_of(trigger: Trigger, slot: datetime) -> str | None:
    """The RRULE of a series that begins with this slot; None if no rule says it exactly."""
    match trigger:
        case Cron(tz=str(tz), days=None):
            found = _of_line(trigger.expr)
        case RRule(tz=str(tz), rdate=()):
            found = _of_rule(trigger, tz)
        case _:
            return None
    zone = zone_named(tz)
    if zone is None or found is None or jumps_over(zone, found.at, slot.year - 1):
        return None
    return found.rule


def _of_line(expr: str) -> _Found | None:
    line = read_line(expr)
    fields, day, weekday = line.fields, line.fields.parts[3], line.fields.parts[5]
    months, days = set(fields.months), set(fields.days)
    weekdays = [each for each in fields.weekdays if isinstance(each, int)]
    if (
        line.follows_clock
        or len(fields.hours) * len(fields.minutes) > 1
        or not days <= _ALL_DAYS
        or len(weekdays) < len(fields.weekdays)
    ):
        return None
    named = dict.fromkeys(_WEEKDAYS[each] for each in sorted(weekdays))
    any_day, any_weekday = day == "*", weekday == "*"
    if any_day and any_weekday:
        by = "FREQ=DAILY"
    elif any_day:
        by = f"FREQ=WEEKLY;BYDAY={','.join(named)}"
    elif any_weekday:
        by = f"FREQ=MONTHLY;BYMONTHDAY={_listed(days)}"
    else:
        return None
    in_months = "" if months == _ALL_MONTHS else f";BYMONTH={_listed(months)}"
    return _Found(f"{by}{in_months}", time(min(fields.hours), min(fields.minutes)))


def _of_rule(trigger: RRule, tz: str) -> _Found | None:
    parts = {name: value for name, _, value in (part.partition("=") for part in trigger.rrule.split(";"))}
    # The start of the series says the time of day.
    hour, minute = parts.pop("BYHOUR", ""), parts.pop("BYMINUTE", "")
    if "COUNT" in parts or "," in hour or "," in minute:
        return None
    if until := parts.get("UNTIL"):
        # With a start in a zone, the end must be in UTC.
        wall = datetime.fromisoformat(until) + (timedelta() if "T" in until else _END_OF_DAY)
        parts["UNTIL"] = f"{wall.replace(tzinfo=zone_named(tz)).astimezone(UTC):%Y%m%dT%H%M%SZ}"
    start = trigger.start
    at = time(int(hour or start.hour), int(minute or start.minute), start.second)
    return _Found(";".join(f"{name}={value}" for name, value in parts.items()), at)


def _listed(numbers: Iterable[int]) -> str:
    return ",".join(map(str, sorted(numbers)))
