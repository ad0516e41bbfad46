"""iCalendar files: reads the all-day events of an `.ics` file as the days off of a day set (RFC 5545).

What it cannot read exactly it refuses, with the title of the event: a time of day, a repetition, a length
that is not in days. The file comes from outside, so its size, its days and its years are limited, and it is
read in one pass.
"""

import re
from collections.abc import Iterator
from datetime import date, timedelta

from segue.errors import BadDays, NeverWorks
from segue.times.days.day_sets import FROM_FILE, DaySet, check_new_name
from segue.times.format import quoted

LARGEST_FILE = 1_000_000
_MOST_DAYS = 5_000
_LONGEST_TITLE = 100
_YEARS = range(1970, 2201)
_DAY = timedelta(days=1)
_YEAR = 366
_FOLDED = re.compile(r"\r?\n[ \t]")
_DATE = re.compile(r"[0-9]{8}")
_DAYS_LONG = re.compile(r"P([0-9]{1,4})([DW])")
_ESCAPED = re.compile(r"\\([\\;,nN])")
_REPEATED = ("RRULE", "RDATE", "EXDATE")


def from_ics(name: str, text: str, *, today: date) -> DaySet:
    """Makes a set whose days off are the all-day events of a calendar file. Raises BadDays.

    It is known until the end of the year of the last event. Raises NeverWorks if it has no working day in
    the 366 days from today on.
    """
    check_new_name(name)
    if len(text) > LARGEST_FILE:
        raise BadDays(f"a calendar file may have {LARGEST_FILE:,} characters, got {len(text):,}")
    off: dict[date, str] = {}
    count = 0
    for event in _events(text):
        days = _days_of(event)
        count += len(days)
        if count > _MOST_DAYS:
            raise BadDays(f"the events of a day set have at most {_MOST_DAYS:,} days; leave out old years")
        off.update(dict.fromkeys(days, _title(event)))
    if not off:
        raise BadDays("the calendar file has no all-day event; export it from a calendar program as .ics")
    made = DaySet(name=name, known_until=date(max(off).year, 12, 31), source=FROM_FILE, off=off)
    if not any(made.works(today + step * _DAY) for step in range(_YEAR)):
        raise NeverWorks(
            f"the day set {name} has no working day in the next {_YEAR}; its events are days off"
        )
    return made


def _events(text: str) -> Iterator[dict[str, str]]:
    """The properties of each event that is not cancelled: those of its alarms are left out."""
    event: dict[str, str] | None = None
    inner = 0
    for line in _FOLDED.sub("", text.removeprefix("\ufeff")).split("\n"):
        head, _, value = line.partition(":")
        name = head.partition(";")[0].strip().upper()
        within = value.strip().upper()
        if event is None:
            event = {} if (name, within) == ("BEGIN", "VEVENT") else None
        elif name == "BEGIN":
            inner += 1
        elif name == "END" and inner:
            inner -= 1
        elif name == "END":
            if event.get("STATUS", "").upper() != "CANCELLED":
                yield event
            event = None
        elif not inner:
            event.setdefault(name, value.strip())
    if event is not None:
        raise BadDays(f"the calendar file ends in the middle of the event {quoted(_title(event))}")


def _days_of(event: dict[str, str]) -> list[date]:
    for name in _REPEATED:
        if name in event:
            raise _refused(event, f"repeats ({name}), and a day set takes each day as an event of its own")
    first = _date(event, "DTSTART")
    if "DURATION" in event:
        length = _DAYS_LONG.fullmatch(event["DURATION"])
        if length is None:
            raise _refused(event, "has a length that is not in days")
        count = int(length[1]) * (7 if length[2] == "W" else 1)
    else:
        count = (_date(event, "DTEND") - first).days if "DTEND" in event else 1
    if not 0 < count <= _MOST_DAYS:
        raise _refused(event, f"lasts {count:,} days, and 1 to {_MOST_DAYS:,} are possible")
    return [first + step * _DAY for step in range(count)]


def _date(event: dict[str, str], name: str) -> date:
    digits = event.get(name, "")
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


def _refused(event: dict[str, str], why: str) -> BadDays:
    return BadDays(f"the event {quoted(_title(event))} {why}")


def _title(event: dict[str, str]) -> str:
    """One line without control characters."""
    plain = _ESCAPED.sub(lambda found: " " if found[1] in "nN" else found[1], event.get("SUMMARY", ""))
    words = "".join(letter if letter.isprintable() else " " for letter in plain).split()
    return " ".join(words)[:_LONGEST_TITLE] or "without a title"
