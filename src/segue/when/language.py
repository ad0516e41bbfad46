"""The table of one language: its words by kind, and how each meaning is worded.

A wording is a row of items with spaces between them:

    at            this word                a|an          one of these words
    {unit}        something of a kind      [the]         perhaps
    {date:ahead}  of kind `ahead`, for the field `date`
    {days:plural*}  one or more, for the field `days`, with or without an "and" between them

The spaces and commas between the items of a text are skipped wherever they stand, so a language that
writes none needs nothing else. Words may mean several things; the wordings around them decide.

Kinds that words give: unit share weekday month date part meridiem, and whatever else the table's own
wordings ask for. Digits and number words give number, day (of the month) and hour, and with an ending
ordinal; four digits give year; shapes such as `09:30`, `2027-03-03`, `3.3.2027`, `+02:00` and
`Europe/Berlin` give clock, calendar and zone. Meanings give the kind their class names.
"""

import re
from collections import defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, TypeAlias

from segue.when.parts import Clock

Meaning: TypeAlias = Callable[..., object]
Kinds: TypeAlias = Mapping[str, Mapping[str, object]]

_ITEM = re.compile(r"(\[?)(?:\{(\w+)(?::(\w+))?(\*?)\}|([^][{}\s]+))(\]?)")


@dataclass(frozen=True, slots=True)
class Item:
    """One place in a wording: fixed words, or a slot for something of a kind."""

    words: tuple[str, ...] = ()
    field: str = ""
    kind: str = ""
    many: bool = False
    optional: bool = False


@dataclass(frozen=True, slots=True)
class Wording:
    meaning: Meaning
    items: tuple[Item, ...]


class Language:
    """`spaced`: a word ends where no letter follows. `day_first`: the separators of numeric dates after which
    nobody who writes the language puts the month first. Keys of `words` hold alternatives: `monday|mon`."""

    def __init__(
        self,
        *,
        spaced: bool,
        decimal_mark: str,
        day_first: str,
        ordinal_endings: tuple[str, ...],
        joiners: tuple[str, ...],
        numbers: Mapping[str, int],
        words: Kinds,
        phrases: Mapping[Any, tuple[str, ...]],
    ) -> None:
        self.spaced = spaced
        self.day_first = day_first
        self.joiners = joiners
        self.number = re.compile(rf"[0-9]+(?:{re.escape(decimal_mark)}[0-9]+)?")
        self.decimal_mark = decimal_mark
        self.ordinal = re.compile(rf"([0-9]{{1,2}})(?:{'|'.join(map(re.escape, ordinal_endings))})(?!\w)")
        self.vocabulary = _vocabulary(numbers, words)
        self.word_lengths = sorted({len(word) for word in self.vocabulary}, reverse=True)
        self.wordings = _wordings(phrases)


def _vocabulary(numbers: Mapping[str, int], words: Kinds) -> Mapping[str, list[tuple[str, object]]]:
    vocabulary: dict[str, list[tuple[str, object]]] = defaultdict(list)
    for word, number in numbers.items():
        vocabulary[word] += number_meanings(number)
    for kind, entries in words.items():
        for alternatives, value in entries.items():
            for word in alternatives.split("|"):
                vocabulary[word].append((kind, value))
    return dict(vocabulary)


def number_meanings(number: int) -> list[tuple[str, object]]:
    return [("number", Fraction(number)), ("day", number), ("hour", Clock(number))]


def _wordings(phrases: Mapping[Any, tuple[str, ...]]) -> Mapping[str, list[Wording]]:
    wordings: dict[str, list[Wording]] = defaultdict(list)
    for meaning, patterns in phrases.items():
        for pattern in patterns:
            wordings[meaning.kind].append(Wording(meaning, tuple(_item(text) for text in pattern.split())))
    return dict(wordings)


def _item(text: str) -> Item:
    match = _ITEM.fullmatch(text)
    if match is None or bool(match[1]) != bool(match[6]):
        raise ValueError(f"not an item of a wording: {text!r}")
    _, field, kind, many, words, _ = match.groups()
    if words:
        return Item(words=tuple(words.split("|")), optional=bool(match[1]))
    return Item(field=field, kind=kind or field, many=bool(many), optional=bool(match[1]))
