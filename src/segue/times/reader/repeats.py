"""Meanings of repeating schedules, independent of languages: each becomes an interval or a cron line.

Cron lines are wall-clock time in their zone. Days that cron would skip silently, such as the 31st of a short
month, are refused here.
"""

from datetime import datetime, time, timedelta
from typing import ClassVar, TypeAlias
from zoneinfo import ZoneInfo

from segue.record import positional
from segue.times.reader.dates import CalendarDate, NumericDate, existing
from segue.times.reader.moments import needs_zone, time_of_day
from segue.times.reader.parts import DayPart, Midnight, Span, Time, Unit
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


When: TypeAlias = Moment | Interval | RepeatedCronLine

EVERY_DAY = frozenset(range(7))
MONDAY_TO_FRIDAY = frozenset(range(5))


@positional
class EverySpan:
    """`every 2h`."""

    kind: ClassVar[str] = "repeat"
    span: Span

    def when(self, zone: Zone | None) -> When:
        if self.span.months:
            raise refuse("every so many months needs a day", "every month on the 1st at 9")
        length = self.span.length()
        if length % timedelta(seconds=1):
            raise refuse("an interval is a number of whole seconds", "every 30 seconds")
        return Interval(length // timedelta(seconds=1))


@positional
class EveryUnit:
    """`every hour`."""

    kind: ClassVar[str] = "repeat"
    unit: Unit

    def when(self, zone: Zone | None) -> When:
        return Interval(self.unit.seconds)


@positional
class EveryDay:
    """`every weekday at 9`, `every monday and thursday at 5pm`."""

    kind: ClassVar[str] = "repeat"
    days: tuple[frozenset[int], ...] = (EVERY_DAY,)
    part: DayPart | None = None
    time: Time | None = None
    zone: ZoneInText | None = None

    def when(self, zone: Zone | None) -> When:
        days = frozenset[int]().union(*self.days)
        at = _time(self.time, self.part, midnight=days == EVERY_DAY)
        return _line(at, "* *", _weekdays(days), self.zone, zone)


@positional
class EveryMonth:
    """`every month on the 1st at 9`."""

    kind: ClassVar[str] = "repeat"
    days: tuple[int, ...]
    part: DayPart | None = None
    time: Time | None = None
    zone: ZoneInText | None = None

    def when(self, zone: Zone | None) -> When:
        at = _time(self.time, self.part)
        for day in self.days:
            if not 1 <= day <= 31:
                raise refuse(f"no month has a day {day}", "every month on the 1st at 9")
            if day > 28:
                raise refuse(
                    f"not every month has a day {day}",
                    "every month on the 1st at 9",
                    f"{at.minute} {at.hour} {day} * *",
                )
        numbers = ",".join(str(day) for day in sorted(set(self.days)))
        return _line(at, f"{numbers} *", "*", self.zone, zone)


@positional
class EveryYear:
    """`every year on 3 March at 9`."""

    kind: ClassVar[str] = "repeat"
    calendar: CalendarDate | NumericDate
    part: DayPart | None = None
    time: Time | None = None
    zone: ZoneInText | None = None

    def when(self, zone: Zone | None) -> When:
        if isinstance(self.calendar, NumericDate) or self.calendar.year is not None:
            raise refuse("a yearly date has no year of its own", "every year on 3 March at 9")
        day, month = self.calendar.day, self.calendar.month
        if (day, month) == (29, 2):
            raise refuse("not every year has a 29 February", "every year on 3 March at 9")
        existing(1970, month, day)
        return _line(_time(self.time, self.part), f"{day} {month}", "*", self.zone, zone)


def cron_zone(zone: Zone | None) -> str:
    """The zone name to store with a cron line. An offset is refused, because it has no summer time."""
    if zone is None:
        raise needs_zone("a schedule by the clock", "every day at 9 Europe/Berlin", "every 24 hours")
    if not isinstance(zone, ZoneInfo) or not zone.key:
        raise refuse(
            f"a schedule by the clock needs a named zone, not {zone}", "every day at 9 Europe/Berlin"
        )
    return zone.key


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


def _line(
    at: time, date_fields: str, weekdays: str, text: ZoneInText | None, zone: Zone | None
) -> RepeatedCronLine:
    return RepeatedCronLine(
        f"{at.minute} {at.hour} {date_fields} {weekdays}", cron_zone(text.zone if text else zone)
    )


def _weekdays(days: frozenset[int]) -> str:
    if days == EVERY_DAY:
        return "*"
    if days == MONDAY_TO_FRIDAY:
        return "1-5"
    return ",".join(str(day) for day in sorted((day + 1) % 7 for day in days))


Repeat: TypeAlias = EverySpan | EveryUnit | EveryDay | EveryMonth | EveryYear
