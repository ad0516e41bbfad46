"""Chart parser of human times: finds the wordings of a language table in a text.

It finds every way to read a text, so that a text with two readings can be refused. A reading covers the whole
text.

Invariants
  - results are cached by position, so the work grows with the text and not with its readings
  - the work is bounded: a text that takes too many steps is refused
"""

import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import Any, NamedTuple

from segue.times.reader.language import Item, Language, Wording
from segue.times.reader.lexer import Lexer
from segue.times.reader.refusal import Refusal, quoted, refuse

MOST_STEPS = 2000
"""For each language: twice what the longest realistic texts take. All languages take under 5 ms together."""
LONGEST_ROW = 12

_SHORT_ZONE = re.compile(r"[A-Z]{2,5}")
_RANGE = re.compile(r".*[0-9]:[0-9]{2}[-–—][0-9]{1,2}:[0-9]{2}.*")


def unread(piece: str, text: str) -> str:
    """The reason of a refusal: this piece of the text could not be read."""
    reason = f"could not read {quoted(piece)}" + (f" in {quoted(text)}" if piece != text else "")
    if _SHORT_ZONE.fullmatch(piece):
        # Without this hint a caller might drop the zone and get a time that is hours off.
        return f"{reason} (a time zone is written America/New_York, UTC or +02:00)"
    if _RANGE.fullmatch(piece):
        return f"{reason} (it is a range of times, and one time is wanted)"
    return reason


class Match(NamedTuple):
    end: int
    value: object


class Chart:
    """The parser's state for one text and one language."""

    def __init__(self, text: str, language: Language) -> None:
        self.text = text
        self.furthest = 0
        """The end of the last item that fitted: what follows could not be read."""
        self.language = language
        self._lexer = Lexer(text, language)
        self._found: dict[tuple[str, int], list[Match]] = {}
        self._steps = 0

    def readings(self, kind: str) -> list[object]:
        """Every meaning of this kind that the whole text can have."""
        readings: list[object] = []
        for match in self._find(kind, 0):
            if match.end == len(self.text) and match.value not in readings:
                readings.append(match.value)
        return readings

    def ends(self, kind: str) -> set[int]:
        """Where the meanings of this kind end that begin at the start of the text."""
        return {match.end for match in self._find(kind, 0)}

    def nearness(self) -> tuple[int, int]:
        """How much of the text the language could read, and how many of its letters it has."""
        return self.furthest, sum(letter in self.language.letters for letter in self.text.lower())

    def what_is_unread(self) -> str:
        text, position = self.text, self.furthest
        if not text:
            return "there is no time in an empty text"
        if position == len(text):
            return f"{quoted(text)} is only a part of a time"
        start = self._lexer.start(position)
        if start == position and self.language.spaced:
            start = text.rfind(" ", 0, position) + 1
        piece = text[start:].split(" ")[0] or text[position:]
        return unread(piece, text)

    def _find(self, kind: str, position: int) -> list[Match]:
        key = kind, position
        if key not in self._found:
            # Stops the recursion of a wording that begins with its own kind.
            self._found[key] = []
            self._found[key] = [*self._tokens(kind, position), *self._phrases(kind, position)]
        return self._found[key]

    def _tokens(self, kind: str, position: int) -> Iterator[Match]:
        for token in self._lexer.tokens(position):
            if token.kind == kind:
                self.furthest = max(self.furthest, token.end)
                yield Match(token.end, token.value)

    def _phrases(self, kind: str, position: int) -> Iterator[Match]:
        words = self._lexer.fixed(position)
        for wording, openers in self.language.wordings.get(kind, ()):
            if not openers or not openers.isdisjoint(words):
                yield from self._matches(wording, position)

    def _matches(self, wording: Wording, position: int) -> Iterator[Match]:
        """Every way to match the wording at the position."""
        partial: list[tuple[int, dict[str, Any]]] = [(position, {})]
        for item in wording.items:
            longer = [
                (match.end, {**slots, item.field: match.value} if item.field else slots)
                for end, slots in partial
                for match in self._item(item, end)
            ]
            partial = [*longer, *partial] if item.optional else longer
            self._count(len(partial) + 1)
            if not partial:
                return
        for end, slots in partial:
            yield Match(end, wording.meaning(**slots))

    def _item(self, item: Item, position: int) -> Iterator[Match]:
        if item.words:
            yield from self._fixed(item.words, position)
        elif item.many:
            yield from self._row(item.kind, position, item.many)
        else:
            yield from self._find(item.kind, position)

    def _fixed(self, words: Sequence[str], position: int) -> Iterator[Match]:
        ends = self._lexer.fixed(position)
        for word in words:
            if word in ends:
                self.furthest = max(self.furthest, ends[word])
                yield Match(ends[word], word)

    def _row(self, kind: str, position: int, many: str) -> Iterator[Match]:
        """One or more of a kind: `monday, tuesday and friday`."""
        rows: list[tuple[int, tuple[object, ...]]] = [(position, ())]
        while rows:
            end, values = rows.pop()
            if len(values) == LONGEST_ROW:
                continue
            separated = many == "&" or (many == "+" and bool(values))
            joined = (
                [match.end for match in self._fixed(self.language.joiners, end)]
                if values or separated
                else []
            )
            starts = joined if separated and not self._lexer.comma(end) else [end, *joined]
            for start in starts:
                for match in self._find(kind, start):
                    self._count(1)
                    rows.append((match.end, (*values, match.value)))
                    yield Match(match.end, (*values, match.value))

    def _count(self, steps: int) -> None:
        self._steps += steps
        if self._steps > MOST_STEPS:
            raise refuse(f"{quoted(self.text)} can be read in too many ways", "2027-03-03 10:00")


class Reading(NamedTuple):
    language: Language
    meaning: Any


def readings(text: str, kinds: Sequence[str], languages: Sequence[Language], *examples: str) -> list[Reading]:
    """Every meaning of these kinds that the text can have in any language. Refuses a text without one."""
    charts = [Chart(text, language) for language in languages if language.may_read(text)]
    found = [Reading(c.language, meaning) for c in charts for kind in kinds for meaning in c.readings(kind)]
    if found:
        return found
    nearest = max(charts, key=Chart.nearness, default=Chart(text, languages[0]))
    raise refuse(nearest.what_is_unread(), *examples, time="09:00").worded(nearest.language.examples)


def ends(text: str, kinds: Sequence[str], languages: Sequence[Language]) -> set[int]:
    """Where meanings of these kinds end that begin at the start of the text, in any of the languages."""
    found: set[int] = set()
    for chart in (Chart(text, language) for language in languages if language.may_read(text)):
        with suppress(Refusal):  # a text with too many readings is no time
            found.update(*(chart.ends(kind) for kind in kinds))
    return found
