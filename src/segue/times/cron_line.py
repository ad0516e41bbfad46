"""Cron lines: computes the moments that a cron line names in a time zone, also when its clocks change.

A *wall* is a reading of a wall clock, to the minute, without a zone. A line names walls; a zone shows each of
them once, never (the clock jumps over it in spring) or twice (in autumn). A zone is divided into *stretches*,
spans of UTC with a constant offset, so that inside one stretch walls and moments differ by a constant and can
be counted without visiting them.

Where the clocks change, the rule is that of Debian cron:

  - a line whose minute or hour begins with `*` follows the clock: it fires whenever the clock reads one of
    its walls, so an hourly line fires in every real hour, and a wall that is shown twice counts twice
  - any other line fires once for each wall, when the clock first reads that wall or a later one: 02:30 on a
    day that goes from 02:00 to 03:00 fires at 03:00, and on a day that shows 02:30 twice, the first time

cronsim parses the lines. It does not compute the moments, because it returns a past moment when started
within a repeated hour, and skips an hour where the clock turns back by half an hour (Lord Howe).

All datetimes in this file are naive on purpose: walls have no zone, and moments are in UTC.
"""

import re
from bisect import bisect_left
from calendar import monthrange
from collections.abc import Iterator
from datetime import date, datetime, time, timedelta
from functools import lru_cache
from typing import NamedTuple, Protocol
from zoneinfo import ZoneInfo

from cronsim import CronSim, CronSimError

from segue.errors import BadTrigger
from segue.times.format import quoted

CRON_NAMES = {
    "@hourly": "0 * * * *",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@weekly": "0 0 * * 0",
    "@monthly": "0 0 1 * *",
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
}
"""Words for whole lines, as Debian cron has them."""

_LONGEST_LINE = 500
_FIELDS = "minute hour day month weekday"
_NEVER = "the cron line {} never fires: there is no such day"
_DAY = timedelta(days=1)
_INSTANT = datetime.resolution
_MIDNIGHT = time()

_SEARCHED = timedelta(days=50 * 365)
"""The rarest day a line can name (29 February on a given weekday) comes at least every 40 years."""

_PLACE = re.compile(r"[A-Za-z][A-Za-z0-9_+-]*(?:/[A-Za-z0-9_+-]+)*")
_NOT_PLACES = ("posix/", "right/", "localtime", "Factory")
"""Other entries of the zone database: copies, clocks with leap seconds, the zone of this machine."""

_BETWEEN_PROBES = timedelta(days=3)
"""Short enough that two changes never lie between two probes: since 1970 none are closer than six days."""


class Walls(Protocol):
    """What names walls: a cron line, or a recurrence rule."""

    @property
    def follows_clock(self) -> bool: ...

    def first(self, start: datetime, end: datetime) -> datetime | None:
        """The earliest wall in [start, end)."""
        ...

    def last(self, start: datetime, end: datetime) -> datetime | None:
        """The newest wall in [start, end)."""
        ...

    def count(self, start: datetime, end: datetime) -> int:
        """How many walls lie in [start, end)."""
        ...


class CronLine:
    """The walls of one cron line."""

    def __init__(self, expr: str) -> None:
        self.fields = _parse(expr)
        self._times = sorted(
            60 * hour + minute for hour in self.fields.hours for minute in self.fields.minutes
        )
        by_day_only = self.fields.parts[5].startswith("*")
        self._least_day = min(self.fields.days) if by_day_only else 0
        """The first day of a month that the line names, if it names days of the month only."""
        self.follows_clock = any(field.startswith("*") for field in self.fields.parts[1:3])
        if not self._has_a_day():
            raise BadTrigger(_NEVER.format(quoted(expr)))

    def first(self, start: datetime, end: datetime) -> datetime | None:
        """The earliest wall in [start, end)."""
        for day in self._days(start, end):
            low, high = self._times_on(day, start, end)
            if low < high:
                return datetime.combine(day, _MIDNIGHT) + timedelta(minutes=self._times[low])
        return None

    def last(self, start: datetime, end: datetime) -> datetime | None:
        """The newest wall in [start, end)."""
        for day in self._days_back(start, end):
            low, high = self._times_on(day, start, end)
            if low < high:
                return datetime.combine(day, _MIDNIGHT) + timedelta(minutes=self._times[high - 1])
        return None

    def count(self, start: datetime, end: datetime) -> int:
        """How many walls lie in [start, end)."""
        spans = (self._times_on(day, start, end) for day in self._days(start, end))
        return sum(max(0, high - low) for low, high in spans)

    def explain(self) -> str:
        return self.fields.explain()

    def _times_on(self, day: date, start: datetime, end: datetime) -> tuple[int, int]:
        """Which of the day's times, as a half-open range of indices, are walls in [start, end)."""
        low = bisect_left(self._times, _minute_of(start)) if day == start.date() else 0
        high = bisect_left(self._times, _minute_of(end)) if day == end.date() else len(self._times)
        return low, high

    def _days(self, start: datetime, end: datetime) -> Iterator[date]:
        """The days the line names from one wall to another, both days included."""
        day, last = start.date(), end.date()
        while day <= last:
            if day.month not in self.fields.months or self._is_short(day):
                day = (day.replace(day=1) + 31 * _DAY).replace(day=1)
                continue
            if self.fields.match_day(day):
                yield day
            day += _DAY

    def _days_back(self, start: datetime, end: datetime) -> Iterator[date]:
        first, day = start.date(), end.date()
        while day >= first:
            if day.month not in self.fields.months:
                day = day.replace(day=1) - _DAY
                continue
            if self.fields.match_day(day):
                yield day
            day -= _DAY

    def _is_short(self, day: date) -> bool:
        """Whether the month of a day ends before the first day that the line names in a month."""
        return self._least_day > 28 and monthrange(day.year, day.month)[1] < self._least_day

    def _has_a_day(self) -> bool:
        # Whether a day matches depends on its weekday and the length of its month. These 28 years contain
        # every kind of year: beginning on each weekday, leap and common.
        return any(True for _ in self._days(_new_year(2001), _new_year(2029)))


@lru_cache(maxsize=4096)
def read_line(expr: str) -> CronLine:
    """Returns the parsed line, cached: many jobs share a line, and each check of a due job needs it."""
    return CronLine(expr)


@lru_cache(maxsize=1024)
def zone_named(name: str) -> ZoneInfo | None:
    """Returns the zone of that IANA name, or None."""
    if not _PLACE.fullmatch(name) or name.startswith(_NOT_PLACES):
        return None
    try:
        return ZoneInfo(name)
    except (KeyError, ValueError, OSError):
        return None


def next_slot(line: Walls, zone: ZoneInfo, after: datetime) -> datetime | None:
    """The first moment after `after`."""
    for stretch in _stretches(zone, after, after + _SEARCHED):
        wall = line.first(stretch.opening(line, after), stretch.end + stretch.offset)
        if wall is not None:
            return stretch.moment(wall)
    return None


def latest_slot(line: Walls, zone: ZoneInfo, after: datetime, until: datetime) -> datetime | None:
    """The newest moment in (after, until]."""
    for stretch in reversed(list(_stretches(zone, after, until))):
        wall = line.last(stretch.opening(line, after), stretch.closing(until))
        if wall is not None:
            return stretch.moment(wall)
    return None


def count_slots(line: Walls, zone: ZoneInfo, after: datetime, until: datetime) -> int:
    """How many moments lie in (after, until]."""
    total = 0
    for stretch in _stretches(zone, after, until):
        opening = stretch.opening(line, after)
        total += line.count(opening, stretch.closing(until))
        resumed = stretch.start + stretch.offset
        if opening < resumed:  # the clock jumped forward: the walls it jumped over share one moment
            total -= max(0, line.count(opening, resumed + _INSTANT) - 1)
    return total


class _Stretch(NamedTuple):
    """A span [start, end) of UTC with one offset."""

    start: datetime
    end: datetime
    offset: timedelta
    reached: datetime
    """The latest reading that the clock had shown when the stretch began."""

    def opening(self, line: Walls, after: datetime) -> datetime:
        """The first reading that may make a slot of this line after that moment."""
        opening = self.start + self.offset if line.follows_clock else self.reached
        if self.start > after:
            return opening
        return max(opening, after + self.offset + _INSTANT)

    def closing(self, until: datetime) -> datetime:
        """The first reading past the end, or past that moment."""
        return min(self.end, until + _INSTANT) + self.offset

    def moment(self, wall: datetime) -> datetime:
        # For a wall that the clock jumped over, the difference would lie before the start.
        return max(self.start, wall - self.offset)


def _stretches(zone: ZoneInfo, start: datetime, end: datetime) -> Iterator[_Stretch]:
    """The stretches that contain the moments of [start, end], in order."""
    for year in range(start.year, end.year + 1):
        for stretch in _stretches_of(zone, year):
            if stretch.end > start and stretch.start <= end:
                yield stretch


@lru_cache(maxsize=4096)
def _stretches_of(zone: ZoneInfo, year: int) -> tuple[_Stretch, ...]:
    """The stretches of one UTC year, the first and the last cut at New Year."""
    # An hour that is repeated across New Year is still a repetition after it.
    reached = max(end + offset for _, end, offset in offset_spans(zone, year - 1))
    stretches = []
    for start, end, offset in offset_spans(zone, year):
        stretches.append(_Stretch(start, end, offset, reached))
        reached = end + offset
    return tuple(stretches)


def offset_spans(zone: ZoneInfo, year: int) -> Iterator[tuple[datetime, datetime, timedelta]]:
    """(start, end, offset) of each time between two changes of a zone's offset in a UTC year."""
    start, new_year = _new_year(year), _new_year(year + 1)
    probe, offset = start, _offset(zone, start)
    while probe < new_year:
        before, probe = probe, min(probe + _BETWEEN_PROBES, new_year)
        if _offset(zone, probe) != offset:
            change = _change_between(zone, before, probe)
            yield start, change, offset
            start, offset = change, _offset(zone, probe)
    if start < new_year:
        yield start, new_year, offset


def _change_between(zone: ZoneInfo, before: datetime, after: datetime) -> datetime:
    """The first second at which the offset is no longer what it was."""
    old = _offset(zone, before)
    while after - before > timedelta(seconds=1):
        middle = before + timedelta(seconds=(after - before) // timedelta(seconds=2))
        if _offset(zone, middle) == old:
            before = middle
        else:
            after = middle
    return after


def _offset(zone: ZoneInfo, moment: datetime) -> timedelta:
    return zone.fromutc(moment.replace(tzinfo=zone)).replace(tzinfo=None) - moment


def _minute_of(wall: datetime) -> int:
    """The first whole minute of the day that is not before the reading."""
    return 60 * wall.hour + wall.minute + (wall.second > 0 or wall.microsecond > 0)


def _new_year(year: int) -> datetime:
    return datetime(year, 1, 1)  # noqa: DTZ001


def _parse(expr: str) -> CronSim:
    if len(expr) > _LONGEST_LINE:
        raise BadTrigger(f"a cron line has at most {_LONGEST_LINE} characters, got {len(expr):,}")
    fields = expr.split()
    if len(fields) != 5:
        raise BadTrigger(f"a cron line has five fields ({_FIELDS}), got {len(fields)}: {quoted(expr)}")
    try:
        return CronSim(expr, _new_year(1970))
    except CronSimError as error:
        # cronsim raises the same error for an unreadable day and for a day that these months do not have.
        if "day-of-month" in str(error) and _can_be_read([*fields[:3], "*", fields[4]]):
            raise BadTrigger(_NEVER.format(quoted(expr))) from None
        raise BadTrigger(f"the cron line {quoted(expr)} cannot be read: {str(error).lower()}") from None


def _can_be_read(fields: list[str]) -> bool:
    try:
        CronSim(" ".join(fields), _new_year(1970))
    except CronSimError:
        return False
    return True
