"""Times for a person at a terminal, in their zone: `today 09:00`, `Wed 18 Nov 09:00`, `2 Jan 2030 09:00`."""

from datetime import timedelta
from zoneinfo import ZoneInfo

from segue.times.clock import to_moment
from segue.times.format import spoken

_DAYS = {-1: "yesterday", 0: "today", 1: "tomorrow"}
_WEEKDAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")


def human_time(ms: int | None, zone: str, now: int) -> str:
    """For a table: near days by name. Empty without a moment."""
    if ms is None:
        return ""
    moment, today = (to_moment(each).astimezone(ZoneInfo(zone)) for each in (ms, now))
    clock = f"{moment:%H:%M}"
    if day := _DAYS.get((moment.date() - today.date()).days):
        return f"{day} {clock}"
    date = f"{moment.day} {_MONTHS[moment.month - 1]}"
    if moment.year == today.year:
        return f"{_WEEKDAYS[moment.weekday()]} {date} {clock}"
    return f"{date} {moment.year} {clock}"


def exact_time(ms: int | None, zone: str) -> str:
    """For one thing: to the second, with the zone."""
    return "" if ms is None else f"{to_moment(ms).astimezone(ZoneInfo(zone)):%Y-%m-%d %H:%M:%S} {zone}"


def human_interval(seconds: float | None) -> str:
    return "" if seconds is None else spoken(timedelta(seconds=seconds))
