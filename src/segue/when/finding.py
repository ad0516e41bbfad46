"""A time inside a sentence: `remind me tomorrow at 9 to call Ana` holds `tomorrow at 9`."""

import re
from dataclasses import dataclass
from datetime import datetime
from zoneinfo import ZoneInfo

from segue.errors import BadTime
from segue.when.reading import read_schedule
from segue.when.repeats import When

_WORDS_LOOKED_AT = 40
_LONGEST_PHRASE = 9
_WORD = re.compile(r"[\u3400-\u9fff]|[^\s\u3400-\u9fff]+")
"""Chinese has no spaces: there every character may begin or end a phrase."""


@dataclass(frozen=True, slots=True)
class Found:
    phrase: str
    when: When


def find(sentence: str, *, now: datetime, zone: str | ZoneInfo | None = None) -> Found | None:
    """The longest part of the sentence that `read_schedule` reads whole, the first of equals."""
    words = list(_WORD.finditer(sentence))[:_WORDS_LOOKED_AT]
    for length in range(min(_LONGEST_PHRASE, len(words)), 0, -1):
        for first, last in zip(words, words[length - 1 :], strict=False):
            phrase = sentence[first.start() : last.end()].rstrip(".,;:!?。，；：！？")
            try:
                return Found(phrase, read_schedule(phrase, now=now, zone=zone))
            except BadTime:
                continue
    return None
