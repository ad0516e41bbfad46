"""Entry points of the parser: `read`, `read_schedule`, `read_duration` and `read_clock`. They do not guess.

A text is read completely or refused.
Every language is tried. If two read the text differently, or one of the readings has to be refused, the text
is refused: the parser does not guess which one was meant.
"""

import re
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, time, timedelta
from typing import TypeVar
from zoneinfo import ZoneInfo

from segue.times.cron_line import CRON_NAMES
from segue.times.reader.grammar import Reading, readings
from segue.times.reader.languages.chinese import CHINESE
from segue.times.reader.languages.english import ENGLISH
from segue.times.reader.languages.french import FRENCH
from segue.times.reader.languages.german import GERMAN
from segue.times.reader.languages.russian import RUSSIAN
from segue.times.reader.languages.spanish import SPANISH
from segue.times.reader.lexer import plain
from segue.times.reader.moment_text import spoken
from segue.times.reader.moments import OnDay, Single, within_years
from segue.times.reader.parts import Span, Time
from segue.times.reader.refusal import Refusal, quoted, refuse, refuse_to_choose
from segue.times.reader.repeats import Interval, Moment, RepeatedCronLine, RepeatedRule, When, cron_zone
from segue.times.reader.rules import Repeat
from segue.times.reader.zones import Zone, find_zone

LANGUAGES = (ENGLISH, CHINESE, RUSSIAN, GERMAN, SPANISH, FRENCH)
SINGLE_OR_REPEATED = ("moment", "repeat")
_CLOCK_KINDS = ("time", "bare_time", "beside_day", "moment")

Meaning = TypeVar("Meaning")

_A_MOMENT, _A_SCHEDULE, _A_LENGTH = "tomorrow at {time}", "every weekday at 9", "2h 15m"

CRON_LINE = re.compile(
    r"((?:[0-9*/,?-]+ ){2}[0-9*/,?LW-]+ (?:[0-9*/,?-]|[A-Za-z]{3})+ (?:[0-9*/,?#L-]|[A-Za-z]{3})+)(?: (\S+))?"
)
CRON_NAME = re.compile(r"(@[a-z]+)(?: (\S+))?", re.IGNORECASE)


def read(text: str, *, now: datetime, zone: str | ZoneInfo | None = None) -> datetime:
    """Returns the moment that the text means, in the zone of the text, else of the caller.

    Raises `BadTime` for a text that cannot be read completely, that can mean two moments, that is a clock
    time when no zone is known (`ZoneNeeded`), or that is not in the future.
    """
    moment = _read(text, now, zone, _once, _A_MOMENT)
    assert isinstance(moment, Moment)
    return moment.at


def read_schedule(text: str, *, now: datetime, zone: str | ZoneInfo | None = None) -> When:
    """Returns a moment, as `read` does, an interval or a cron line: `every 2h`, `every weekday at 9`.

    Raises `BadTime`.
    """
    return _read(text, now, zone, lambda text, when: when, _A_MOMENT, _A_SCHEDULE)


def read_duration(text: str) -> timedelta:
    """Returns a length of time: `30m`, `2h 15m`, `half an hour`. Raises `BadTime`, also for months."""
    text = plain(text)
    found = readings(text, ("span",), LANGUAGES, _A_LENGTH)
    return _agreed(text, found, _length, said=str, exact=lambda length: f"{length.total_seconds():.0f}s")


def read_clock(text: str) -> time:
    """Returns a time of day: `8`, `8:30`, `at 7 in the morning`; bare hours are 24-hour. Raises `BadTime`."""
    text = plain(text)
    found = [each for each in readings(text, _CLOCK_KINDS, LANGUAGES, "09:00") if _is_clock(each.meaning)]
    if not found:
        raise refuse(f"{quoted(text)} is no time of day", "09:00", "23:59")
    return _agreed(text, found, _time_of_day, said=str, exact=lambda at: f"{at:%H:%M}")


def _is_clock(meaning: object) -> bool:
    """A moment counts if it names no day: `7 in the morning`."""
    if isinstance(meaning, OnDay):
        return meaning.time is not None and meaning.date is None and meaning.zone is None
    return isinstance(meaning, Time)


def _time_of_day(meaning: Time | OnDay) -> time:
    if isinstance(meaning, OnDay):
        assert meaning.time is not None  # see `_is_clock`
        return meaning.time.within(meaning.part)
    return meaning.within(None)


def _length(span: Span) -> timedelta:
    if span.months:
        raise refuse("a month or a year has no fixed length", "30 days", "52 weeks")
    return span.length()


def _read(
    text: str,
    now: datetime,
    zone: str | ZoneInfo | None,
    wanted: Callable[[str, When], When],
    *examples: str,
) -> When:
    if now.tzinfo is None:
        raise ValueError("now must be aware: without its zone it is no moment")
    within_years(now)
    text, known = plain(text), None if zone is None else find_zone(zone)
    line = CRON_LINE.fullmatch(text) or CRON_NAME.fullmatch(text)
    if line and (expr := CRON_NAMES.get(line[1].lower(), line[1])) and not expr.startswith("@"):
        return wanted(text, RepeatedCronLine(expr, cron_zone(find_zone(line[2]) if line[2] else known)))

    def meaning(phrase: Single | Repeat) -> When:
        return wanted(text, _meaning(phrase, text, now, known))

    found = readings(text, SINGLE_OR_REPEATED, LANGUAGES, *examples)
    return _agreed(text, found, meaning, said=_said, exact=_exact)


def _agreed(
    text: str,
    found: Sequence[Reading],
    meaning: Callable[..., Meaning],
    *,
    said: Callable[[Meaning], str],
    exact: Callable[[Meaning], str],
) -> Meaning:
    """The one meaning of all readings. If they differ, the refusal names each and how to write it."""
    meanings: dict[Meaning, None] = {}
    for reading in found:
        try:
            meanings[meaning(reading.meaning)] = None
        except Refusal as refusal:
            raise refusal.worded(reading.language.examples) from None
    if len(meanings) > 1:
        each = [said(meaning) for meaning in meanings]
        reason = f"{quoted(text)} can be {' or '.join(each)}"
        raise refuse_to_choose(reason, each, map(exact, meanings))
    return next(iter(meanings))


def _once(text: str, when: When) -> When:
    if isinstance(when, Moment):
        return when
    raise refuse(f"{quoted(text)} repeats, and one moment is wanted", _A_MOMENT, time="09:00")


def _said(when: When) -> str:
    return spoken(when.at) if isinstance(when, Moment) else _exact(when)


def _exact(when: When) -> str:
    match when:
        case Moment(at):
            return at.isoformat()
        case Interval(seconds):
            return f"every {seconds}s"
        case RepeatedCronLine(expr, zone):
            return f"{expr} {zone}"
        case RepeatedRule(rrule, start, zone):
            return f"{rrule} from {start.isoformat(timespec='minutes')} {zone}"


def _meaning(phrase: Single | Repeat, text: str, now: datetime, zone: Zone | None) -> When:
    if isinstance(phrase, Repeat):
        return phrase.when(zone, now)
    moment = phrase.moment(now, zone)
    within_years(moment)
    if moment.astimezone(UTC) <= now.astimezone(UTC):
        said = f"{quoted(text)} is {spoken(moment)}, which is past"
        refusal = refuse(said, _A_MOMENT, time=f"{moment:%H:%M}")
        refusal.passed = moment
        raise refusal
    return Moment(moment)
