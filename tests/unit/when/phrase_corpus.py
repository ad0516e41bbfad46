"""The corpus of phrases and sentences in `phrases/`, and how an answer of the reader is judged.

    @ NOW ZONE              a wall-clock time: what the lines below are read against
    one | another => WHAT   wordings with one meaning
        18 09:00, 12-03 09:00, 2027-03-03 09:00    a moment: a day of this month, of this year, or a date
        +90m                                       so many minutes from now
        every 300                                  an interval in seconds
        cron LINE [ZONE]                           the moments of a cron line
        next 20 09:00, 12-04 09:00                 a repetition whose first moments are these
        ?                                          asked back, with the readings
        past                                       refused, because it is past
        !                                          refused in some way
        -                                          there is no time in the sentence

A third of the phrases, chosen by a hash of the text, is set aside: it is measured, but its failures are not
shown, so that the reader cannot be fitted to them.
"""

import hashlib
import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from pathlib import Path
from typing import NamedTuple
from zoneinfo import ZoneInfo

from segue.errors import BadTime
from segue.times.reader import Interval, Moment, When, read_schedule
from segue.times.reader.finder import FinderVerdict, FoundTime, find
from segue.times.reader.refusal import Refusal
from segue.times.reader.triggers import trigger_of
from segue.times.trigger import Cron, Trigger, resolve

FOLDER = Path(__file__).with_name("phrases")
LANGUAGES = ("english", "german", "french", "spanish", "russian", "chinese")
_MOMENT = re.compile(r"(?:(?:(\d{4})-)?(\d\d)-)?(\d\d) (\d\d:\d\d)")
_COMPARED = 6
"""How many moments of a cron line are compared."""


class Outcome(StrEnum):
    RIGHT = "right"
    ASKED = "asked"
    """Refused or asked back, as it should be."""
    REFUSED = "refused"
    WRONG = "wrong"


class Phrase(NamedTuple):
    language: str
    now: datetime
    zone: str
    text: str
    expected: str

    @property
    def set_aside(self) -> bool:
        return hashlib.sha256(self.text.encode()).digest()[0] % 3 == 0


def phrases(language: str) -> Iterator[Phrase]:
    yield from _lines(FOLDER / f"{language}.txt", language)


def sentences(*, later: bool = False) -> Iterator[Phrase]:
    """The sentences; or those that were written later, and measured once."""
    yield from _lines(FOLDER / ("sentences_later.txt" if later else "sentences.txt"), "")


def requests(*, later: bool = False) -> Iterator[Phrase]:
    """What people write to an assistant; or those that were written later, and measured once."""
    yield from _lines(FOLDER / ("requests_later.txt" if later else "requests.txt"), "")


def chat(*, later: bool = False) -> Iterator[Phrase]:
    """What people write in a chat, often without a wish; or what was written later, and measured once."""
    yield from _lines(FOLDER / ("chat_later.txt" if later else "chat.txt"), "")


def daily(*, later: bool = False) -> Iterator[Phrase]:
    """What people write from daily life, with other numbers beside the time; or those written later."""
    yield from _lines(FOLDER / ("daily_later.txt" if later else "daily.txt"), "")


def _lines(file: Path, language: str) -> Iterator[Phrase]:
    now, zone = datetime.min.replace(tzinfo=UTC), ""
    for line in file.read_text("utf-8").splitlines():
        if line.startswith("@ "):
            _, wall, zone = line.split()
            now = datetime.fromisoformat(wall).replace(tzinfo=ZoneInfo(zone))
        elif line.startswith("# "):
            language = line[2:].lower() if file.stem not in LANGUAGES else language
        elif " => " in line:
            texts, expected = line.split(" => ")
            yield from (Phrase(language, now, zone, text, expected) for text in texts.split(" | "))


def judge_phrase(phrase: Phrase) -> tuple[Outcome, str]:
    """The outcome of reading the whole text, and the answer."""
    try:
        when = read_schedule(phrase.text, now=phrase.now, zone=phrase.zone)
    except BadTime as error:
        return _refused(phrase.expected, error), f"refused: {error}"
    return _judged(phrase, when), str(when)


def _refused(expected: str, error: BadTime) -> Outcome:
    refusal = error if isinstance(error, Refusal) else None
    match expected:
        case "!" | "-":
            right = True
        case "?":
            right = refusal is not None and bool(refusal.readings)
        case "past":
            right = refusal is not None and refusal.passed is not None
        case _:
            right = False
    return Outcome.ASKED if right else Outcome.REFUSED


def judge_sentence(phrase: Phrase) -> tuple[Outcome, str]:
    """The outcome of finding the time in a sentence, and the answer."""
    found = find(phrase.text, now=phrase.now, zone=phrase.zone)
    if found.when is not None and not found.passed:
        return _judged(phrase, found.when), str(found.when)
    return (Outcome.ASKED if _is_silence(phrase.expected, found) else Outcome.REFUSED), str(found)


def _is_silence(expected: str, found: FoundTime) -> bool:
    match expected:
        case "!":
            return True
        case "-":
            return found.verdict is FinderVerdict.NOT_READ and not found.unread
        case "?":
            return found.verdict is FinderVerdict.AMBIGUOUS
        case "past":
            return found.passed
        case _:
            return False


def _judged(phrase: Phrase, when: When) -> Outcome:
    return Outcome.RIGHT if _agrees(phrase, when) else Outcome.WRONG


def _agrees(phrase: Phrase, when: When) -> bool:
    kind, _, rest = phrase.expected.partition(" ")
    match kind:
        case "every":
            return when == Interval(int(rest))
        case "cron":
            fields = rest.split()
            line = Cron(" ".join(fields[:5]), tz=fields[5] if len(fields) > 5 else phrase.zone)
            return not isinstance(when, Moment | Interval) and _next(phrase, when) == _first(line, phrase.now)
        case "next":
            moments = [_moment(text, phrase.now) for text in rest.split(", ")]
            return not isinstance(when, Moment) and _next(phrase, when)[: len(moments)] == moments
    if not isinstance(when, Moment):
        return False
    if kind.startswith("+"):
        return when.at - phrase.now == timedelta(minutes=float(kind.strip("+m")))
    return bool(_MOMENT.fullmatch(phrase.expected)) and when.at == _moment(phrase.expected, phrase.now)


def _next(phrase: Phrase, when: When) -> list[datetime]:
    return _first(resolve(trigger_of(when), now=phrase.now, zone=phrase.zone), phrase.now)


def _first(trigger: Trigger, after: datetime) -> list[datetime]:
    slots: list[datetime] = []
    while len(slots) < _COMPARED and (slot := trigger.next_after(slots[-1] if slots else after)) is not None:
        slots.append(slot)
    return slots


def _moment(text: str, now: datetime) -> datetime:
    match = _MOMENT.fullmatch(text)
    assert match is not None, text
    year, month, day, clock = match[1] or now.year, match[2] or f"{now:%m}", match[3], match[4]
    return datetime.fromisoformat(f"{year}-{month}-{day}T{clock}").replace(tzinfo=now.tzinfo)
