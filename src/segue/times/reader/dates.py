"""Meanings of days, independent of languages. `on(today)` returns the day.

A name that could mean two days is refused with both. A day may be past; `readers` checks that.
"""

import calendar
from dataclasses import dataclass
from datetime import date, timedelta
from typing import ClassVar, Protocol

from segue.times.reader.parts import DayPart, Span, Unit
from segue.times.reader.refusal import refuse, refuse_ambiguous

MORNING = 9, 0
"""A day without a time of day means 09:00 on it."""
LAST_MINUTE = 23, 59
"""The end of a day, week, month or year is its last minute."""

_A_LEAP_YEAR = 2028

WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
MONTHS = ("January", "February", "March", "April", "May", "June",
          "July", "August", "September", "October", "November", "December")  # fmt: skip


class Date(Protocol):
    @property
    def usual(self) -> tuple[int, int]:
        """The hour and minute that are meant if no time of day is named."""
        ...

    @property
    def part(self) -> DayPart | None:
        """The part of the day that the name itself contains: `tonight`."""
        ...

    def on(self, today: date) -> date: ...


class _Day:
    kind: ClassVar[str] = "date"
    usual: ClassVar[tuple[int, int]] = MORNING
    part: ClassVar[DayPart | None] = None


@dataclass(frozen=True)
class InDays:
    """`today`, `tomorrow`, `tonight`."""

    days: int
    part: DayPart | None = None
    usual: ClassVar[tuple[int, int]] = MORNING

    def on(self, today: date) -> date:
        return today + timedelta(days=self.days)


@dataclass(frozen=True)
class PartOf:
    """`Freitagabend`: a day and its part in one word."""

    day: Date
    part: DayPart | None
    usual: ClassVar[tuple[int, int]] = MORNING

    def on(self, today: date) -> date:
        return self.day.on(today)


@dataclass(frozen=True)
class Ahead(_Day):
    """`in 2 days`, where a time of day follows."""

    kind: ClassVar[str] = "ahead"
    span: Span

    def on(self, today: date) -> date:
        days = self.span.whole_days()
        if days is None:
            raise refuse(
                "only whole days from now can be at a time of day", "in 2 days at 09:00", "in 3 hours"
            )
        return add_months(today, self.span.months) + timedelta(days=days)


@dataclass(frozen=True)
class OnWeekday(_Day):
    """`friday`: the next one to come. On a Friday it is refused: it could be today."""

    weekday: int

    def on(self, today: date) -> date:
        if today.weekday() == self.weekday:
            name = WEEKDAYS[self.weekday]
            in_a_week = today + timedelta(days=7)
            raise refuse_ambiguous(
                f"today is {name}, so {name} can be today or in a week",
                (long_date(today), long_date(in_a_week)),
                "today at {time}",
                f"{in_a_week} 18:00",
                time="18:00",
            )
        return _following(today, self.weekday)


@dataclass(frozen=True)
class NextWeekday(_Day):
    """`kommenden Freitag`: the first one after today. `next friday` is this one, or that of next week."""

    weekday: int

    def on(self, today: date) -> date:
        return _following(today, self.weekday)


@dataclass(frozen=True)
class ThisWeekday(_Day):
    """`this friday`: the one in the week from Monday to Sunday that today is in."""

    weekday: int

    def on(self, today: date) -> date:
        return monday(today) + timedelta(days=self.weekday)


@dataclass(frozen=True)
class WeekdayNextWeek(_Day):
    """`friday next week`: the one in the week that begins next Monday."""

    weekday: int

    def on(self, today: date) -> date:
        return monday(today) + timedelta(days=7 + self.weekday)


@dataclass(frozen=True)
class CalendarDate:
    """`3 March 2027`; without a year, the next day of that name, today included."""

    kind: ClassVar[str] = "calendar"
    day: int
    month: int
    year: int | None = None

    def on(self, today: date) -> date:
        if self.year is not None:
            return existing(self.year, self.month, self.day)
        # A leap day may be eight years away: 1896 to 1904, 2096 to 2104.
        for year in range(today.year, today.year + 9):
            if _exists(year, self.month, self.day) and date(year, self.month, self.day) >= today:
                return date(year, self.month, self.day)
        return existing(today.year, self.month, self.day)


@dataclass(frozen=True)
class NumericDate:
    """`3/4/2027`: read if only one order of day and month is possible, or the language defines the order."""

    kind: ClassVar[str] = "calendar"
    first: int
    second: int
    year: int | None
    day_first: bool

    def on(self, today: date) -> date:
        # A leap year has every day that a year without a number can have.
        year = self.year or _A_LEAP_YEAR
        if self.first == self.second or (self.day_first and _exists(year, self.second, self.first)):
            return CalendarDate(self.first, self.second, self.year).on(today)
        orders = [(self.second, self.first), (self.first, self.second)]
        days = [
            CalendarDate(day, month, self.year).on(today)
            for month, day in orders
            if _exists(year, month, day)
        ]
        if len(days) == 2:
            both = [long_date(day) for day in days]
            raise refuse_ambiguous(f"it can be {' or '.join(both)}", both, *map(str, days))
        return days[0] if days else existing(year, self.second, self.first)


@dataclass(frozen=True)
class Dated(_Day):
    """A calendar date, optionally with its weekday, which must be right."""

    calendar: CalendarDate | NumericDate
    weekday: int | None = None

    def on(self, today: date) -> date:
        day = self.calendar.on(today)
        if self.weekday not in (None, day.weekday()):
            raise refuse(f"{long_date(day)} is a {WEEKDAYS[day.weekday()]}", f"{day} 09:00")
        return day


@dataclass(frozen=True)
class DayOfMonth(_Day):
    """`the 3rd`: the next day of that number, today included."""

    day: int

    def on(self, today: date) -> date:
        for months in range(3):
            first = add_months(today.replace(day=1), months)
            if _exists(first.year, first.month, self.day) and first.replace(day=self.day) >= today:
                return first.replace(day=self.day)
        raise refuse(f"no month has a day {self.day}", "on the 3rd at 09:00")


@dataclass(frozen=True)
class DayOfNextMonth(_Day):
    """`the 1st of next month`."""

    day: int

    def on(self, today: date) -> date:
        first = add_months(today.replace(day=1), 1)
        return existing(first.year, first.month, self.day)


@dataclass(frozen=True)
class EndOf(_Day):
    """`end of month`: its last day, in the last minute unless a time is named."""

    usual: ClassVar[tuple[int, int]] = LAST_MINUTE
    unit: Unit

    def on(self, today: date) -> date:
        match self.unit:
            case Unit.WEEK:
                return monday(today) + timedelta(days=6)
            case Unit.MONTH:
                return add_months(today.replace(day=1), 1) - timedelta(days=1)
            case _:
                return today.replace(month=12, day=31)


def existing(year: int, month: int, day: int) -> date:
    if _exists(year, month, day):
        return date(year, month, day)
    named = f"{day} {MONTHS[month - 1]} {year}" if 1 <= month <= 12 else f"{year}-{month:02}-{day:02}"
    raise refuse(f"there is no {named}", "2027-03-03 10:00")


def add_months(day: date, months: int) -> date:
    """The same day of a later month, or that month's last day if it is too short."""
    year, month = divmod(day.year * 12 + day.month - 1 + months, 12)
    return date(year, month + 1, min(day.day, calendar.monthrange(year, month + 1)[1]))


def _exists(year: int, month: int, day: int) -> bool:
    return 1 <= year <= 9999 and 1 <= month <= 12 and 1 <= day <= calendar.monthrange(year, month)[1]


def _following(today: date, weekday: int) -> date:
    return today + timedelta(days=(weekday - today.weekday() - 1) % 7 + 1)


def monday(today: date) -> date:
    return today - timedelta(days=today.weekday())


def long_date(day: date) -> str:
    return f"{day.day} {MONTHS[day.month - 1]} {day.year}"
