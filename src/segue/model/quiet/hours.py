"""Quiet hours of a session: a window of the day in which its jobs keep quiet, in wall time of its zone.

The window begins and ends when a cron line for that time would run, so a change of the clocks moves both in
the same way: a time that the clocks jump over means the end of the jump, and of two equal times the first.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import lru_cache
from typing import Any, Self
from zoneinfo import ZoneInfo

from segue.errors import BadSetting
from segue.record import positional
from segue.times.format import quoted
from segue.times.wall_triggers import Cron

DAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
_NAMED = {"all": DAYS, "weekdays": DAYS[:5]}
_LONGEST_MINUTES = 23 * 60
_TWO_DAYS = timedelta(days=2)
_CLOCK = re.compile(r"([01][0-9]|2[0-3]):([0-5][0-9])")

QUIET_UNTIL = "quiet hours until "
"""The beginning of the reason for which quiet hours keep a slot from running."""


@positional
class QuietWindow:
    """The quiet hours of one day or night."""

    start: datetime
    end: datetime
    """The first moment after it."""
    zone: str

    @property
    def reason(self) -> str:
        return f"{QUIET_UNTIL}{self.end.astimezone(ZoneInfo(self.zone)):%H:%M}"


@dataclass(frozen=True, slots=True)
class QuietHours:
    """From one time of the day to another, perhaps over midnight, on the days on which it begins."""

    start: str
    end: str
    days: tuple[str, ...] = DAYS
    """None of them: there are no quiet hours, whatever the settings say."""

    def window_at(self, moment: datetime, zone: str) -> QuietWindow | None:
        """The window in which a moment lies. Its start counts, its end does not."""
        if not self.days:
            return None
        opens, closes = _lines(self, zone)
        start = opens.latest_at_or_before(moment, moment - _TWO_DAYS)
        end = closes.next_after(start) if start else None
        return QuietWindow(start, end, zone) if start and end and moment < end else None

    def to_json(self) -> dict[str, Any]:
        named = next((name for name, days in _NAMED.items() if days == self.days), None)
        return {"from": self.start, "to": self.end, "days": named or list(self.days)}

    @classmethod
    def from_json(cls, data: object) -> Self:
        """Quiet hours as a caller gives them: `{"from": "22:00", "to": "07:00"}`. Raises `BadSetting`."""
        if not isinstance(data, Mapping) or not {"from", "to"} <= data.keys() <= {"from", "to", "days"}:
            raise BadSetting(
                'quiet is an object such as {"from": "22:00", "to": "07:00", "days": "all"}, or null; '
                f"got {quoted(data)}"
            )
        start, end = read_clock(data["from"], "quiet.from"), read_clock(data["to"], "quiet.to")
        length = (_minutes(end) - _minutes(start)) % (24 * 60)
        if length == 0:
            raise BadSetting(f"quiet.from and quiet.to must differ; both are {start}")
        if length > _LONGEST_MINUTES:
            raise BadSetting(f"quiet hours last at most 23 hours; {start} to {end} is longer")
        return cls(start, end, _read_days(data.get("days", "all")))


NONE = QuietHours("00:00", "00:00", ())
"""Stored for a session that has none, whatever the default of the settings is."""


def stored_hours(data: object) -> QuietHours:
    """The quiet hours of a stored object. Raises `BadSetting` for one that this version cannot read."""
    return NONE if data == NONE.to_json() else QuietHours.from_json(data)


def read_clock(value: object, name: str) -> str:
    """A time of the day as `HH:MM`. Raises `BadSetting`."""
    if not isinstance(value, str) or not _CLOCK.fullmatch(value):
        raise BadSetting(f"{name} is a time of the day as HH:MM, such as 22:00; got {quoted(value)}")
    return value


def at_time_of_day(clock: str, zone: str, days: tuple[str, ...] = DAYS) -> Cron:
    """The trigger that runs at a time of the day."""
    return Cron(f"{int(clock[3:])} {int(clock[:2])} * * {','.join(days)}", tz=zone)


@lru_cache(256)
def _lines(hours: QuietHours, zone: str) -> tuple[Cron, Cron]:
    return at_time_of_day(hours.start, zone, hours.days), at_time_of_day(hours.end, zone)


def _minutes(clock: str) -> int:
    return int(clock[:2]) * 60 + int(clock[3:])


def _read_days(given: object) -> tuple[str, ...]:
    if isinstance(given, str) and given in _NAMED:
        return _NAMED[given]
    if isinstance(given, list | tuple) and given and all(day in DAYS for day in given):
        return tuple(day for day in DAYS if day in given)
    raise BadSetting(
        f'quiet.days is "all", "weekdays" or a list of {", ".join(DAYS)}: the days on which the quiet hours '
        f"begin; got {quoted(given)}"
    )
