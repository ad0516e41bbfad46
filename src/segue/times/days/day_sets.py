"""Day sets: which days of a country or a company are working days, and until when that is known.

A set is data, not code: Monday to Friday work, except the days that are `off`, and of the weekend those that
are `on` (China's make-up days). After `known_until` only the weekday counts, and callers say so. The shipped
sets are text files; an account's own sets are made from calendar files (`ics`) and stored as text.
"""

import json
import re
from collections.abc import Iterator
from dataclasses import field
from datetime import date, timedelta
from functools import cache, lru_cache
from hashlib import sha256
from pathlib import Path

from segue.errors import BadDays, BadTrigger, UnknownDays
from segue.record import record
from segue.times.format import quoted

_FOLDER = Path(__file__).with_name("data")
_SATURDAY = 5
_WEEKEND = 2
_DAY = timedelta(days=1)
_NAME = re.compile(r"[A-Za-z0-9_-]{1,50}")
_MOST_TEXTS = 256
WARNING = timedelta(days=30)
"""How long before its end users are told that a calendar ends."""
FROM_FILE = "ics"
"""The source of a set that was made from a calendar file."""


@record
class DaySet:
    name: str
    known_until: date
    source: str
    off: dict[date, str]
    """Days on which no one works, and what they are called. Weekends need no entry."""
    on: frozenset[date] = frozenset()
    """Days of the weekend on which people work."""
    longest_break: int = field(init=False)
    """How many days without work follow one another at most."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "longest_break", max((_WEEKEND, *self._breaks())))

    def works(self, day: date) -> bool:
        return day in self.on or (day.weekday() < _SATURDAY and day not in self.off)

    def note(self, day: date) -> str | None:
        """What to say about a day: that it is a holiday, or that the calendar does not reach so far."""
        if day > self.known_until:
            return f"the calendar {self.name} ends on {_long(self.known_until)}"
        if day in self.off:
            return f"{_long(day)} is a holiday in {self.name}: {self.off[day]}"
        return None

    def notice(self, today: date) -> str | None:
        """What users are told of its end: in the last 30 days, and after it."""
        if today <= self.known_until - WARNING:
            return None
        ends = "ended" if today > self.known_until else "ends"
        renewal = "import a newer file" if self.source == FROM_FILE else "a newer version of Segue has more"
        return (
            f"The calendar {self.name} {ends} on {_long(self.known_until)}. After that day Monday to Friday "
            f"count as working days, also where they are holidays: {renewal}."
        )

    def shifted(self, day: date, step: int) -> date:
        """The next working day from this one on, or for -1 the previous."""
        while not self.works(day):
            day += step * _DAY
        return day

    @property
    def text(self) -> str:
        """The set as it is stored: days that follow one another and have one name are one entry."""
        shape = {"name": self.name, "known_until": self.known_until.isoformat(), "source": self.source}
        return json.dumps({**shape, "off": list(self._stretches())}, ensure_ascii=False)

    @property
    def version(self) -> str:
        """Another one for other days."""
        return sha256(self.text.encode()).hexdigest()[:16]

    def _stretches(self) -> Iterator[tuple[str, int, str]]:
        """The first day, how many days, and their name."""
        days = sorted(self.off)
        first = 0
        for number, day in enumerate(days, 1):
            following = days[number] if number < len(days) else None
            if following != day + _DAY or self.off[following] != self.off[day]:
                yield days[first].isoformat(), number - first, self.off[day]
                first = number

    def _breaks(self) -> Iterator[int]:
        end = date.min
        for day in sorted(self.off):
            if day > end and not self.works(day):
                start, end = self.shifted(day, -1), self.shifted(day, 1)
                yield (end - start).days - 1


@cache
def shipped_names() -> tuple[str, ...]:
    """The names of the sets that come with Segue."""
    return tuple(sorted(file.stem for file in _FOLDER.glob("*.txt")))


@cache
def day_set(name: str) -> DaySet:
    """Returns a shipped set. Raises UnknownDays with the nearest name."""
    if name not in shipped_names():
        raise unknown_days(name, shipped_names())
    return read_day_set((_FOLDER / f"{name}.txt").read_text("utf-8"))


def unknown_days(name: str, known: tuple[str, ...]) -> UnknownDays:
    """The refusal of a name that is not among the known ones."""
    from difflib import get_close_matches  # most processes never need it

    by_lower = {each.lower(): each for each in known}
    near = get_close_matches(name.lower(), by_lower, n=1, cutoff=0.4)
    guess = f"did you mean {by_lower[near[0]]}? " if near else ""
    return UnknownDays(f"there is no day set {quoted(name)}; {guess}known are {', '.join(known)}")


def check_named(name: object) -> None:
    """Raises BadTrigger for a value that cannot be the name of a set."""
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise BadTrigger(f"days is the name of a day set, for example 'CN', got {quoted(name)}")


def check_new_name(name: str) -> None:
    """Raises BadDays for a name that a new set cannot have."""
    if not _NAME.fullmatch(name):
        raise BadDays(f"a day set has a name of 1 to 50 letters, digits, - and _, got {quoted(name)}")
    if name.upper() in shipped_names():
        raise BadDays(f"the day set {name.upper()} comes with Segue; choose another name")


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


@lru_cache(_MOST_TEXTS)  # all jobs that use a set share it
def stored_day_set(text: str) -> DaySet:
    """Parses `DaySet.text`."""
    shape = json.loads(text)
    off = {
        date.fromisoformat(first) + step * _DAY: reason
        for first, count, reason in shape["off"]
        for step in range(count)
    }
    until = date.fromisoformat(shape["known_until"])
    return DaySet(name=shape["name"], known_until=until, source=shape["source"], off=off)


def _long(day: date) -> str:
    return f"{day.day} {day:%b %Y}"
