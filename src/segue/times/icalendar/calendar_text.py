"""Calendar text: writes coming events as an `.ics` file (RFC 5545).

Texts come from users and models. They are escaped, and no letter of them can begin a line of its own.
"""

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime

from segue.record import record
from segue.times.cron_line import zone_named
from segue.times.icalendar.content_lines import escaped, folded
from segue.times.icalendar.zones import vtimezone

_LONGEST_TITLE = 200
_LONGEST_DESCRIPTION = 2_000
_UTC = "%Y%m%dT%H%M%SZ"
_LOCAL = "%Y%m%dT%H%M%S"
_HEAD = (
    "BEGIN:VCALENDAR",
    "VERSION:2.0",
    "PRODID:-//Segue//Segue//EN",
    "CALSCALE:GREGORIAN",
    "REFRESH-INTERVAL;VALUE=DURATION:PT1H",
    "X-PUBLISHED-TTL:PT1H",
)


@record
class Series:
    """How an event repeats: a rule, in the wall time of a zone, and moments that are left out."""

    rule: str
    tz: str
    excluded: Sequence[datetime] = ()


@record
class ComingEvent:
    """An event without a length: something happens at a moment."""

    uid: str
    start: datetime
    title: str
    description: str
    changed: datetime
    series: Series | None = None


def calendar_text(name: str, events: Sequence[ComingEvent]) -> str:
    """The file. The same events give the same text."""
    return folded(_lines(name, events))


def _lines(name: str, events: Sequence[ComingEvent]) -> Iterator[str]:
    yield from _HEAD
    yield f"X-WR-CALNAME:{escaped(name[:_LONGEST_TITLE])}"
    first_years: dict[str, int] = {}
    for event in events:
        if event.series is not None:
            year = event.start.year - 1
            first_years[event.series.tz] = min(year, first_years.get(event.series.tz, year))
    for tz, year in first_years.items():
        if zone := zone_named(tz):
            yield from vtimezone(zone, year)
    for event in events:
        yield from _event(event)
    yield "END:VCALENDAR"


def _event(event: ComingEvent) -> Iterator[str]:
    yield "BEGIN:VEVENT"
    yield f"UID:{escaped(event.uid)}"
    yield f"DTSTAMP:{event.changed.astimezone(UTC):{_UTC}}"
    if event.series is None:
        yield f"DTSTART:{event.start.astimezone(UTC):{_UTC}}"
    else:
        yield from _series(event.start, event.series)
    yield f"SUMMARY:{escaped(event.title[:_LONGEST_TITLE])}"
    if event.description:
        yield f"DESCRIPTION:{escaped(event.description[:_LONGEST_DESCRIPTION])}"
    yield "TRANSP:TRANSPARENT"
    yield "END:VEVENT"


def _series(start: datetime, series: Series) -> Iterator[str]:
    zone = zone_named(series.tz)
    yield f"DTSTART;TZID={series.tz}:{start.astimezone(zone):{_LOCAL}}"
    yield f"RRULE:{series.rule}"
    for excluded in series.excluded:
        yield f"EXDATE;TZID={series.tz}:{excluded:{_LOCAL}}"
