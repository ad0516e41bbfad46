"""Meanings of repeating schedules that skip periods or lie within hours, independent of languages.

`every other friday at 9` and `every 3 days at 9` become a recurrence rule whose start is the first moment
that fits; `every hour between 9 and 17` becomes a cron line if one can say it.
"""

from datetime import datetime, time, timedelta
from fractions import Fraction
from typing import ClassVar, TypeAlias

from segue.record import positional
from segue.times.reader.parts import DayPart, Measure, Span, Time, Times, Unit
from segue.times.reader.refusal import refuse
from segue.times.reader.repeats import (
    EVERY_DAY,
    MOST_MONTH_DAYS,
    DaySet,
    EveryDay,
    EveryMonth,
    EverySpan,
    EveryUnit,
    EveryYear,
    FirstOfMonth,
    LastOfMonth,
    NthOfMonth,
    RepeatedRule,
    When,
    are_workdays,
    by_days,
    codes,
    cron_zone,
    one_time,
    times_of,
    union,
    zone_now,
)
from segue.times.reader.zones import Zone, ZoneInText

_DAY = timedelta(days=1)
_LONGEST_INTERVAL = 100
_SEARCHED_DAYS = 32


@positional
class EveryFewDays:
    """`every 3 days at 9`, `every other day at 9`."""

    kind: ClassVar[str] = "repeat"
    every: Fraction | int
    times: Times
    part: DayPart | None = None
    zone: ZoneInText | None = None

    def when(self, zone: Zone | None, now: datetime) -> When:
        every, at = whole_number(self.every), one_time(self.times, self.part)
        here = zone_now(self.zone, zone, now)
        start = datetime.combine(here.date(), at)
        rule = f"FREQ=DAILY;INTERVAL={every}"
        return RepeatedRule(rule, start if start > here else start + _DAY, zone_name(self.zone, zone))


@positional
class EveryFewWeeks:
    """`every 2 weeks on friday at 9`, `every other friday at 9`."""

    kind: ClassVar[str] = "repeat"
    every: Fraction | int
    days: tuple[DaySet, ...] | DaySet
    part: DayPart | None = None
    times: Times | None = None
    zone: ZoneInText | None = None

    def when(self, zone: Zone | None, now: datetime) -> When:
        every, days, name = whole_number(self.every), union(self.days), zone_name(self.zone, zone)
        here = zone_now(self.zone, zone, now)
        if every == 1:
            return by_days(times_of(self.times, self.part), days, name, here)
        if len(days) > 1:
            raise refuse("every so many weeks takes one day of the week", "every 2 weeks on friday at 9")
        at = one_time(self.times, self.part)
        start = next(
            wall
            for ahead in range(_SEARCHED_DAYS)
            if (wall := datetime.combine(here.date() + ahead * _DAY, at)) > here and wall.weekday() in days
        )
        return RepeatedRule(f"FREQ=WEEKLY;INTERVAL={every};BYDAY={codes(days)}", start, name)


@positional
class EveryFewMonths:
    """`every 2 months on the 1st at 9`."""

    kind: ClassVar[str] = "repeat"
    every: Fraction | int
    day: int
    part: DayPart | None = None
    times: Times | None = None
    zone: ZoneInText | None = None

    def when(self, zone: Zone | None, now: datetime) -> When:
        every, at = whole_number(self.every), one_time(self.times, self.part)
        if not 1 <= self.day <= MOST_MONTH_DAYS:
            raise refuse(f"not every month has a day {self.day}", "every month on the 1st at 9")
        here = zone_now(self.zone, zone, now)
        start = next(
            wall
            for ahead in range(_SEARCHED_DAYS)
            if (wall := datetime.combine(here.date() + ahead * _DAY, at)) > here and wall.day == self.day
        )
        return RepeatedRule(f"FREQ=MONTHLY;INTERVAL={every}", start, zone_name(self.zone, zone))


@positional
class Window:
    """`between 9 and 17`."""

    kind: ClassVar[str] = "window"
    first: Time
    last: Time


@positional
class Within:
    """`every hour between 9 and 17 on weekdays`, `every 30 minutes from 9 to 17`."""

    kind: ClassVar[str] = "repeat"
    window: Window
    span: Span = Span((Measure(Unit.HOUR),))
    days: tuple[DaySet, ...] | DaySet = EVERY_DAY
    zone: ZoneInText | None = None

    def when(self, zone: Zone | None, now: datetime) -> When:
        first, last = (_minutes(each.within(None)) for each in (self.window.first, self.window.last))
        step, rest = divmod(self.span.length(), timedelta(minutes=1))
        if first >= last:
            raise refuse("the hours must end after they begin", "every hour between 9 and 17")
        if rest or self.span.months or not 1 <= step <= last - first:
            raise refuse("the interval does not fit into these hours", "every hour between 9 and 17")
        if len(range(first, last + 1, step)) > _LONGEST_INTERVAL:
            raise refuse("that is too often within these hours", "every hour between 9 and 17")
        times = [time(minute // 60, minute % 60) for minute in range(first, last + 1, step)]
        return by_days(
            times,
            union(self.days),
            zone_name(self.zone, zone),
            zone_now(self.zone, zone, now),
            workdays=EVERY_DAY if are_workdays(self.days) else None,
        )


def whole_number(number: Fraction | int) -> int:
    if number != int(number) or not 1 <= number <= _LONGEST_INTERVAL:
        raise refuse(f"a rule repeats at every 1 to {_LONGEST_INTERVAL}", "every 2 weeks on friday at 9")
    return int(number)


def zone_name(text: ZoneInText | None, zone: Zone | None) -> str:
    return cron_zone(text.zone if text else zone)


def _minutes(at: time) -> int:
    return at.hour * 60 + at.minute


Repeat: TypeAlias = (
    EverySpan
    | EveryUnit
    | EveryDay
    | EveryMonth
    | EveryYear
    | FirstOfMonth
    | LastOfMonth
    | NthOfMonth
    | EveryFewDays
    | EveryFewWeeks
    | EveryFewMonths
    | Within
)
