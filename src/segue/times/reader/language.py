"""Language tables: the words of a language by kind, and the wordings of each meaning.

A wording is a row of items with spaces between them:

    at            this word                a|an          one of these words
    {unit}        something of a kind      [the]         optional
    {date:ahead}  of kind `ahead`, for the field `date`
    {days:plural*}  one or more, for the field `days`, with or without an "and" between them
    {times:time+}   one or more, with a comma or an "and" between them; {more:hour&}: and before the first
    a_las         a word with a space in it

Spaces and commas between the items of a text are skipped, so a language without spaces needs nothing else. A
word may have several meanings; the wordings around it decide.

Kinds of words: unit share weekday month date part meridiem, and any other that the table's wordings use.
Digits and number words have the kinds number, day (of the month), hour and minutes, and ordinal with an
ending; two digits and number words also minute, which may follow an hour without its unit (`9h30`); four
digits year; shapes such as `09:30`, `2027-03-03`, `3.3.2027`, `+02:00` and `Europe/Berlin` have the kinds
clock, calendar and zone. A meaning has the kind of its class.
"""

import re
from collections import defaultdict
from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Any, TypeAlias

from segue.record import positional
from segue.times.reader.parts import ClockTime

Meaning: TypeAlias = Callable[..., object]
Kinds: TypeAlias = Mapping[str, Mapping[str, object]]

_DECIMALS = {".": r"\.[0-9]+", ",": r",[0-9]{1,2}(?![0-9])"}
"""What may follow a decimal mark. A comma before three digits may separate thousands: `1,500`."""

_ITEM = re.compile(r"(\[?)(?:\{(\w+)(?::(\w+))?([*+&]?)\}|([^][{}\s]+))(\]?)")


@positional
class Item:
    """One item of a wording: fixed words, or a gap for something of a kind."""

    words: tuple[str, ...] = ()
    field: str = ""
    kind: str = ""
    many: str = ""
    """`*`: one or more; `+`: separated by commas or joiners; `&`: these also stand before the first."""
    optional: bool = False


@positional
class Wording:
    meaning: Meaning
    items: tuple[Item, ...]

    @property
    def fixed_words(self) -> frozenset[str]:
        return frozenset(word for item in self.items for word in item.words)

    @property
    def openers(self) -> frozenset[str]:
        """The words of which one must come first; empty if the wording may begin with a gap."""
        words: set[str] = set()
        for item in self.items:
            if not item.words:
                break
            words.update(item.words)
            if not item.optional:
                return frozenset(words)
        return frozenset()


class Language:
    """The table of one language.

    `spaced`: a word ends where no letter follows. `day_first`: the separators of numeric dates that always
    have the day first. `accents`: letters, and what may be typed instead of each. Keys of `words` hold
    alternatives: `monday|mon`. `examples`: this language's versions of the English wordings in refusals.
    """

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
        accents: tuple[str, str] = ("", ""),
        examples: Mapping[str, str] | None = None,
    ) -> None:
        self.spaced = spaced
        self.accents = str.maketrans(*accents)
        self.examples = examples or {}
        self.day_first = day_first
        self.joiners = joiners
        self.number = re.compile(rf"[0-9]+(?:{_DECIMALS[decimal_mark]})?")
        self.decimal_mark = decimal_mark
        endings = "|".join(map(re.escape, ordinal_endings))
        self.ordinal = re.compile(rf"([0-9]{{1,2}})(?:{endings})" + (r"(?!\w)" if spaced else ""))
        self.vocabulary = self._vocabulary(numbers, words)
        self.word_lengths = sorted({len(word) for word in self.vocabulary}, reverse=True)
        self.wordings = self._wordings(phrases)
        self.fixed_words = frozenset(joiners).union(
            *(wording.fixed_words for wordings in self.wordings.values() for wording, _ in wordings)
        )
        self.fixed_lengths = sorted({len(word) for word in self.fixed_words}, reverse=True)
        written = "".join([*self.vocabulary, *self.fixed_words, accents[0]])
        self.letters = frozenset(filter(str.isalpha, written))

    def may_read(self, text: str) -> bool:
        """Whether the language can read the text: False if it has none of the text's letters."""
        letters = {letter for letter in text.lower() if letter.isalpha()}
        return not letters or not letters.isdisjoint(self.letters)

    def _vocabulary(self, numbers: Mapping[str, int], words: Kinds) -> Mapping[str, list[tuple[str, object]]]:
        vocabulary: dict[str, list[tuple[str, object]]] = defaultdict(list)
        for word, number in numbers.items():
            vocabulary[word.translate(self.accents)] += spelt_number(number)
        for kind, entries in words.items():
            for alternatives, value in entries.items():
                for word in alternatives.translate(self.accents).split("|"):
                    vocabulary[word].append((kind, value))
        return dict(vocabulary)

    def _wordings(
        self, phrases: Mapping[Any, tuple[str, ...]]
    ) -> Mapping[str, list[tuple[Wording, frozenset[str]]]]:
        """The wordings by their kind, each with its openers, which rule out most wordings quickly."""
        wordings: dict[str, list[tuple[Wording, frozenset[str]]]] = defaultdict(list)
        for meaning, patterns in phrases.items():
            for pattern in patterns:
                items = tuple(_item(text) for text in pattern.translate(self.accents).split())
                wording = Wording(meaning, items)
                wordings[meaning.kind].append((wording, wording.openers))
        return dict(wordings)


def small_number(number: int) -> list[tuple[str, object]]:
    return [("number", Fraction(number)), ("day", number), ("hour", ClockTime(number)), ("minutes", number)]


def spelt_number(number: int) -> list[tuple[str, object]]:
    return [*small_number(number), ("minute", number)]


def _item(text: str) -> Item:
    match = _ITEM.fullmatch(text)
    if match is None or bool(match[1]) != bool(match[6]):
        raise ValueError(f"not an item of a wording: {text!r}")
    _, field, kind, many, words, _ = match.groups()
    if words:
        return Item(words=tuple(words.replace("_", " ").split("|")), optional=bool(match[1]))
    return Item(field=field, kind=kind or field, many=many, optional=bool(match[1]))
