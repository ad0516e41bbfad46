"""Zones: finds them by name or offset, and converts a wall-clock time to a moment.

A wall-clock time that a zone shows twice or never is refused with the possible times.
"""

import re
from datetime import UTC, datetime, timedelta, timezone, tzinfo
from typing import TypeAlias
from zoneinfo import ZoneInfo

from segue.record import positional
from segue.times.cron_line import zone_named
from segue.times.reader.refusal import quoted, refuse, refuse_ambiguous

Zone: TypeAlias = ZoneInfo | timezone
"""A place, or a fixed offset."""

_UTC = ("Z", "z", "UTC", "utc", "GMT", "gmt")
_FURTHEST_HOURS = 14
OFFSET = re.compile(r"([+-])([0-9]{2})(?::?([0-9]{2})(?::?([0-9]{2}))?)?")


@positional
class ZoneInText:
    """The zone in a text: a name, an offset, or both, which then must agree."""

    name: str | None
    offset: str | None

    def place(self, wall: datetime) -> datetime:
        if self.offset is None:
            return placed(wall, self.zone)
        moment = wall.replace(tzinfo=fixed(self.offset))
        if self.name is None:
            return moment
        local = moment.astimezone(named(self.name))
        if local.utcoffset() != moment.utcoffset():
            raise refuse(f"{self.name} is not at {self.offset} then", f"{wall.isoformat()} {self.name}")
        return local

    @property
    def zone(self) -> Zone:
        if self.name is not None:
            return named(self.name)
        return fixed(self.offset or "+00:00")

    @property
    def calendar(self) -> Zone:
        """The zone whose day is meant by `today`, if nothing else says which."""
        return self.zone


def find_zone(zone: str | ZoneInfo) -> Zone:
    """Returns the zone that a caller passed: `Europe/Berlin`, `+02:00` or a `ZoneInfo`. Raises `BadTime`."""
    if isinstance(zone, ZoneInfo):
        return zone
    return fixed(zone) if zone[:1] in ("+", "-") else named(zone)


def named(name: str) -> ZoneInfo:
    zone = zone_named("UTC" if name in _UTC else name)
    if zone is not None:
        return zone
    shown = quoted(name.encode("ascii", "replace").decode())
    raise refuse(f"there is no time zone {shown}", "Europe/Berlin", "UTC", "+02:00")


def fixed(offset: str) -> timezone:
    match = OFFSET.fullmatch(offset)
    if match is None or not is_offset(match):
        shown = quoted(offset.encode("ascii", "replace").decode())
        reason = f"{shown} is not an offset from UTC: hours and minutes, at most {_FURTHEST_HOURS}:00"
        raise refuse(reason, "+02:00", "-05:30")
    ahead = _ahead(match)
    return timezone(ahead if match[1] == "+" else -ahead)


def is_offset(match: re.Match[str]) -> bool:
    """Whether a zone can have this offset: hours and minutes without seconds, at most 14 hours."""
    return match[4] is None and int(match[3] or 0) < 60 and _ahead(match) <= timedelta(hours=_FURTHEST_HOURS)


def _ahead(match: re.Match[str]) -> timedelta:
    return timedelta(hours=int(match[2]), minutes=int(match[3] or 0))


def placed(wall: datetime, zone: tzinfo) -> datetime:
    """The moment at which clocks in the zone show `wall`; refused unless there is exactly one."""
    first, second = wall.replace(tzinfo=zone, fold=0), wall.replace(tzinfo=zone, fold=1)
    if first.utcoffset() == second.utcoffset():
        return first
    if first.astimezone(UTC) < second.astimezone(UTC):
        both = first.isoformat(), second.isoformat()
        raise refuse_ambiguous(
            f"clocks in {zone} show {_shown(wall)} twice, at {' and at '.join(both)}", both, *both
        )
    before, after = _edges_of_gap(second.astimezone(UTC), first.astimezone(UTC), zone)
    raise refuse(
        f"clocks in {zone} never show {_shown(wall)}: they go from {_shown(before)} to {_shown(after)}",
        (before - timedelta(minutes=1)).isoformat(sep=" ", timespec="minutes"),
        after.isoformat(sep=" ", timespec="minutes"),
    )


def _edges_of_gap(early: datetime, late: datetime, zone: tzinfo) -> tuple[datetime, datetime]:
    """The wall times before and after a jump of the clocks, which lies between two UTC moments."""
    offset = early.astimezone(zone).utcoffset() or timedelta(0)
    while late - early > timedelta(seconds=1):
        middle = early + (late - early) // 2
        if middle.astimezone(zone).utcoffset() == offset:
            early = middle
        else:
            late = middle
    jump = late.replace(microsecond=0)
    return (jump + offset).replace(tzinfo=None), jump.astimezone(zone).replace(tzinfo=None)


def _shown(wall: datetime) -> str:
    return wall.isoformat(sep=" ", timespec="auto" if wall.second or wall.microsecond else "minutes")
