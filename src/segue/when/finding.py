"""A time inside a sentence: `remind me tomorrow at 9 to call Ana` holds `tomorrow at 9`.

Each word is tried once as the first of a phrase, and the grammar says where a phrase that begins there may
end; so a sentence costs what so many refused times would, and not one for each of its parts.
"""

import re
from collections.abc import Iterator, Sequence
from datetime import datetime
from zoneinfo import ZoneInfo

from segue.errors import BadTime, ZoneNeeded
from segue.record import positional
from segue.when.grammar import ends
from segue.when.lexer import LONGEST_TEXT, plain
from segue.when.reading import CRON_LINE, LANGUAGES, SINGLE_OR_REPEATED, read_schedule
from segue.when.refusal import Refusal
from segue.when.repeats import Moment, When

_WORDS_LOOKED_AT = 40
_LONGEST_PHRASE = 16
_WORD = re.compile(r"[\u3400-\u9fff]|[^\s\u3400-\u9fff]+")
"""Chinese has no spaces: there every character may begin or end a phrase."""


@positional
class Found:
    phrase: str
    when: When
    passed: bool = False
    """It is a moment that is over."""


def find(sentence: str, *, now: datetime, zone: str | ZoneInfo | None = None) -> Found | None:
    """The longest part of the sentence that `read_schedule` reads whole, the first of equals.

    Also one that it refuses only because it is past: people want to be told. Raises `ZoneNeeded` where that
    part is a time on the clock and no zone is known."""
    words = list(_WORD.finditer(sentence))[:_WORDS_LOOKED_AT]
    phrases = [phrase for first in range(len(words)) for phrase in _phrases(sentence, words[first:])]
    for _, phrase in sorted(phrases, key=lambda found: -found[0]):
        try:
            return Found(phrase, read_schedule(phrase, now=now, zone=zone))
        except ZoneNeeded:
            raise
        except Refusal as refusal:
            if refusal.passed is not None:
                return Found(phrase, Moment(refusal.passed), passed=True)
        except BadTime:
            continue
    return None


def _phrases(sentence: str, words: Sequence[re.Match[str]]) -> Iterator[tuple[int, str]]:
    """The phrases that begin with the first word and can be a time, each with the number of its words."""
    start, possible = words[0].start(), list(_speakable(words[:_LONGEST_PHRASE]))
    if not possible:
        return
    ending = ends(plain(sentence[start : possible[-1].end()]), SINGLE_OR_REPEATED, LANGUAGES)
    for count, last in enumerate(possible, 1):
        phrase = sentence[start : last.end()].rstrip(".,;:!?。，；：！？")
        text = plain(phrase)
        if len(text) in ending or CRON_LINE.fullmatch(text):
            yield count, phrase


def _speakable(words: Sequence[re.Match[str]]) -> Iterator[re.Match[str]]:
    """Up to the first word that no time can contain, and no further than a time is long."""
    start = reached = words[0].start()
    for word in words:
        try:
            plain(word.string[reached : word.end()])
        except BadTime:
            return
        reached = word.end()
        if reached - start > LONGEST_TEXT:
            return
        yield word
