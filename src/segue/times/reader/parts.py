"""Meanings of parts of a time, independent of languages: spans, clock times and parts of the day.

Each class is one meaning. A language's table lists its wordings; the fields of the class are the gaps of the
wording, and `kind` names the gaps that a meaning fits into.
"""

from dataclasses import replace
from datetime import date, time, timedelta
from enum import Enum
from fractions import Fraction
from typing import ClassVar

from segue.record import positional
from segue.times.reader.refusal import refuse, refuse_ambiguous

LONGEST = timedelta(days=36_525)
"""A hundred years: no span is longer."""


class Unit(Enum):
    SECOND = "second"
    MINUTE = "minute"
    HOUR = "hour"
    DAY = "day"
    WEEK = "week"
    MONTH = "month"
    YEAR = "year"

    @property
    def seconds(self) -> int:
        return _SECONDS.get(self, 0)

    @property
    def months(self) -> int:
        return _MONTHS.get(self, 0)


_SECONDS = {Unit.SECOND: 1, Unit.MINUTE: 60, Unit.HOUR: 3_600, Unit.DAY: 86_400, Unit.WEEK: 604_800}
_MONTHS = {Unit.MONTH: 1, Unit.YEAR: 12}


@positional
class Measure:
    """`2 hours`, `an hour`, `2 and a half hours`, and `2h30`, where the minutes have no unit."""

    kind: ClassVar[str] = "measure"
    unit: Unit
    number: Fraction = Fraction(1)
    share: Fraction = Fraction(0)
    minute: int = 0

    @property
    def amount(self) -> Fraction:
        return self.number + self.share + Fraction(self.minute, 60)


@positional
class Fragment:
    """`half an hour`."""

    kind: ClassVar[str] = "measure"
    unit: Unit
    share: Fraction

    @property
    def amount(self) -> Fraction:
        return self.share


@positional
class Span:
    """`2h 15m`: a length of time. A day is 24 hours and a week 168; months and years need a calendar."""

    kind: ClassVar[str] = "span"
    measures: tuple[Measure | Fragment, ...]

    @property
    def months(self) -> int:
        months = sum((m.amount * m.unit.months for m in self.measures), Fraction(0))
        if months.denominator != 1:
            raise refuse("a part of a month has no fixed length", "30 days", "52 weeks")
        return int(months)

    def length(self) -> timedelta:
        """The real time that the span adds, without its months."""
        microseconds = sum(m.amount * m.unit.seconds * 1_000_000 for m in self.measures)
        self._check(microseconds)
        return timedelta(microseconds=round(microseconds))

    def whole_days(self) -> int | None:
        """The number of days, without its months; None if these are not whole days."""
        length = self.length()
        finest = min(unit.seconds or Unit.DAY.seconds for unit in self._units)
        return length.days if finest >= Unit.DAY.seconds and not length % timedelta(days=1) else None

    @property
    def _units(self) -> list[Unit]:
        return [measure.unit for measure in self.measures]

    def _check(self, microseconds: Fraction | int) -> None:
        for unit in self._units:
            if self._units.count(unit) > 1:
                raise refuse(f"{unit.value}s are named twice in one duration", "2h 15m")
        sizes = [unit.months or Fraction(unit.seconds, 10**9) for unit in self._units]
        if sizes != sorted(sizes, reverse=True):
            raise refuse("a duration names its units from the largest to the smallest", "2h 15m")
        if self.months == 0 and microseconds < 1:
            raise refuse("a duration must be longer than nothing", "2h 15m")
        if self.months > 1_200 or microseconds > LONGEST / timedelta(microseconds=1):
            raise refuse("a duration may be at most 100 years", "52 weeks")


@positional
class ClockMeasure(Measure):
    """Hours, minutes or seconds: `过两天` is seldom meant literally, `过两小时` is."""

    kind: ClassVar[str] = "clock_measure"


@positional
class ClockSpan(Span):
    """A span of one such measure."""

    kind: ClassVar[str] = "clock_span"


@positional
class DayPart:
    """`morning`: its hours, for reading a twelve-hour number, and the hour that is meant if none is named.

    The name is English, for refusals; the hours are those of the language.
    """

    name: str
    hours: range | frozenset[int]
    usual: int | None = None


class Meridiem(Enum):
    AM = "am"
    PM = "pm"


@positional
class ClockTime:
    """A reading of a clock. `fixed` if it certainly is a 24-hour clock: `09:00`, `noon`; `dial` if it is one
    of twelve hours: `полшестого`."""

    hour: int
    minute: int = 0
    second: int = 0
    microsecond: int = 0
    fixed: bool = False
    dial: bool = False

    def showing(self, hour: int) -> time:
        return time(hour, self.minute, self.second, self.microsecond)

    def __str__(self) -> str:
        seconds = f":{self.second:02}" if self.second else ""
        return f"{self.hour}:{self.minute:02}{seconds}"


@positional
class Midnight:
    """The word `midnight`. It is the border between two days, so beside a day it has two readings."""

    def beside(self, day: date) -> Exception:
        after = day + timedelta(days=1)
        both = f"{day} 00:00", f"{after} 00:00"
        return refuse_ambiguous(
            f"midnight beside a day can be its start or its end, here {' or '.join(both)}", both, *both
        )


@positional
class Time:
    """`at 9`, `9:30 pm`, `9 Uhr 30`, `3 in the afternoon`, `noon`.

    Without am, pm or a part of the day, hours are those of a 24-hour clock. Minutes counted from an hour
    (`past`: `half past 3`, `to`: `ten to 4`) mean a twelve-hour dial, so they need am, pm or a part of the
    day."""

    kind: ClassVar[str] = "time"
    clock: ClockTime | Midnight
    meridiem: Meridiem | None = None
    minute: int = 0
    past: int | None = None
    part: DayPart | None = None
    to: int = 0

    def within(self, part: DayPart | None) -> time:
        clock = self.clock
        if isinstance(clock, Midnight):
            raise refuse("midnight takes no part of the day", "tomorrow at {time}", time="00:00")
        clock = replace(clock, minute=clock.minute + self.minute)
        before_midnight = clock.hour == 0 and self._offset < 0
        if clock.hour > 23 or clock.minute > 59 or clock.second > 59 or before_midnight:
            raise refuse(f"{clock} is not a time of day", "09:00", "23:59")
        parts = [named for named in (part, self.part) if named]
        shown = [_shifted(clock.showing(hour), self._offset) for hour in self._hours(clock, bool(parts))]
        fitting = [at for at in shown if all(at.hour in named.hours for named in parts)]
        if len(fitting) == 1:
            return fitting[0]
        if not fitting:
            raise refuse(
                f"{self._said(clock)} is not in the {parts[0].name}",
                "tomorrow at {time}",
                "21:30",
                time="09:00",
            )
        both = [f"{at:%H:%M}" for at in fitting]
        raise refuse_ambiguous(f"it can be {' or '.join(both)}", both, "tomorrow at {time}", time=both[-1])

    def _hours(self, clock: ClockTime, in_part: bool) -> list[int]:
        if self.meridiem:
            return [self._in_half(clock, self.meridiem)]
        on_dial = in_part or self.past is not None or self.to > 0 or clock.dial
        if clock.fixed or not on_dial or not 1 <= clock.hour <= 12:
            return [clock.hour]
        if clock.hour == 12 and in_part and self._offset >= 0:
            return [12]  # Twelve at night is ambiguous between two days; twelve at noon is not.
        return [clock.hour, (clock.hour + 12) % 24]

    @property
    def _offset(self) -> int:
        return (self.past or 0) - self.to

    def _in_half(self, clock: ClockTime, half: Meridiem) -> int:
        if not 1 <= clock.hour <= 12:
            raise refuse(f"{self._said(clock)} mixes the 24-hour and the 12-hour clock", "21:30")
        return clock.hour % 12 + (12 if half is Meridiem.PM else 0)

    def _said(self, clock: ClockTime) -> str:
        return f"{clock} {self.meridiem.value}" if self.meridiem else str(clock)


@positional
class BesideDay(Time):
    """A wording that is a time only beside a day: `demain 21h`. Alone, `21h` is refused: `HoursAlone`."""

    kind: ClassVar[str] = "beside_day"


@positional
class BareTime(Time):
    """A time only after another one, or beside a part of the day: `9 and 17`, `8 tonight`."""

    kind: ClassVar[str] = "bare_time"


@positional
class WindowTime(Time):
    """The start or the end of the hours in which a schedule repeats: `between 9 and 17`."""

    kind: ClassVar[str] = "window_time"


@positional
class Times:
    """`at 9 and at 17`, `at 8, 12 and 18`."""

    kind: ClassVar[str] = "times"
    times: tuple[Time, ...] | Time
    more: tuple[Time, ...] = ()

    @property
    def all(self) -> tuple[Time, ...]:
        times = (self.times,) if isinstance(self.times, Time) else self.times
        return (*times, *self.more)


def _shifted(at: time, minutes: int) -> time:
    total = (at.hour * 60 + at.minute + minutes) % (24 * 60)
    return at.replace(hour=total // 60, minute=total % 60)
