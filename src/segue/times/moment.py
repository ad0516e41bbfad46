"""Limits of moments and durations: whole milliseconds in UTC, from 1970 to the year 8999."""

from datetime import UTC, datetime, timedelta

from segue.errors import BadTrigger
from segue.times.format import quoted

EARLIEST = datetime(1970, 1, 1, tzinfo=UTC)
LATEST = datetime(9000, 1, 1, tzinfo=UTC)
"""The first moment that is too late."""

SHORTEST_SECONDS = 1
LONGEST_SECONDS = 10 * 365 * 86_400


def storable(moment: object, what: str) -> datetime:
    """Returns the moment as the store will return it. Raises BadTrigger if it cannot be stored."""
    if not isinstance(moment, datetime) or moment.tzinfo is None:
        raise BadTrigger(f"{what} needs a datetime with a zone, got {quoted(moment)}")
    try:
        stored = whole(moment.astimezone(UTC))
    except OverflowError:  # in some zones, the calendar's first and last day lie outside of UTC's range
        stored = LATEST
    if not EARLIEST <= stored < LATEST:
        raise BadTrigger(f"{what} must lie between the years 1970 and 8999, got {quoted(moment)}")
    return stored


def bounded(moment: datetime) -> datetime:
    """Returns the moment in UTC, clamped to the range that can be stored."""
    if moment.tzinfo is None:
        raise BadTrigger(f"a moment needs a zone, got {quoted(moment)}")
    return min(max(moment.astimezone(UTC), EARLIEST), LATEST)


def within_limits(moment: datetime) -> datetime | None:
    return moment if moment < LATEST else None


def whole(moment: datetime) -> datetime:
    return moment.replace(microsecond=moment.microsecond // 1000 * 1000)


def duration(value: object, what: str) -> timedelta:
    """Returns a number of seconds as a timedelta. Raises BadTrigger."""
    seconds = value.total_seconds() if isinstance(value, timedelta) else value
    if not isinstance(seconds, int | float) or isinstance(seconds, bool):
        raise BadTrigger(f"{what} needs a number of seconds or a timedelta, got {quoted(value)}")
    # This comparison also refuses zero, negatives, infinities, NaN and what no timedelta can hold.
    if not SHORTEST_SECONDS <= seconds <= LONGEST_SECONDS:
        limits = f"from {SHORTEST_SECONDS} to {LONGEST_SECONDS:,} seconds (10 years)"
        raise BadTrigger(f"{what} takes {limits}, got {quoted(value)}")
    return timedelta(milliseconds=round(seconds * 1000))


def in_seconds(length: timedelta) -> int | float:
    """A number of seconds for JSON, an int if possible."""
    seconds = length.total_seconds()
    return int(seconds) if seconds.is_integer() else seconds
