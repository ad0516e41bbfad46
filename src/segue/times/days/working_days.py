"""The walls of a cron line that lie on working days, or are shifted to one.

    none        a wall on a day off is left out
    next        it moves to the same time of the next working day
    previous    or of the previous one

Two walls that a shift moves onto one are one.
"""

from collections.abc import Iterator
from datetime import date, datetime, time, timedelta
from enum import StrEnum

from segue.times.cron_line import Walls
from segue.times.days.day_sets import DaySet

_DAY = timedelta(days=1)


class Shift(StrEnum):
    NONE = "none"
    NEXT = "next"
    PREVIOUS = "previous"


class WorkingWalls:
    """Names walls as a cron line does, on working days only."""

    def __init__(self, walls: Walls, days: DaySet, shift: Shift) -> None:
        self._walls, self._days, self._shift = walls, days, shift
        self._break = (days.longest_break + 1) * _DAY
        self.follows_clock = walls.follows_clock and shift is Shift.NONE

    def first(self, start: datetime, end: datetime) -> datetime | None:
        """The earliest wall in [start, end)."""
        for day in self._target_days(start, end):
            if found := [wall for wall in self._on(day) if start <= wall < end]:
                return found[0]
        return None

    def last(self, start: datetime, end: datetime) -> datetime | None:
        """The newest wall in [start, end)."""
        cursor = end + (self._break if self._shift is Shift.PREVIOUS else timedelta())
        while (source := self._walls.last(start - self._break, cursor)) is not None:
            day = self._target(source.date())
            if day is not None:
                if day < start.date():
                    return None
                if found := [wall for wall in self._on(day) if start <= wall < end]:
                    return found[-1]
            cursor = datetime.combine(source.date(), time())
        return None

    def count(self, start: datetime, end: datetime) -> int:
        """How many walls lie in [start, end)."""
        days = self._target_days(start, end)
        return sum(1 for day in days for wall in self._on(day) if start <= wall < end)

    def _target_days(self, start: datetime, end: datetime) -> Iterator[date]:
        """The days on which there are walls, in order, each once."""
        before = self._break if self._shift is Shift.NEXT else timedelta()
        after = self._break if self._shift is Shift.PREVIOUS else timedelta()
        cursor, newest = datetime.combine(start.date(), time()) - before, date.min
        while (source := self._walls.first(cursor, end + after)) is not None:
            day = self._target(source.date())
            if day is not None and day > newest:
                if day > end.date():
                    return
                newest = day
                yield day
            cursor = datetime.combine(source.date() + _DAY, time())

    def _target(self, day: date) -> date | None:
        """The day that the walls of a day move to; None: they are left out."""
        if self._days.works(day):
            return day
        if self._shift is Shift.NONE:
            return None
        return self._days.shifted(day, 1 if self._shift is Shift.NEXT else -1)

    def _on(self, day: date) -> list[datetime]:
        """The walls on a working day: its own, and those of the days off that move to it."""
        times = {wall.time() for source in self._sources(day) for wall in self._of(source)}
        return [datetime.combine(day, at) for at in sorted(times)]

    def _sources(self, day: date) -> Iterator[date]:
        yield day
        if self._shift is Shift.NONE:
            return
        step = -_DAY if self._shift is Shift.NEXT else _DAY
        source = day + step
        while not self._days.works(source):
            yield source
            source += step

    def _of(self, day: date) -> Iterator[datetime]:
        cursor, end = datetime.combine(day, time()), datetime.combine(day + _DAY, time())
        while (wall := self._walls.first(cursor, end)) is not None:
            yield wall
            cursor = wall + timedelta(minutes=1)
