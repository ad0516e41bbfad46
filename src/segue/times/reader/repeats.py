"""Meanings of repeating schedules by days, independent of languages: an interval, a cron line or a rule.

Cron lines and rules are wall-clock time in their zone. A cron line is preferred; what it cannot say becomes a
rule (`rules` has the meanings that always need one). Days that would be skipped silently, such as the 31st of
a short month, are refused here.
"""

from collections.abc import Sequence
from dataclasses import field
from datetime import datetime, time, timedelta
from typing import ClassVar, TypeAlias
from zoneinfo import ZoneInfo

from segue.record import positional
from segue.times.reader.dates import CalendarDate, NumericDate, existing
from segue.times.reader.moments import needs_zone, time_of_day
from segue.times.reader.parts import DayPart, Measure, Midnight, Span, Time, Times, Unit
from segue.times.reader.refusal import refuse, refuse_ambiguous
from segue.times.reader.zones import Zone, ZoneInText


@positional
class Moment:
    """Once."""

    at: datetime


@positional
class Interval:
    """Repeatedly, after this many seconds of real time."""

    seconds: int


@positional
class RepeatedCronLine:
    """Whenever the clocks of a zone match five fields. The line is not checked here."""

    expr: str
    zone: str
    workdays: str | None = field(default=None, repr=False)
    """If the words are about working days: the line for their calendar instead of Monday to Friday."""


@positional
class RepeatedRule:
    """By a recurrence rule from a wall-clock time of a zone. The rule is not checked here."""

    rrule: str
    start: datetime
    zone: str
    workdays: bool = field(default=False, repr=False)
    """Whether the words are about working days."""


When: TypeAlias = Moment | Interval | RepeatedCronLine | RepeatedRule

EVERY_DAY = frozenset(range(7))
MONDAY_TO_FRIDAY = frozenset(range(5))


class Workdays(frozenset[int]):
    """The days of a word for working days: without a calendar of them, Monday to Friday."""


WORKDAYS = Workdays(MONDAY_TO_FRIDAY)
_DAY = timedelta(days=1)
_CODES = ("MO", "TU", "WE", "TH", "FR", "SA", "SU")
MOST_MONTH_DAYS = 28


@positional
class EverySpan:
    """`every 2h`. Months and years follow the calendar, from now."""

    kind: ClassVar[str] = "repeat"
    span: Span

    def when(self, zone: Zone | None, now: datetime) -> When:
        months, length = self.span.months, self.span.length()
        if length % timedelta(seconds=1):
            raise refuse("an interval is a number of whole seconds", "every 30 seconds")
        if not months and self.span.measures != (Measure(Unit.WEEK),):
            return Interval(length // timedelta(seconds=1))
        if len(self.span.measures) == 1 and self.span.measures[0].amount == 1:
            return EveryUnit(self.span.measures[0].unit).when(zone, now)
        if length:
            raise refuse("months do not go with shorter units here", "every 2 months", "every 8 weeks")
        return since_now(f"FREQ=MONTHLY;INTERVAL={months}", zone, now)


@positional
class EveryUnit:
    """`every hour`, `weekly`: longer units than an hour follow the calendar, from now."""

    kind: ClassVar[str] = "repeat"
    unit: Unit

    def when(self, zone: Zone | None, now: datetime) -> When:
        if self.unit.seconds and self.unit not in (Unit.DAY, Unit.WEEK):
            return Interval(self.unit.seconds)
        frequency = {Unit.WEEK: "WEEKLY", Unit.MONTH: "MONTHLY", Unit.YEAR: "YEARLY"}.get(self.unit, "DAILY")
        return since_now(f"FREQ={frequency}", zone, now)


@positional
class DayRange:
    """`monday to thursday`."""

    kind: ClassVar[str] = "day_range"
    first: int
    last: int

    @property
    def days(self) -> frozenset[int]:
        return frozenset((self.first + step) % 7 for step in range((self.last - self.first) % 7 + 1))


@positional
class DayList:
    """`mon, wed and fri`: at least two days."""

    kind: ClassVar[str] = "day_list"
    first: frozenset[int]
    more: tuple[frozenset[int], ...]

    @property
    def days(self) -> frozenset[int]:
        return self.first.union(*self.more)


@positional
class DayTriple(DayList):
    """`mon, wed and fri`: two days without `every` may be meant once."""

    kind: ClassVar[str] = "day_triple"

    @property
    def days(self) -> frozenset[int]:
        if len(self.more) < 2:
            readings = "every week on these days", "once on each of these days"
            reason = f"it can be {' or '.join(readings)}"
            raise refuse_ambiguous(reason, readings, "every monday and thursday at 9")
        return self.first.union(*self.more)


DaySet: TypeAlias = frozenset[int] | DayRange | DayList


@positional
class EveryDay:
    """`every weekday except friday at 9`, `every monday and thursday at 9 and 17`."""

    kind: ClassVar[str] = "repeat"
    days: tuple[DaySet, ...] | DaySet = EVERY_DAY
    part: DayPart | None = None
    times: Times | None = None
    zone: ZoneInText | None = None
    without: tuple[DaySet, ...] | DaySet = ()

    def when(self, zone: Zone | None, now: datetime) -> When:
        days, without = union(self.days), union(self.without)
        if without and not (without <= days and without != days):
            raise refuse("only days that are named can be left out", "every weekday at 9")
        days -= without
        times = times_of(self.times, self.part, midnight=days == EVERY_DAY)
        return by_days(
            times,
            days,
            cron_zone(self.zone.zone if self.zone else zone),
            zone_now(self.zone, zone, now),
            workdays=EVERY_DAY - without if are_workdays(self.days) else None,
        )


@positional
class EveryMonth:
    """`every month on the 1st at 9`."""

    kind: ClassVar[str] = "repeat"
    days: tuple[int, ...]
    part: DayPart | None = None
    times: Times | None = None
    zone: ZoneInText | None = None

    def when(self, zone: Zone | None, now: datetime) -> When:
        at = one_time(self.times, self.part)
        for day in self.days:
            if not 1 <= day <= 31:
                raise refuse(f"no month has a day {day}", "every month on the 1st at 9")
            if day > MOST_MONTH_DAYS:
                raise refuse(
                    f"not every month has a day {day}",
                    "every month on the 1st at 9",
                    f"{at.minute} {at.hour} {day} * *",
                )
        numbers = ",".join(str(day) for day in sorted(set(self.days)))
        return line(at, f"{numbers} *", "*", self.zone, zone)


@positional
class FirstOfMonth:
    """`on the first day of every month at 9`."""

    kind: ClassVar[str] = "repeat"
    part: DayPart | None = None
    times: Times | None = None
    zone: ZoneInText | None = None

    def when(self, zone: Zone | None, now: datetime) -> When:
        return line(one_time(self.times, self.part), "1 *", "*", self.zone, zone)


@positional
class LastOfMonth:
    """`on the last day of every month at 18:00`."""

    kind: ClassVar[str] = "repeat"
    part: DayPart | None = None
    times: Times | None = None
    zone: ZoneInText | None = None

    def when(self, zone: Zone | None, now: datetime) -> When:
        return line(one_time(self.times, self.part), "L *", "*", self.zone, zone)


@positional
class NthOfMonth:
    """`the first monday of every month at 10`."""

    kind: ClassVar[str] = "repeat"
    nth: tuple[int, ...] | int
    weekday: int
    part: DayPart | None = None
    times: Times | None = None
    zone: ZoneInText | None = None

    def when(self, zone: Zone | None, now: datetime) -> When:
        number = (self.weekday + 1) % 7
        each = self.nth if isinstance(self.nth, tuple) else (self.nth,)
        weekdays = ",".join(f"{number}L" if nth < 0 else f"{number}#{nth}" for nth in each)
        return line(one_time(self.times, self.part), "* *", weekdays, self.zone, zone)


@positional
class EveryYear:
    """`every year on 3 March at 9`."""

    kind: ClassVar[str] = "repeat"
    calendar: CalendarDate | NumericDate
    part: DayPart | None = None
    times: Times | None = None
    zone: ZoneInText | None = None

    def when(self, zone: Zone | None, now: datetime) -> When:
        if isinstance(self.calendar, NumericDate) or self.calendar.year is not None:
            raise refuse("a yearly date has no year of its own", "every year on 3 March at 9")
        day, month = self.calendar.day, self.calendar.month
        if (day, month) == (29, 2):
            raise refuse("not every year has a 29 February", "every year on 3 March at 9")
        existing(1970, month, day)
        return line(one_time(self.times, self.part), f"{day} {month}", "*", self.zone, zone)


def cron_zone(zone: Zone | None) -> str:
    """The zone name to store with a cron line. An offset is refused, because it has no summer time."""
    if zone is None:
        raise needs_zone("a schedule by the clock", "every day at 9 Europe/Berlin", "every 24 hours")
    if not isinstance(zone, ZoneInfo) or not zone.key:
        raise refuse(
            f"a schedule by the clock needs a named zone, not {zone}", "every day at 9 Europe/Berlin"
        )
    return zone.key


def zone_now(text: ZoneInText | None, zone: Zone | None, now: datetime) -> datetime:
    """The wall-clock time in the schedule's zone, which a rule's start is counted from."""
    return now.astimezone(text.zone if text else zone).replace(tzinfo=None)


def union(days: "tuple[DaySet, ...] | DaySet") -> frozenset[int]:
    each = days if isinstance(days, tuple) else (days,)
    return frozenset[int]().union(*(day if isinstance(day, frozenset) else day.days for day in each))


def times_of(named: Times | None, part: DayPart | None = None, *, midnight: bool = False) -> list[time]:
    """The times of the day, in order."""
    if named is None:
        return [_time(None, part)]
    several = len(named.all) > 1
    return sorted(
        {_time(each, None if several and each.part else part, midnight=midnight) for each in named.all}
    )


def one_time(named: Times | None, part: DayPart | None) -> time:
    times = times_of(named, part)
    if len(times) > 1:
        raise refuse("several times go with days of the week only", "every day at 9 and 17")
    return times[0]


def are_workdays(days: "tuple[DaySet, ...] | DaySet") -> bool:
    """Whether the words say working days, and no other days."""
    return all(isinstance(each, Workdays) for each in (days if isinstance(days, tuple) else (days,)))


def by_days(
    times: Sequence[time],
    days: frozenset[int],
    zone: str,
    now: datetime,
    *,
    workdays: frozenset[int] | None = None,
) -> When:
    """A cron line if one can say it, else a rule: `8:00 and 17:30` share no minute.

    `workdays`: the words are about working days; these are the days that a calendar of them may name.
    """
    hours, minutes = sorted({at.hour for at in times}), sorted({at.minute for at in times})
    if len(times) == len(hours) * len(minutes):
        fields = f"{_list(minutes)} {_fields(hours)} * *"
        of_calendar = None if workdays is None else f"{fields} {_weekdays(workdays)}"
        return RepeatedCronLine(f"{fields} {_weekdays(days)}", zone, of_calendar)
    every = [time(hour, minute) for hour in hours for minute in minutes]
    positions = [number for number, at in enumerate(every, 1) if at in times]
    rule = f"FREQ=DAILY;BYHOUR={_list(hours)};BYMINUTE={_list(minutes)};BYSETPOS={_list(positions)}"
    if days != EVERY_DAY:
        rule += f";BYDAY={codes(days)}"
    return RepeatedRule(rule, datetime.combine(now.date(), times[0]), zone, workdays is not None)


def since_now(rule: str, zone: Zone | None, now: datetime) -> When:
    """A rule that counts from the current minute."""
    name = cron_zone(zone)
    start = zone_now(None, zone, now).replace(second=0, microsecond=0)
    if start.day > MOST_MONTH_DAYS and "WEEKLY" not in rule and "DAILY" not in rule:
        raise refuse(f"not every month has a day {start.day}", "every month on the 1st at 9")
    return RepeatedRule(rule, start, name)


def codes(days: frozenset[int]) -> str:
    return ",".join(_CODES[day] for day in sorted(days))


def line(
    at: time, date_fields: str, weekdays: str, text: ZoneInText | None, zone: Zone | None
) -> RepeatedCronLine:
    return RepeatedCronLine(
        f"{at.minute} {at.hour} {date_fields} {weekdays}", cron_zone(text.zone if text else zone)
    )


def _time(named: Time | None, part: DayPart | None = None, *, midnight: bool = False) -> time:
    if named and isinstance(named.clock, Midnight) and not part:
        if not midnight:
            readings = "the start of the day", "the end of the day"
            raise refuse_ambiguous(
                "midnight beside a day can be its start or its end", readings, "every day at 18:30"
            )
        return time(0)
    at = time_of_day(named, part)
    if at.second or at.microsecond:
        raise refuse("a schedule by the clock has no seconds", "every day at 18:30")
    return at


def _weekdays(days: frozenset[int]) -> str:
    if days == EVERY_DAY:
        return "*"
    if days == MONDAY_TO_FRIDAY:
        return "1-5"
    return _fields(sorted((day + 1) % 7 for day in days))


def _list(numbers: Sequence[int]) -> str:
    return ",".join(map(str, numbers))


def _fields(numbers: Sequence[int]) -> str:
    """A cron field: a range if there are three or more numbers in a row, else a list."""
    if len(numbers) > 2 and numbers[-1] - numbers[0] == len(numbers) - 1:
        return f"{numbers[0]}-{numbers[-1]}"
    return _list(numbers)
