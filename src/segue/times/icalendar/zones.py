"""Time zones of a calendar file: writes a VTIMEZONE, and tells where the clocks of a zone change.

A VTIMEZONE lists the changes of some years one by one. Calendar programs know the names of zones and read
such a list only for a name that they do not know; they fetch a calendar again and again, so the list moves on
with time.
"""

from collections.abc import Iterator, Sequence
from datetime import datetime, time, timedelta
from itertools import pairwise
from typing import NamedTuple
from zoneinfo import ZoneInfo

from segue.times.cron_line import offset_spans

_YEARS = 10
_DAY = timedelta(days=1)
_LONG_AGO = "19700101T000000"
_LOCAL = "%Y%m%dT%H%M%S"


class Change(NamedTuple):
    """The clocks of a zone change from one offset to another, at a moment in UTC (naive)."""

    at: datetime
    before: timedelta
    after: timedelta

    @property
    def wall(self) -> datetime:
        """What the clock would read if it had not changed."""
        return self.at + self.before


def changes_of(zone: ZoneInfo, first_year: int) -> list[Change]:
    """The changes of ten years from the beginning of a year on."""
    spans = [span for year in range(first_year, first_year + _YEARS) for span in offset_spans(zone, year)]
    return [
        Change(start, before, after)
        for (_, _, before), (start, _, after) in pairwise(spans)
        if before != after
    ]


def jumps_over(zone: ZoneInfo, at: time, first_year: int) -> bool:
    """Whether the clocks jump over a time of day in ten years.

    Segue fires at the end of the jump; a calendar program shows the time as it would have been without it.
    """
    for change in changes_of(zone, first_year):
        wall = datetime.combine(change.wall.date(), at)
        # A jump may pass midnight.
        if any(change.wall < each < change.at + change.after for each in (wall, wall + _DAY)):
            return True
    return False


def vtimezone(zone: ZoneInfo, first_year: int) -> Iterator[str]:
    """The lines of a VTIMEZONE."""
    first = next(iter(offset_spans(zone, first_year)))[2]
    yield "BEGIN:VTIMEZONE"
    yield f"TZID:{zone.key}"
    yield from _observance("STANDARD", _LONG_AGO, first, first, ())
    alike: dict[tuple[str, timedelta, timedelta], list[str]] = {}
    for change in changes_of(zone, first_year):
        kind = "DAYLIGHT" if change.after > change.before else "STANDARD"
        alike.setdefault((kind, change.before, change.after), []).append(f"{change.wall:{_LOCAL}}")
    for (kind, before, after), walls in alike.items():
        yield from _observance(kind, walls[0], before, after, walls[1:])
    yield "END:VTIMEZONE"


def _observance(
    kind: str, start: str, before: timedelta, after: timedelta, again: Sequence[str]
) -> Iterator[str]:
    yield f"BEGIN:{kind}"
    yield f"DTSTART:{start}"
    yield f"TZOFFSETFROM:{_offset(before)}"
    yield f"TZOFFSETTO:{_offset(after)}"
    if again:
        yield f"RDATE:{','.join(again)}"
    yield f"END:{kind}"


def _offset(offset: timedelta) -> str:
    minutes = round(abs(offset).total_seconds() / 60)
    return f"{'-' if offset < timedelta() else '+'}{minutes // 60:02}{minutes % 60:02}"
