"""Recurrence rules (RFC 5545): computes the walls that a rule names, as `cron_line` does for a cron line.

A rule repeats by day, week, month or year. Each *period* (every second week, say) is expanded by itself, and
the period of a wall is found by division, so the cost does not grow with the distance from the start. Walls
become moments by the functions of `cron_line`, with the same rule where clocks change.

Refused: FREQ=HOURLY and finer (an interval or a cron line says it), BYWEEKNO, BYYEARDAY, BYSECOND, and a rule
without an occurrence in ten years.
"""

import calendar
from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from datetime import date, datetime, time, timedelta
from functools import lru_cache
from itertools import product
from typing import NamedTuple

from segue.errors import BadTrigger
from segue.record import positional
from segue.times.format import quoted

_LONGEST_RULE = 500
_LARGEST_INTERVAL = 1_000
_MOST_COUNTED = 10_000
_MOST_PERIODS = 40_000
"""Of a rule with COUNT, searched for its end: 109 years of days."""
_LAST_YEAR = 8_999
_MOST_DATES = 1_000
_SEARCHED_YEARS = 10
_DAY = timedelta(days=1)
_INSTANT = datetime.resolution
_EXAMPLE = "FREQ=WEEKLY;INTERVAL=2;BYDAY=FR"

_WEEKDAYS = ("MO", "TU", "WE", "TH", "FR", "SA", "SU")
_NAMES = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
_KNOWN = frozenset(
    [
        "FREQ",
        "INTERVAL",
        "BYDAY",
        "BYMONTHDAY",
        "BYMONTH",
        "BYHOUR",
        "BYMINUTE",
        "BYSETPOS",
        "WKST",
        "COUNT",
        "UNTIL",
    ]
)
_UNITS = {"DAILY": "day", "WEEKLY": "week", "MONTHLY": "month", "YEARLY": "year"}
_ORDINALS = {1: "first", 2: "second", 3: "third", 4: "fourth", 5: "fifth", -1: "last", -2: "second to last"}


class _Weekday(NamedTuple):
    """`2TU`: the second Tuesday; `nth` is 0 for every one."""

    day: int
    nth: int


@positional
class _Parts:
    """The parts of a rule."""

    frequency: str
    interval: int
    weekdays: tuple[_Weekday, ...]
    month_days: tuple[int, ...]
    months: tuple[int, ...]
    hours: tuple[int, ...]
    minutes: tuple[int, ...]
    positions: tuple[int, ...]
    week_start: int
    count: int | None
    until: datetime | None


class Recurrence:
    """The walls of a rule from its start, with dates that are left out (`exdate`) and added (`rdate`)."""

    follows_clock = False

    def __init__(
        self, rule: str, start: datetime, exdate: Sequence[datetime] = (), rdate: Sequence[datetime] = ()
    ) -> None:
        if len(exdate) + len(rdate) > _MOST_DATES:
            raise BadTrigger(f"a rule takes at most {_MOST_DATES:,} dates in exdate and rdate")
        self._parts, self._start = _parse(rule), start
        self._excluded, self._added = frozenset(exdate), sorted(set(rdate) - set(exdate))
        self._times = self._times_of_day()
        self._end = self._parts.until
        if self._parts.count is not None:
            self._end = self._nth_wall(self._parts.count)
        horizon = start.replace(year=start.year + _SEARCHED_YEARS, day=min(start.day, 28))
        if self.first(min([start, *self._added]), horizon) is None:
            raise BadTrigger(f"the rule {quoted(rule)} has no occurrence in {_SEARCHED_YEARS} years")

    def first(self, start: datetime, end: datetime) -> datetime | None:
        """The earliest wall in [start, end)."""
        by_rule = next(self._between(start, end), None)
        added = self._added[bisect_left(self._added, start) :][:1]
        return min((wall for wall in (by_rule, *added) if wall is not None and wall < end), default=None)

    def last(self, start: datetime, end: datetime) -> datetime | None:
        """The newest wall in [start, end)."""
        by_rule = self._newest(start, end)
        added = self._added[: bisect_left(self._added, end)][-1:]
        return max((wall for wall in (by_rule, *added) if wall is not None and wall >= start), default=None)

    def count(self, start: datetime, end: datetime) -> int:
        """How many walls lie in [start, end)."""
        walls = set(self._between(start, end))
        return len(walls.union(wall for wall in self._added if start <= wall < end))

    def explain(self) -> str:
        return _words(self._parts, self._times, self._start)

    def _between(self, start: datetime, end: datetime) -> Iterator[datetime]:
        """The walls of the rule in [start, end), in order."""
        start = max(start, self._start)
        if self._end is not None:
            end = min(end, self._end + _INSTANT)
        if start >= end:
            return
        number, last = self._number(start.date()), self._number(end.date())
        while number <= last:
            for wall in self._walls(number):
                if start <= wall < end and wall not in self._excluded:
                    yield wall
            number = self._following(number)

    def _newest(self, start: datetime, end: datetime) -> datetime | None:
        start = max(start, self._start)
        if self._end is not None:
            end = min(end, self._end + _INSTANT)
        if start >= end:
            return None
        for number in range(self._number(end.date()), self._number(start.date()) - 1, -1):
            for wall in reversed(self._walls(number)):
                if start <= wall < end and wall not in self._excluded:
                    return wall
        return None

    def _following(self, number: int) -> int:
        """The number of the next period; days of months that the rule does not name are passed over."""
        number += 1
        months = self._parts.months
        if not months or self._parts.frequency != "DAILY":
            return number
        day = self._start.date() + number * self._parts.interval * _DAY
        if day.month in months:
            return number
        later = (day.replace(day=1) + 31 * _DAY).replace(day=1)
        return max(number, -(-(later - self._start.date()).days // self._parts.interval))

    def _number(self, day: date) -> int:
        """The number of the rule's last period that begins on this day or before."""
        start, parts = self._start.date(), self._parts
        match parts.frequency:
            case "DAILY":
                passed = (day - start).days
            case "WEEKLY":
                passed = (self._monday(day) - self._monday(start)).days // 7
            case "MONTHLY":
                passed = (day.year - start.year) * 12 + day.month - start.month
            case _:
                passed = day.year - start.year
        return passed // parts.interval

    def _monday(self, day: date) -> date:
        """The first day of the week, which WKST may move."""
        return day - (day.weekday() - self._parts.week_start) % 7 * _DAY

    def _walls(self, number: int) -> list[datetime]:
        """The walls of a period, in order."""
        walls = [datetime.combine(day, at) for day in self._days(number) for at in self._times]
        if not self._parts.positions:
            return walls
        chosen = {position - (position > 0) for position in self._parts.positions}
        chosen = {position % len(walls) for position in chosen if -len(walls) <= position < len(walls)}
        return [walls[position] for position in sorted(chosen)]

    def _days(self, number: int) -> list[date]:
        start, parts = self._start.date(), self._parts
        step = number * parts.interval
        match parts.frequency:
            case "DAILY":
                return [day for day in (start + step * _DAY,) if self._fits(day)]
            case "WEEKLY":
                first = self._monday(start) + step * 7 * _DAY
                wanted = {weekday.day for weekday in parts.weekdays} or {start.weekday()}
                week = (first + offset * _DAY for offset in range(7))
                return [day for day in week if day.weekday() in wanted and self._in_months(day)]
            case "MONTHLY":
                year, month = divmod(start.year * 12 + start.month - 1 + step, 12)
                return self._days_of_month(year, month + 1) if self._named(month + 1) else []
        return self._days_of_year(start.year + step)

    def _fits(self, day: date) -> bool:
        wanted = {weekday.day for weekday in self._parts.weekdays}
        if (wanted and day.weekday() not in wanted) or not self._in_months(day):
            return False
        length = calendar.monthrange(day.year, day.month)[1]
        days = self._parts.month_days
        return not days or day.day in days or day.day - length - 1 in days

    def _in_months(self, day: date) -> bool:
        return self._named(day.month)

    def _named(self, month: int) -> bool:
        return not self._parts.months or month in self._parts.months

    def _days_of_month(self, year: int, month: int) -> list[date]:
        parts, length = self._parts, calendar.monthrange(year, month)[1]
        month_days = parts.month_days or (() if parts.weekdays else (self._start.day,))
        days = {day if day > 0 else length + 1 + day for day in month_days}
        found = [date(year, month, day) for day in sorted(days) if 1 <= day <= length]
        if not parts.weekdays:
            return found
        by_weekday = _weekdays_in(date(year, month, 1), length, parts.weekdays)
        return [day for day in by_weekday if not month_days or day in found]

    def _days_of_year(self, year: int) -> list[date]:
        parts = self._parts
        if parts.weekdays and not parts.months and not parts.month_days:
            return _weekdays_in(date(year, 1, 1), 365 + calendar.isleap(year), parts.weekdays)
        months: Sequence[int] = parts.months or (range(1, 13) if parts.month_days else (self._start.month,))
        return [day for month in months for day in self._days_of_month(year, month)]

    def _times_of_day(self) -> list[time]:
        hours = self._parts.hours or (self._start.hour,)
        minutes = self._parts.minutes or (self._start.minute,)
        return [time(hour, minute, self._start.second) for hour, minute in product(hours, minutes)]

    def _nth_wall(self, count: int) -> datetime | None:
        """The last wall of a rule that ends after so many; None if that is too far away to be looked for.

        Dates that are left out count too.
        """
        number, seen = 0, 0
        for _ in range(_MOST_PERIODS):
            if self._reached(number) > _LAST_YEAR:
                break
            for wall in self._walls(number):
                seen += wall >= self._start
                if seen == count:
                    return wall
            number = self._following(number)
        return None

    def _reached(self, number: int) -> int:
        """About the year of a period."""
        periods_a_year = {"DAILY": 365, "WEEKLY": 52, "MONTHLY": 12, "YEARLY": 1}[self._parts.frequency]
        return self._start.year + number * self._parts.interval // periods_a_year


@lru_cache(maxsize=4096)
def read_rule(
    rule: str, start: datetime, exdate: tuple[datetime, ...] = (), rdate: tuple[datetime, ...] = ()
) -> Recurrence:
    """Returns the parsed rule, cached."""
    return Recurrence(rule, start, exdate, rdate)


def _weekdays_in(first: date, length: int, wanted: Sequence[_Weekday]) -> list[date]:
    """The days that a list such as `1MO,-1FR` names within a month or a year of that length."""
    found: set[int] = set()
    for weekday in wanted:
        matching = range((weekday.day - first.weekday()) % 7, length, 7)
        if not weekday.nth:
            found.update(matching)
        elif abs(weekday.nth) <= len(matching):
            found.add(matching[weekday.nth - (weekday.nth > 0)])
    return [first + offset * _DAY for offset in sorted(found)]


def _parse(rule: str) -> _Parts:
    if len(rule) > _LONGEST_RULE:
        raise BadTrigger(f"a rule has at most {_LONGEST_RULE} characters, got {len(rule):,}")
    fields: dict[str, str] = {}
    for part in rule.upper().removeprefix("RRULE:").strip().rstrip(";").split(";"):
        name, equals, value = part.partition("=")
        if not equals or not value or name in fields or name not in _KNOWN:
            raise _unreadable(rule, f"its part {quoted(part)} is not understood")
        fields[name] = value
    frequency = fields.get("FREQ", "")
    if frequency not in _UNITS:
        raise _unreadable(rule, f"FREQ is {', '.join(_UNITS)}; for an interval below a day use every_seconds")
    if "COUNT" in fields and "UNTIL" in fields:
        raise _unreadable(rule, "it has both COUNT and UNTIL")
    try:
        parts = _read_parts(frequency, fields.get)
    except (ValueError, IndexError):
        raise _unreadable(rule, "one of its numbers or names is not understood") from None
    if frequency in ("DAILY", "WEEKLY") and any(weekday.nth for weekday in parts.weekdays):
        raise _unreadable(rule, "BYDAY takes a number only with MONTHLY and YEARLY")
    if parts.month_days and any(weekday.nth for weekday in parts.weekdays):
        raise _unreadable(rule, "a numbered BYDAY does not go with BYMONTHDAY")
    if frequency == "WEEKLY" and parts.month_days:
        raise _unreadable(rule, "BYMONTHDAY does not go with WEEKLY")
    return parts


def _read_parts(frequency: str, field: Callable[[str], str | None]) -> _Parts:
    return _Parts(
        frequency,
        interval=_one(field("INTERVAL"), _LARGEST_INTERVAL) or 1,
        weekdays=_weekdays(field("BYDAY")),
        month_days=_numbers(field("BYMONTHDAY"), 1, 31, signed=True),
        months=_numbers(field("BYMONTH"), 1, 12),
        hours=_numbers(field("BYHOUR"), 0, 23),
        minutes=_numbers(field("BYMINUTE"), 0, 59),
        positions=_numbers(field("BYSETPOS"), 1, 366, signed=True),
        week_start=_WEEKDAYS.index(field("WKST") or "MO"),
        count=_one(field("COUNT"), _MOST_COUNTED),
        until=_until(field("UNTIL")),
    )


def _unreadable(rule: str, why: str) -> BadTrigger:
    return BadTrigger(f"the rule {quoted(rule)} cannot be read: {why}; a rule is for example {_EXAMPLE}")


def _numbers(text: str | None, low: int, high: int, *, signed: bool = False) -> tuple[int, ...]:
    numbers = sorted({int(number) for number in text.split(",")}) if text else []
    for number in numbers:
        if not low <= (abs(number) if signed else number) <= high:
            raise ValueError(number)
    return tuple(numbers)


def _one(text: str | None, high: int) -> int | None:
    return None if text is None else _numbers(text, 1, high)[0]


def _weekdays(text: str | None) -> tuple[_Weekday, ...]:
    names = text.split(",") if text else []
    found = {_Weekday(_WEEKDAYS.index(name[-2:]), int(name[:-2] or 0)) for name in names}
    if any(abs(weekday.nth) > 53 for weekday in found):
        raise ValueError(text)
    return tuple(sorted(found))


def _until(text: str | None) -> datetime | None:
    """A date means its end. A time in UTC (`Z`) is not known as a wall, so it is refused."""
    if text is None:
        return None
    until = datetime.fromisoformat(text)
    if until.tzinfo is not None:
        raise ValueError(text)
    return until if "T" in text else until + _DAY - _INSTANT


def _words(parts: _Parts, times: Sequence[time], start: datetime) -> str:
    """`every 2 weeks on Friday at 09:00`."""
    unit = _UNITS[parts.frequency]
    every = f"every {unit}" if parts.interval == 1 else f"every {parts.interval} {unit}s"
    return " ".join(filter(None, (every, _days_in_words(parts, start), _times_in_words(parts, times))))


def _days_in_words(parts: _Parts, start: datetime) -> str:
    days = [
        (f"the {_ORDINALS.get(weekday.nth, f'{weekday.nth}th')} " if weekday.nth else "")
        + _NAMES[weekday.day]
        for weekday in parts.weekdays
    ]
    days += [
        f"day {day}" if day > 0 else f"the {_ORDINALS.get(day, f'{-day}th to last')} day"
        for day in parts.month_days
    ]
    if not days and parts.frequency == "WEEKLY":
        days = [_NAMES[start.weekday()]]
    if not days and parts.frequency in ("MONTHLY", "YEARLY"):
        days = [f"day {start.day}"]
    months = parts.months or ((start.month,) if parts.frequency == "YEARLY" else ())
    of = f" of {', '.join(calendar.month_name[month] for month in months)}" if months else ""
    return f"on {' and '.join(days)}{of}" if days else of.strip()


def _times_in_words(parts: _Parts, times: Sequence[time]) -> str:
    if parts.positions and parts.frequency == "DAILY":
        times = [times[position - (position > 0)] for position in parts.positions if position <= len(times)]
    return f"at {' and '.join(f'{at:%H:%M}' for at in times)}"
