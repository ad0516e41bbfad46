"""Day sets: which days of a country or a company are working days, and until when that is known.

A set is data, not code: Monday to Friday work, except the days that are `off`, and of the weekend those that
are `on` (China's make-up days). After `known_until` only the weekday counts, and callers say so. The shipped
sets are text files; a private one is made from an `.ics` file with all-day events.
"""

import re
from datetime import date, timedelta
from functools import cache
from pathlib import Path

from segue.errors import BadTrigger, UnknownDays
from segue.record import record
from segue.times.format import quoted

_FOLDER = Path(__file__).with_name("data")
_SATURDAY = 5
_LARGEST_FILE = 1_000_000
_MOST_DAYS = 5_000
_DAY = timedelta(days=1)
_NAME = re.compile(r"[A-Za-z0-9_-]{1,50}")
_FOLDED = re.compile(r"\r?\n[ \t]")
_EVENT = re.compile(r"BEGIN:VEVENT\r?\n(.*?)END:VEVENT", re.DOTALL)
_STARTS = re.compile(r"^DTSTART([^:\r\n]*):([^\r\n]+)", re.MULTILINE)
_ENDS = re.compile(r"^DTEND[^:\r\n]*:([0-9]{8})\r?$", re.MULTILINE)
_SUMMARY = re.compile(r"^SUMMARY[^:\r\n]*:([^\r\n]*)", re.MULTILINE)
_DATE = re.compile(r"[0-9]{8}")


@record
class DaySet:
    name: str
    known_until: date
    source: str
    off: dict[date, str]
    """Days from Monday to Friday on which no one works, and what they are called."""
    on: frozenset[date] = frozenset()
    """Days of the weekend on which people work."""

    def works(self, day: date) -> bool:
        return day in self.on or (day.weekday() < _SATURDAY and day not in self.off)

    def note(self, day: date) -> str | None:
        """What to say about a day: that it is a holiday, or that the calendar does not reach so far."""
        if day > self.known_until:
            return f"the calendar {self.name} ends on {_long(self.known_until)}"
        if day in self.off:
            return f"{_long(day)} is a holiday in {self.name}: {self.off[day]}"
        return None

    def shifted(self, day: date, step: int) -> date:
        """The next working day from this one on, or for -1 the previous."""
        while not self.works(day):
            day += step * _DAY
        return day


@cache
def shipped_names() -> tuple[str, ...]:
    """The names of the sets that come with Segue."""
    return tuple(sorted(file.stem for file in _FOLDER.glob("*.txt")))


@cache
def day_set(name: str) -> DaySet:
    """Returns a shipped set. Raises UnknownDays with the nearest name."""
    if name not in shipped_names():
        from difflib import get_close_matches  # most processes never need it

        near = get_close_matches(str(name).upper(), shipped_names(), n=1, cutoff=0.4)
        advice = f"did you mean {near[0]}?" if near else f"known are {', '.join(shipped_names())}"
        raise UnknownDays(f"there is no day set {quoted(name)}; {advice}")
    return read_day_set((_FOLDER / f"{name}.txt").read_text("utf-8"))


def read_day_set(text: str) -> DaySet:
    """Parses the text of a shipped set."""
    fields: dict[str, str] = {}
    off: dict[date, str] = {}
    on: set[date] = set()
    for line in (line for line in text.splitlines() if not line.startswith("--")):
        key, _, rest = line.partition(" ")
        if key[:1].isdigit():
            kind, _, reason = rest.partition(" ")
            if kind == "on":
                on.add(date.fromisoformat(key))
            else:
                off[date.fromisoformat(key)] = reason
        else:
            fields[key] = rest
    until = date.fromisoformat(fields["known_until"])
    return DaySet(name=fields["name"], known_until=until, source=fields["source"], off=off, on=frozenset(on))


def from_ics(name: str, text: str) -> DaySet:
    """Makes a set whose days off are the all-day events of a calendar file. Raises BadTrigger.

    It is known until the end of the year of the last event."""
    if not _NAME.fullmatch(name):
        raise BadTrigger(f"a day set has a name of letters, digits, - and _, got {quoted(name)}")
    if len(text) > _LARGEST_FILE:
        raise BadTrigger(f"a calendar file may have {_LARGEST_FILE:,} characters, got {len(text):,}")
    off: dict[date, str] = {}
    for event in _EVENT.findall(_FOLDED.sub("", text)):
        for day in _days_of(event):
            off[day] = _summary(event)
    if not off:
        raise BadTrigger("the calendar file has no all-day event; export it from a calendar program as .ics")
    if len(off) > _MOST_DAYS:
        raise BadTrigger(f"a day set has at most {_MOST_DAYS:,} days off, got {len(off):,}")
    return DaySet(name=name, known_until=date(max(off).year, 12, 31), source="ics", off=off)


def _days_of(event: str) -> list[date]:
    starts = _STARTS.search(event)
    if starts is None or not _DATE.fullmatch(starts[2].strip()):
        raise BadTrigger(
            f"the event {quoted(_summary(event))} has a time of day, and a day set takes all-day events only"
        )
    first = _date(starts[2].strip())
    ends = _ENDS.search(event)
    last = _date(ends[1]) - _DAY if ends else first
    if not first <= last <= first + _MOST_DAYS * _DAY:
        raise BadTrigger(f"the event {quoted(_summary(event))} does not end after it begins")
    return [first + step * _DAY for step in range((last - first).days + 1)]


def _date(digits: str) -> date:
    try:
        return date(int(digits[:4]), int(digits[4:6]), int(digits[6:]))
    except ValueError:
        raise BadTrigger(f"there is no day {quoted(digits)} in a calendar") from None


def _summary(event: str) -> str:
    found = _SUMMARY.search(event)
    return found[1].strip() if found else "without a title"


def _long(day: date) -> str:
    return f"{day.day} {day:%b %Y}"
