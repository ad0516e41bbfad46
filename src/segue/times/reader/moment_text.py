"""Writes moments: exactly, so that the parser reads them back, and for a user to check."""

from datetime import datetime, timedelta, timezone
from zoneinfo import ZoneInfo

from segue.times.reader.dates import MONTHS, WEEKDAYS
from segue.times.reader.zones import find_zone


def describe(moment: datetime, zone: str | ZoneInfo) -> str:
    """Returns the moment in the zone as ISO 8601, which `read` reads back: `2026-11-16T09:00:00+01:00`."""
    if moment.tzinfo is None:
        raise ValueError("a moment must be aware: without its zone it is none")
    return moment.astimezone(find_zone(zone)).isoformat()


def explain(moment: datetime, now: datetime) -> str:
    """Returns what was understood, for a user: `Tue 17 Nov 2026, 09:00 +01:00 Europe/Berlin (in 13 h)`.

    `read` reads it back up to the parenthesis."""
    return f"{spoken(moment)} ({_distance(moment - now)})"


def spoken(moment: datetime) -> str:
    weekday, month = WEEKDAYS[moment.weekday()][:3], MONTHS[moment.month - 1][:3]
    clock = moment.strftime("%H:%M:%S" if moment.second else "%H:%M")
    return f"{weekday} {moment.day} {month} {moment.year}, {clock} {_zone_of(moment)}"


def _zone_of(moment: datetime) -> str:
    """`+01:00 Europe/Berlin`, with the offset because clocks may show a time twice; `UTC`, `UTC-05:30`."""
    offset = timezone(moment.utcoffset() or timedelta(0)).tzname(None)
    if isinstance(moment.tzinfo, ZoneInfo) and moment.tzinfo.key not in (None, "UTC"):
        return f"{offset.removeprefix('UTC') or '+00:00'} {moment.tzinfo.key}"
    return offset


def _distance(gap: timedelta) -> str:
    """The distance in its two largest units: `in 2 h 15 min`, `3 d ago`."""
    days, seconds = divmod(round(abs(gap).total_seconds()), 86_400)
    hours, seconds = divmod(seconds, 3_600)
    minutes, seconds = divmod(seconds, 60)
    units = [(days, "d"), (hours, "h"), (minutes, "min"), (seconds, "s")]
    while units and not units[0][0]:
        del units[0]
    length = " ".join(f"{count} {unit}" for count, unit in units[:2] if count)
    if not length:
        return "now"
    return f"in {length}" if gap > timedelta(0) else f"{length} ago"
