"""Timed events: reads the events of an `.ics` file as triggers, and says why it leaves one out.

An event fires at its start. Alarms are ignored. A changed occurrence of a series (RECURRENCE-ID) is an event
of its own, and the series leaves that occurrence out.

The file comes from outside: events, rules and dates are counted before they are read, and what cannot be read
exactly is left out with a reason.
"""

import re
from collections import defaultdict
from collections.abc import Collection, Iterator, Sequence
from datetime import UTC, datetime
from itertools import islice

from segue.errors import BadCalendar, BadTrigger, ZoneNeeded
from segue.record import record
from segue.times.cron_line import zone_named
from segue.times.format import quoted
from segue.times.icalendar.content_lines import (
    Property,
    VEvent,
    events_in,
    is_cancelled,
    one_line,
    title_of,
    value_of,
)
from segue.times.trigger import At, RRule

MOST_EVENTS = 1_000
_MOST_RULES = 100
"""Each may take some milliseconds to read."""
_MOST_DATES = 1_000
_LONGEST_UID = 1_000
_TIME = re.compile(r"([0-9]{8}T[0-9]{6})(Z?)")
_DATE = re.compile(r"[0-9]{8}")
_RULE_OF_ONE = "FREQ=DAILY;COUNT=1"


@record
class TimedEvent:
    uid: str
    """Names the event in the file; that of a changed occurrence also names the occurrence."""
    title: str
    place: str
    trigger: At | RRule


@record
class LeftOut:
    title: str
    reason: str


@record
class TimedEvents:
    events: Sequence[TimedEvent]
    left_out: Sequence[LeftOut]


class _Unusable(Exception):
    """Why an event is left out."""


def timed_events(text: str, *, now: datetime, zone: str | None) -> TimedEvents:
    """The events of a calendar file that are still to come; `zone` is for times without one.

    Raises BadCalendar for a file without events or with too many, ZoneNeeded for a time that needs a zone.
    """
    found = list(islice(events_in(text), MOST_EVENTS + 1))
    if not found:
        raise BadCalendar("the calendar file has no event; export it from a calendar program as .ics")
    if len(found) > MOST_EVENTS:
        raise BadCalendar(f"a calendar file may have {MOST_EVENTS:,} events; export fewer of them")
    if sum("RRULE" in event or "RDATE" in event for event in found) > _MOST_RULES:
        raise BadCalendar(f"a calendar file may have {_MOST_RULES} events that repeat; export fewer of them")
    changed = _changed_occurrences(found)
    events: list[TimedEvent] = []
    left_out: list[LeftOut] = []
    for event in found:
        try:
            events.append(_timed_event(event, changed[_uid(event)], now, zone))
        except (_Unusable, BadTrigger) as reason:
            left_out.append(LeftOut(title=title_of(event), reason=str(reason)))
    return TimedEvents(events=events, left_out=left_out)


def _timed_event(event: VEvent, changed: Sequence[Property], now: datetime, zone: str | None) -> TimedEvent:
    if is_cancelled(event):
        raise _Unusable("it is cancelled")
    if "DTSTART" not in event:
        raise _Unusable("it has no start")
    start, tz = _wall(event["DTSTART"][0], zone, event)
    trigger: At | RRule
    if ("RRULE" in event or "RDATE" in event) and "RECURRENCE-ID" not in event:
        trigger = _rule(event, start, tz, changed, zone)
        if trigger.next_after(now) is None:
            raise _Unusable("its last occurrence is over")
    else:
        trigger = At(start, tz)
        if trigger.moment <= now:
            raise _Unusable("it is over")
    occurrence = value_of(event, "RECURRENCE-ID")
    return TimedEvent(
        uid=f"{_uid(event)}/{occurrence}" if occurrence else _uid(event) or f"{start} {tz} {title_of(event)}",
        title=title_of(event),
        place=one_line(value_of(event, "LOCATION")),
        trigger=trigger,
    )


def _rule(event: VEvent, start: datetime, tz: str, changed: Sequence[Property], zone: str | None) -> RRule:
    rules = event.get("RRULE", [])
    if len(rules) > 1 or "EXRULE" in event:
        raise _Unusable("it repeats by several rules")
    excluded = [*_dates(event, "EXDATE"), *changed]
    added = list(_dates(event, "RDATE"))
    if len(excluded) + len(added) > _MOST_DATES:
        raise _Unusable(f"it has more than {_MOST_DATES:,} added and excluded dates")
    rule = _with_wall_end(rules[0].value, tz) if rules else _RULE_OF_ONE
    return RRule(
        rule,
        start,
        tz,
        exdate=[_in_zone(each, start, tz, zone, event) for each in excluded],
        rdate=[_in_zone(each, start, tz, zone, event) for each in added],
    )


def _wall(given: Property, zone: str | None, event: VEvent) -> tuple[datetime, str]:
    """A time as a reading of the clock, and the zone of that clock."""
    if _DATE.fullmatch(given.value):
        raise _Unusable("it lasts all day; a day set takes such events as days off (segue days import)")
    found = _TIME.fullmatch(given.value)
    try:
        wall = datetime.strptime(found[1], "%Y%m%dT%H%M%S") if found else None  # noqa: DTZ007
    except ValueError:
        wall = None
    if found is None or wall is None:
        raise _Unusable(f"its time {quoted(given.value)} cannot be read")
    if found[2]:
        return wall, "UTC"
    if name := given.parameters.get("TZID"):
        return wall, _zone(name)
    if zone is None:
        raise ZoneNeeded(
            f"the event {quoted(title_of(event))} needs a time zone, and none is known; set the timezone of "
            "the session"
        )
    return wall, zone


def _zone(name: str) -> str:
    """The IANA name in a TZID. Some programs write a path before it."""
    parts = name.strip("/").split("/")
    for count in (len(parts), 3, 2):
        shorter = "/".join(parts[-count:])
        if zone_named(shorter) is not None:
            return shorter
    raise _Unusable(f"its time zone {quoted(name)} is not an IANA name such as Europe/Berlin")


def _in_zone(given: Property, start: datetime, tz: str, zone: str | None, event: VEvent) -> datetime:
    """A date of a series on the clock of its zone. A day without a time has that of the start."""
    value = given.value.partition("/")[0]  # a period begins with its start
    if _DATE.fullmatch(value):
        value = f"{value}T{start:%H%M%S}"
        return _wall(Property({"TZID": tz}, value), zone, event)[0]
    wall, own = _wall(Property(given.parameters, value), zone, event)
    if own == tz:
        return wall
    return wall.replace(tzinfo=zone_named(own)).astimezone(zone_named(tz)).replace(tzinfo=None)


def _with_wall_end(rule: str, tz: str) -> str:
    """The rule with an UNTIL on the clock of its zone, which files give in UTC."""
    parts = rule.upper().split(";")
    for place, part in enumerate(parts):
        name, _, value = part.partition("=")
        if name == "UNTIL" and value.endswith("Z") and _TIME.fullmatch(value):
            try:
                end = datetime.strptime(value, "%Y%m%dT%H%M%SZ").replace(tzinfo=UTC)
            except ValueError:
                raise _Unusable(f"the end of its rule {quoted(value)} cannot be read") from None
            parts[place] = f"UNTIL={end.astimezone(zone_named(tz)):%Y%m%dT%H%M%S}"
    return ";".join(parts)


def _dates(event: VEvent, name: str) -> Iterator[Property]:
    for given in event.get(name, ()):
        for value in given.value.split(",")[: _MOST_DATES + 1]:
            yield Property(given.parameters, value.strip())


def _changed_occurrences(events: Collection[VEvent]) -> dict[str, list[Property]]:
    changed: dict[str, list[Property]] = defaultdict(list)
    for event in events:
        if "RECURRENCE-ID" in event:
            changed[_uid(event)].append(event["RECURRENCE-ID"][0])
    return changed


def _uid(event: VEvent) -> str:
    return value_of(event, "UID")[:_LONGEST_UID]
