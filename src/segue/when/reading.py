"""The three readers. All of them read the whole text or refuse it, and say why."""

import re
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

from segue.when.echo import spoken
from segue.when.english import ENGLISH
from segue.when.grammar import readings
from segue.when.lexer import plain
from segue.when.moments import Single, within_years
from segue.when.parts import Span
from segue.when.refusal import quoted, refuse
from segue.when.repeats import CronLine, Moment, Repeat, When, cron_zone
from segue.when.zones import Zone, find_zone

LANGUAGES = (ENGLISH,)

_CRON_LINE = re.compile(
    r"((?:[0-9*/,?-]+ ){3}(?:[0-9*/,?#-]|[A-Za-z]{3})+ (?:[0-9*/,?#-]|[A-Za-z]{3})+)(?: (\S+))?"
)


def read(text: str, *, now: datetime, zone: str | ZoneInfo | None = None) -> datetime:
    """The moment that the text means, in the zone of the text, else of the caller.

    Raises `BadTime` for what cannot be read whole, for what could mean two moments, for a time on the clock
    when no zone is known, and for a moment that is not in the future.
    """
    when = _read(text, now, zone, example="tomorrow at 09:00")
    if isinstance(when, Moment):
        return when.at
    raise refuse(f"{quoted(plain(text))} repeats, and one moment is wanted", "tomorrow at 09:00")


def read_schedule(text: str, *, now: datetime, zone: str | ZoneInfo | None = None) -> When:
    """Once, as `read` reads it, or again and again: `every 2h`, `every weekday at 9`, `0 9 * * 1-5`."""
    return _read(text, now, zone, example="every weekday at 9")


def read_duration(text: str) -> timedelta:
    """A length of time: `30m`, `2h 15m`, `half an hour`. Months and years have none that is fixed."""
    text = plain(text)
    lengths = {_length(span) for span in readings(text, ("span",), LANGUAGES, example="2h 15m")}
    if len(lengths) > 1:
        raise refuse(f"{quoted(text)} can be {' or '.join(map(str, sorted(lengths)))}", "2h 15m")
    return lengths.pop()


def _length(span: object) -> timedelta:
    assert isinstance(span, Span)
    if span.months:
        raise refuse("a month or a year has no fixed length", "30 days", "52 weeks")
    return span.length()


def _read(text: str, now: datetime, zone: str | ZoneInfo | None, example: str) -> When:
    if now.tzinfo is None:
        raise ValueError("now must be aware: without its zone it is no moment")
    within_years(now)
    text, known = plain(text), None if zone is None else find_zone(zone)
    if line := _CRON_LINE.fullmatch(text):
        return CronLine(line[1], cron_zone(find_zone(line[2]) if line[2] else known))
    phrases = readings(text, ("moment", "repeat"), LANGUAGES, example)
    meanings = {_meaning(phrase, text, now, known) for phrase in phrases}
    if len(meanings) > 1:
        raise refuse(f"{quoted(text)} can be {' or '.join(sorted(map(_said, meanings)))}", example)
    return meanings.pop()


def _said(when: When) -> str:
    return spoken(when.at) if isinstance(when, Moment) else str(when)


def _meaning(phrase: object, text: str, now: datetime, zone: Zone | None) -> When:
    if isinstance(phrase, Repeat):
        return phrase.when(zone)
    assert isinstance(phrase, Single)
    moment = phrase.moment(now, zone)
    within_years(moment)
    if moment.astimezone(UTC) <= now.astimezone(UTC):
        raise refuse(f"{quoted(text)} is {spoken(moment)}, which is past", f"tomorrow at {moment:%H:%M}")
    return Moment(moment)
