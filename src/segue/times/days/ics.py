"""iCalendar files: reads the all-day events of an `.ics` file as the days off of a day set (RFC 5545).

What it cannot read exactly it refuses, with the title of the event: a time of day, a repetition, a length
that is not in days. The file comes from outside, so its size, its days and its years are limited, and it is
read in one pass.
"""

import re
from datetime import date, timedelta

from segue.errors import BadCalendar, BadDays, NeverWorks
from segue.times.days.day_sets import FROM_FILE, DaySet, check_new_name
from segue.times.format import quoted
from segue.times.icalendar.content_lines import VEvent, events_in, is_cancelled, title_of, value_of

_MOST_DAYS = 5_000
_YEARS = range(1970, 2201)
_DAY = timedelta(days=1)
_YEAR = 366
_DATE = re.compile(r"[0-9]{8}")
_DAYS_LONG = re.compile(r"P([0-9]{1,4})([DW])")
_REPEATED = ("RRULE", "RDATE", "EXDATE")


def from_ics(name: str, text: str, *, today: date) -> DaySet:
    """Makes a set whose days off are the all-day events of a calendar file. Raises BadDays.

    It is known until the end of the year of the last event. Raises NeverWorks if it has no working day in
    the 366 days from today on.
    """
    check_new_name(name)
    try:
        off = _days_off(text)
    except BadCalendar as error:
        raise BadDays(str(error)) from None
    if not off:
        raise BadDays("the calendar file has no all-day event; export it from a calendar program as .ics")
    made = DaySet(name=name, known_until=date(max(off).year, 12, 31), source=FROM_FILE, off=off)
    if not any(made.works(today + step * _DAY) for step in range(_YEAR)):
        raise NeverWorks(
            f"the day set {name} has no working day in the next {_YEAR}; its events are days off"
        )
    return made


def _days_off(text: str) -> dict[date, str]:
    off: dict[date, str] = {}
    count = 0
    for event in events_in(text):
        if is_cancelled(event):
            continue
        days = _days_of(event)
        count += len(days)
        if count > _MOST_DAYS:
            raise BadDays(f"the events of a day set have at most {_MOST_DAYS:,} days; leave out old years")
        off.update(dict.fromkeys(days, title_of(event)))
    return off


def _days_of(event: VEvent) -> list[date]:
    for name in _REPEATED:
        if name in event:
            raise _refused(event, f"repeats ({name}), and a day set takes each day as an event of its own")
    first = _date(event, "DTSTART")
    if "DURATION" in event:
        length = _DAYS_LONG.fullmatch(value_of(event, "DURATION"))
        if length is None:
            raise _refused(event, "has a length that is not in days")
        count = int(length[1]) * (7 if length[2] == "W" else 1)
    else:
        count = (_date(event, "DTEND") - first).days if "DTEND" in event else 1
    if not 0 < count <= _MOST_DAYS:
        raise _refused(event, f"lasts {count:,} days, and 1 to {_MOST_DAYS:,} are possible")
    return [first + step * _DAY for step in range(count)]


def _date(event: VEvent, name: str) -> date:
    digits = value_of(event, name)
    if not digits:
        raise _refused(event, f"has no {name}")
    if not _DATE.fullmatch(digits):
        raise _refused(event, "has a time of day, and a day set takes all-day events only")
    try:
        day = date(int(digits[:4]), int(digits[4:6]), int(digits[6:]))
    except ValueError:
        raise _refused(event, f"names {digits}, and there is no such day") from None
    if day.year not in _YEARS:
        raise _refused(event, f"lies in {day.year}, not between {_YEARS[0]} and {_YEARS[-1]}")
    return day


def _refused(event: VEvent, why: str) -> BadDays:
    return BadDays(f"the event {quoted(title_of(event))} {why}")
