"""Meanings of days that are counted from another day or within a month, independent of languages.

`2 weeks from tomorrow`, `the first friday of july`, `the last day of october`, `friday the 20th`.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, timedelta
from typing import ClassVar

from segue.times.reader.dates import (
    LAST_MINUTE,
    MORNING,
    WEEKDAYS,
    Date,
    DayOfMonth,
    OnWeekday,
    add_months,
    existing,
    long_date,
    monday,
)
from segue.times.reader.parts import DayPart, Span, Unit
from segue.times.reader.refusal import refuse, refuse_ambiguous


class _Day:
    kind: ClassVar[str] = "date"
    usual: ClassVar[tuple[int, int]] = MORNING
    part: ClassVar[DayPart | None] = None


@dataclass(frozen=True)
class BaseWeekday(OnWeekday):
    """`friday`, where a span follows."""

    kind: ClassVar[str] = "base_date"


@dataclass(frozen=True)
class From(_Day):
    """`2 weeks from tomorrow`, `Freitag in einer Woche`."""

    span: Span
    day: Date

    def on(self, today: date) -> date:
        days = self.span.whole_days()
        if days is None:
            raise refuse("only whole days can be counted from a day", "in 2 days at 09:00", "in 3 hours")
        return add_months(self.day.on(today), self.span.months) + timedelta(days=days)


@dataclass(frozen=True)
class AWeekAfter(_Day):
    """`friday week`."""

    day: Date

    def on(self, today: date) -> date:
        return self.day.on(today) + timedelta(days=7)


@dataclass(frozen=True)
class NumberedWeekday(_Day):
    """`friday the 20th`: the next day of that number, which must be that weekday."""

    weekday: int
    day: int

    def on(self, today: date) -> date:
        day = DayOfMonth(self.day).on(today)
        if day.weekday() != self.weekday:
            raise refuse(f"{long_date(day)} is a {WEEKDAYS[day.weekday()]}", f"{day} 09:00")
        return day


@dataclass(frozen=True)
class NthWeekday(_Day):
    """`the first friday of july`: of the next July in which it is not past. `ahead`: of a month from now."""

    nth: int
    weekday: int
    month: int | None = None
    ahead: int = 0

    def on(self, today: date) -> date:
        for first in _months(today, self.month, self.ahead):
            day = _nth(first, self.nth, self.weekday)
            if day is not None and (day >= today or self.month is None):
                return day
        raise refuse(f"that month has no such {WEEKDAYS[self.weekday]}", "2027-03-03 10:00")


@dataclass(frozen=True)
class NthWeekdayNextMonth(NthWeekday):
    """`the first monday of next month`."""

    ahead: int = 1


@dataclass(frozen=True)
class LastDayOf(_Day):
    """`the last day of october`."""

    month: int | None = None
    ahead: int = 0

    def on(self, today: date) -> date:
        last = (_last(first) for first in _months(today, self.month, self.ahead))
        return next(day for day in last if day >= today)


@dataclass(frozen=True)
class EndOfMonth(LastDayOf):
    """`end of november`."""

    usual: ClassVar[tuple[int, int]] = LAST_MINUTE


@dataclass(frozen=True)
class WeekdayAfterNext(_Day):
    """`下下周五`: the one in the week after next."""

    weekday: int

    def on(self, today: date) -> date:
        return monday(today) + timedelta(days=14 + self.weekday)


@dataclass(frozen=True)
class DateNextYear(_Day):
    """`明年3月3日`."""

    month: int
    day: int

    def on(self, today: date) -> date:
        return existing(today.year + 1, self.month, self.day)


@dataclass(frozen=True)
class NextUnit(_Day):
    """`next week`: asked back, for it names no day."""

    unit: Unit

    def on(self, today: date) -> date:
        match self.unit:
            case Unit.WEEK:
                days = [monday(today) + timedelta(days=7), today + timedelta(days=7)]
            case Unit.MONTH:
                days = [add_months(today.replace(day=1), 1), add_months(today, 1)]
            case _:
                days = [date(today.year + 1, 1, 1), add_months(today, 12)]
        both = [f"{WEEKDAYS[day.weekday()]}, {long_date(day)}" for day in dict.fromkeys(days)]
        named = f"next {self.unit.value} names no day; it can be {' or '.join(both)}"
        raise refuse_ambiguous(named, both, *(f"{day} 09:00" for day in dict.fromkeys(days)))


def _months(today: date, month: int | None, ahead: int) -> Iterator[date]:
    """The first days of the months that can be meant: of that name, or so many months from now."""
    if month is None:
        yield add_months(today.replace(day=1), ahead)
        return
    for year in range(today.year, today.year + 9):
        yield date(year, month, 1)


def _last(first: date) -> date:
    return add_months(first, 1) - timedelta(days=1)


def _nth(first: date, nth: int, weekday: int) -> date | None:
    """The nth weekday of the month that begins on this day; the last for -1."""
    if nth < 0:
        last = _last(first)
        return last - timedelta(days=(last.weekday() - weekday) % 7 + 7 * (-nth - 1))
    day = first + timedelta(days=(weekday - first.weekday()) % 7 + 7 * (nth - 1))
    return day if day.month == first.month else None
