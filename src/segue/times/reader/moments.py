"""Meanings of moments, independent of languages: after a span, or on a day at a time."""

import datetime as dt
from fractions import Fraction
from typing import ClassVar, TypeAlias

from segue.record import positional
from segue.times.reader.dates import MORNING, Date, InDays, add_months
from segue.times.reader.parts import ClockTime, DayPart, Measure, Midnight, Span, Time, Unit
from segue.times.reader.refusal import NoZone, refuse, refuse_ambiguous
from segue.times.reader.zones import Zone, ZoneInText, placed

FIRST_YEAR, LAST_YEAR = 1970, 2200
_LAST_HOUR = 23


@positional
class After:
    """`in 3 hours`: real time, so 24 hours are 24 hours when clocks change. Months follow the calendar."""

    kind: ClassVar[str] = "moment"
    span: Span
    zone: ZoneInText | None = None

    def moment(self, now: dt.datetime, zone: Zone | None) -> dt.datetime:
        zone = self.zone.zone if self.zone else zone
        length, months = self.span.length(), self.span.months
        here = now.astimezone(zone) if zone else now
        if months:
            if zone is None:
                raise needs_zone("a number of months", "in 8 weeks", "in 2 months Europe/Berlin")
            later = dt.datetime.combine(add_months(here.date(), months), here.time())
            here = placed(within_years(later), zone)
        return (here.astimezone(dt.UTC) + length).astimezone(here.tzinfo)


@positional
class Ago:
    """`3 hours ago`: read, so that the refusal can say that it is past."""

    kind: ClassVar[str] = "moment"
    span: Span

    def moment(self, now: dt.datetime, zone: Zone | None) -> dt.datetime:
        here = now.astimezone(zone) if zone else now
        back = dt.datetime.combine(add_months(here.date(), -self.span.months), here.time(), here.tzinfo)
        return (back.astimezone(dt.UTC) - self.span.length()).astimezone(here.tzinfo)


@positional
class Someday:
    """`one day`, `un jour`: a length of time, or no time at all."""

    kind: ClassVar[str] = "moment"

    def moment(self, now: dt.datetime, zone: Zone | None) -> dt.datetime:
        raise refuse("some day is no time", "in 3 hours", "tomorrow at {time}", time="09:00")


@positional
class HoursAlone:
    """`15h`, `20 heures`: it may be a clock time or a length of time.

    Hours that no clock shows are a length. So are those below `clock_from`: as a clock time, `h` beside a
    small number would be in the middle of the night."""

    kind: ClassVar[str] = "moment"
    clock: ClockTime
    clock_from: ClassVar[int] = 0

    def moment(self, now: dt.datetime, zone: Zone | None) -> dt.datetime:
        hour = self.clock.hour
        if not self.clock_from <= hour <= _LAST_HOUR:
            return After(Span((Measure(Unit.HOUR, Fraction(hour)),))).moment(now, zone)
        time, length = f"at {hour:02}:00", f"in {hour} hour{'s' if hour != 1 else ''}"
        reason = f"a bare number of hours can be a time on the clock, {time}, or a length of time, {length}"
        raise refuse_ambiguous(
            reason, (time, length), "tomorrow at {time}", "in 3 hours", time=f"{hour:02}:00"
        )


@positional
class SymbolAlone(HoursAlone):
    """`15h`, in any language."""

    clock_from: ClassVar[int] = 6


@positional
class OnDay:
    """`tomorrow at 09:00`: a wall-clock time, today unless a day is named.

    A named day is one of the caller's zone, also if the text names another zone for the time.
    """

    kind: ClassVar[str] = "moment"
    date: Date | None = None
    part: DayPart | None = None
    time: Time | None = None
    zone: ZoneInText | None = None

    def moment(self, now: dt.datetime, zone: Zone | None) -> dt.datetime:
        here = self.zone.calendar if self.zone and (zone is None or not self.date) else zone
        if here is None:
            raise needs_zone("a time on the clock", "tomorrow at 09:00 Europe/Berlin", "in 3 hours")
        wall = within_years(self._wall(now.astimezone(here).date()))
        return self.zone.place(wall) if self.zone else placed(wall, here)

    def _wall(self, today: dt.date) -> dt.datetime:
        named = self.date or InDays(0)
        day = named.on(today)
        part = self.part or named.part
        if self.time and isinstance(self.time.clock, Midnight):
            return self._midnight(day, today)
        return dt.datetime.combine(day, time_of_day(self.time, part, named.usual))

    def _midnight(self, day: dt.date, today: dt.date) -> dt.datetime:
        part = self.date.part if self.date else None
        tonight = day == today and part is not None and 23 in part.hours
        if self.part or (self.date and not tonight):
            raise Midnight().beside(day)
        return dt.datetime.combine(today + dt.timedelta(days=1), dt.time(0))


def time_of_day(named: Time | None, part: DayPart | None, usual: tuple[int, int] = MORNING) -> dt.time:
    """The time that is meant. A part of the day without a usual hour is refused."""
    if named:
        return named.within(part)
    if part is None:
        return dt.time(*usual)
    if part.usual is None:
        raise refuse(f"the {part.name} needs an hour", "tomorrow at {time}", time="18:30")
    return dt.time(part.usual)


def within_years(wall: dt.datetime) -> dt.datetime:
    if not FIRST_YEAR <= wall.year <= LAST_YEAR:
        raise refuse(f"the year {wall.year} is not between {FIRST_YEAR} and {LAST_YEAR}", "2027-03-03 10:00")
    return wall


def needs_zone(what: str, *instead: str) -> Exception:
    return NoZone(f"{what} needs a time zone, and none is known", instead, {})


Single: TypeAlias = After | Ago | Someday | HoursAlone | OnDay
