"""Controls: reads an order to a job from the whole text of a reply: `stop`, `snooze 1h`, `make it 8`.

A text is a control only if all of it is one. Anything else is left to the agent, so no words are lost. A bare
time is no control: a report may have asked a question, and `at 8` may be its answer.
"""

import re
from datetime import time, timedelta
from functools import cache

from segue.errors import BadTime
from segue.model.replies.word_tables import LANGUAGES, Action, ReplyWords, folded
from segue.record import record

LONGEST = 40
"""Characters of a control."""
SNOOZE = timedelta(hours=1)
"""How long `snooze` alone waits."""
SHORTEST_SNOOZE, LONGEST_SNOOZE = timedelta(minutes=1), timedelta(days=30)

_ENDS = " .!…。！¡,，"
_QUESTION = "?？¿"
_NUMBER = re.compile(r"\d+")


@record
class Control:
    """An order to a job. `action` decides which of the other fields matter."""

    action: Action
    wait: timedelta | None = SNOOZE
    """Of a snooze; None: a length out of range was asked for."""
    at: time | None = None
    """The new time of day."""
    instead_of: time | None = None
    """The time of day that `at` replaces, of a job with several."""
    schedule: str | None = None
    """The words of a new schedule."""


def read_control(text: str) -> Control | None:
    """Returns the control that a text is, or None."""
    words = " ".join(text.split()).lower().replace("’", "'")
    if not words or len(words) > LONGEST:
        return None
    asks = any(mark in words for mark in _QUESTION)
    words = words.strip(_ENDS + _QUESTION)
    action = _phrases().get(folded(words)) or _phrases().get(folded(_without_politeness(words)))
    if action is not None:
        return None if asks and action is not Action.WHY else Control(action=action)
    if asks:
        return None
    words = _without_politeness(words)
    return _snooze(words) or _new_time(words) or _new_schedule(words)


@cache
def _phrases() -> dict[str, Action]:
    return {
        folded(phrase): action
        for language in LANGUAGES
        for action, phrases in language.phrases.items()
        for phrase in phrases.split("|")
    }


def _without_politeness(words: str) -> str:
    for polite in (word for language in LANGUAGES for word in language.polite):
        for shorter in (words.removeprefix(polite), words.removesuffix(polite)):
            if shorter != words:
                return shorter.strip(_ENDS)
    return words


def _gaps(words: str, which: str) -> list[re.Match[str]]:
    """The templates of a kind that the words fit. The gaps are found in the folded words of equal length."""
    plain = folded(words)
    return [match for template in _templates(which) if (match := template.fullmatch(plain))]


@cache
def _templates(which: str) -> tuple[re.Pattern[str], ...]:
    return tuple(
        re.compile(re.sub(r"\\\{(\w+)\\\}", r"(?P<\1>.+)", re.escape(folded(template))))
        for language in LANGUAGES
        for template in getattr(language, which)
    )


def _gap(match: re.Match[str], words: str, name: str) -> str:
    start, end = match.span(name)
    return words[start:end].strip()


def _snooze(words: str) -> Control | None:
    from segue.times.reader.grammar import readings  # the grammar is large, and seldom needed
    from segue.times.reader.readers import LANGUAGES as TIME_LANGUAGES
    from segue.times.reader.readers import read_duration

    for match in _gaps(words, "snooze"):
        length = _gap(match, words, "span")
        if _NUMBER.fullmatch(length):
            return Control(action=Action.SNOOZE, wait=None)
        try:
            readings(length, ("span",), TIME_LANGUAGES, "2h")
        except BadTime:
            continue  # no length of time: the words mean something else
        try:
            wait = read_duration(length)
        except BadTime:
            return Control(action=Action.SNOOZE, wait=None)
        in_range = SHORTEST_SNOOZE <= wait <= LONGEST_SNOOZE
        return Control(action=Action.SNOOZE, wait=wait if in_range else None)
    return None


def _new_time(words: str) -> Control | None:
    for match in _gaps(words, "instead"):
        at, instead_of = _clock(_gap(match, words, "at")), _clock(_gap(match, words, "old"))
        if at is not None and instead_of is not None:
            return Control(action=Action.MAKE, at=at, instead_of=instead_of)
    for match in _gaps(words, "make"):
        at = _clock(_gap(match, words, "time"))
        if at is not None:
            return Control(action=Action.MAKE, at=at)
    return None


def _clock(words: str) -> time | None:
    from segue.times.reader.readers import read_clock

    try:
        return read_clock(words)
    except BadTime:
        return None


def _new_schedule(words: str) -> Control | None:
    for text in (words, *(_gap(match, words, "time") for match in _gaps(words, "make"))):
        if _repeats(text):
            return Control(action=Action.MAKE, schedule=text)
    return None


def _repeats(words: str) -> bool:
    from segue.times.reader.grammar import readings
    from segue.times.reader.readers import LANGUAGES as TIME_LANGUAGES

    try:
        return bool(readings(words, ("repeat",), TIME_LANGUAGES, "every 2h"))
    except BadTime:
        return False


__all__ = ["Action", "Control", "ReplyWords", "read_control"]
