"""Lexer of human times: finds the tokens that begin at a position of a text.

The text is not split on spaces: at each position, the lexer finds every word of the language's table that
starts there, and every number and shape. Shapes, such as `09:30`, are the same in all languages. A position
is analysed when the grammar first gets there, and the result is cached.
"""

import re
import unicodedata
from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import NamedTuple, TypeAlias

from segue.times.reader.dates import CalendarDate, NumericDate
from segue.times.reader.language import Language, small_number, spelt_number
from segue.times.reader.parts import ClockTime
from segue.times.reader.refusal import refuse
from segue.times.reader.zone_abbreviations import ABBREVIATIONS, ZoneAbbreviation
from segue.times.reader.zones import OFFSET, ZoneInText, is_offset

LONGEST_TEXT = 200

_CLOCK = re.compile(r"([0-9]{1,2}):([0-9]{2})(?::([0-9]{2})(?:\.([0-9]{1,6}))?)?(?![0-9:])")
_ISO_DATE = re.compile(r"([0-9]{4})-([0-9]{2})-([0-9]{2})(?:[Tt](?=[0-9]{2}:)|(?![0-9]))")
_YEAR_FIRST = re.compile(r"([0-9]{4})([./])([0-9]{1,2})\2([0-9]{1,2})(?![0-9./])")
_NUMERIC_DATE = re.compile(r"([0-9]{1,2})([./-])([0-9]{1,2})\2([0-9]{4}|[0-9]{2}(?=[ ,]|$))(?![0-9])")
_SHORT_DATE = re.compile(r"(?!24/7)([0-9]{1,2})/([0-9]{1,2})(?![0-9/.:])")
_DAY_AND_MONTH = re.compile(r"([0-9]{1,2})\.([0-9]{1,2})\.(?![0-9])")
_DAY_AND_MONTH_BEFORE_TIME = re.compile(r"([0-3][0-9]|[0-9])\.([01][0-9])(?=$|[ ,]+(?:в|um) )")
_DIGITS_CLOCK = re.compile(r"([0-9]{1,2})([0-5][0-9])(?![0-9:.,/-])")
_DOTTED_CLOCK = re.compile(r"([0-9]{1,2})\.([0-5][0-9])(?![0-9.:])")
_SHORT_CLOCK = re.compile(r"([0-9]{1,2})(?:[:.]([0-5][0-9]))?([ap])(?![\w.])", re.IGNORECASE)
_UTC_AND_HOURS = re.compile(r"(?:UTC|GMT)([+-])([0-9]{1,2})(?::([0-9]{2}))?(?![0-9:])")
_PLACE = re.compile(r"[A-Za-z]+(?:/[A-Za-z0-9_+-]+){1,3}|(?:UTC|GMT|Z|utc|gmt|z)(?![\w/+-])")
_ABBREVIATION = re.compile(r"[A-Z]{2,5}(?![\w/+-])")
_PLACE_IN_BRACKETS = re.compile(rf"\[({_PLACE.pattern})\]")
_MACHINE_TIME = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}(?:[Tt][0-9]{2}:[0-9]{2}| [0-9]{2}:[0-9]{2}:[0-9]{2})")
_LAST_HOUR = 23
_GAP = re.compile(r" ?(?:[,、] ?)?")

_UNSPEAKABLE = {"Cc", "Cf", "Cs", "Co", "Cn"}
"""Unicode categories: controls, invisible marks, surrogates, private and unassigned characters."""
_PLAIN = {0xFF01 + step: 0x21 + step for step in range(94)} | {0x2019: ord("'")}
"""Full-width characters, as Chinese keyboards write them, and the typographic apostrophe."""


class Token(NamedTuple):
    kind: str
    value: object
    end: int


_Found: TypeAlias = Iterator[tuple[str, object]]
_Shapes: TypeAlias = tuple[tuple[re.Pattern[str], Callable[[re.Match[str]], _Found]], ...]


def plain(text: str) -> str:
    """Returns the text with single spaces. Raises a refusal for invisible characters and long texts."""
    if len(text) > LONGEST_TEXT:
        raise refuse(f"a time has at most {LONGEST_TEXT} characters, not {len(text)}", "2027-03-03 10:00")
    for position, character in enumerate(text, 1):
        if unicodedata.category(character) in _UNSPEAKABLE:
            raise refuse(
                f"no time contains U+{ord(character):04X}, character {position} here", "2027-03-03 10:00"
            )
    return " ".join(unicodedata.normalize("NFC", text).translate(_PLAIN).split())


class Lexer:
    def __init__(self, text: str, language: Language) -> None:
        self.text = text
        self._language = language
        # Character by character, because lower() may lengthen a text, and positions must stay the same.
        lower = "".join(c.lower() if len(c.lower()) == 1 else c for c in text)
        self._lower = lower.translate(language.accents)
        self._found: dict[int, list[Token]] = {}
        self._fixed: dict[int, dict[str, int]] = {}

    def start(self, position: int) -> int:
        """Where the next item starts if the last one ended at this position."""
        gap = _GAP.match(self.text, position) if position else None
        return gap.end() if gap else position

    def comma(self, position: int) -> bool:
        """Whether a comma separates the next item from the one that ended here."""
        return any(mark in self.text[position : self.start(position)] for mark in ",、")

    def tokens(self, position: int) -> list[Token]:
        if position not in self._found:
            start = self.start(position)
            self._found[position] = [*self._shapes(start), *self._words(start)]
        return self._found[position]

    def fixed(self, position: int) -> dict[str, int]:
        """The fixed words of wordings that can be the next item, and where each of them ends."""
        if position not in self._fixed:
            start, words = self.start(position), self._language.fixed_words
            ends = (start + length for length in self._language.fixed_lengths)
            candidates = ((self._lower[start:end], end) for end in ends if end <= len(self.text))
            self._fixed[position] = {w: end for w, end in candidates if w in words and self._ends_word(end)}
        return self._fixed[position]

    def _words(self, start: int) -> Iterator[Token]:
        vocabulary, left = self._language.vocabulary, len(self.text) - start
        for length in self._language.word_lengths:
            end = start + length
            meanings = vocabulary.get(self._lower[start:end]) if length <= left else None
            if meanings and self._ends_word(end):
                yield from (Token(kind, value, end) for kind, value in meanings)

    def _ends_word(self, end: int) -> bool:
        inside_letters = self.text[end - 1].isalpha() and self.text[end : end + 1].isalpha()
        return not (self._language.spaced and inside_letters)

    def _shapes(self, start: int) -> Iterator[Token]:
        is_number = self.text[start : start + 1].isdigit()
        for shape, read in _NUMBER_SHAPES if is_number else _ZONE_SHAPES:
            if match := shape.match(self.text, start):
                yield from (Token(kind, value, match.end()) for kind, value in read(match))
        yield from self._numbers(start) if is_number else self._offset(start)

    def _numbers(self, start: int) -> Iterator[Token]:
        language = self._language
        if match := language.number.match(self.text, start):
            for kind, value in _number(match[0].replace(language.decimal_mark, ".")):
                yield Token(kind, value, match.end())
        if match := language.ordinal.match(self._lower, start):
            yield Token("day", int(match[1]), match.end())
            yield Token("ordinal", int(match[1]), match.end())
        if match := _NUMERIC_DATE.match(self.text, start):
            year = int(match[4]) + (2000 if len(match[4]) == 2 else 0)
            date = NumericDate(int(match[1]), int(match[3]), year, match[2] in language.day_first)
            yield Token("calendar", date, match.end())
        if match := _SHORT_DATE.match(self.text, start):
            date = NumericDate(int(match[1]), int(match[2]), None, "/" in language.day_first)
            yield Token("short_date", date, match.end())
        if "." in language.day_first:
            yield from self._days_and_months(start)

    def _days_and_months(self, start: int) -> Iterator[Token]:
        """`24.12.`, and `24.12` where it cannot be a time on the clock: past 23, or before one."""
        if match := _DAY_AND_MONTH.match(self.text, start):
            yield Token("calendar", CalendarDate(day=int(match[1]), month=int(match[2])), match.end())
        match = _DAY_AND_MONTH_BEFORE_TIME.match(self.text, start)
        if match and (int(match[1]) > _LAST_HOUR or match.end() < len(self.text)):
            yield Token("calendar", CalendarDate(day=int(match[1]), month=int(match[2])), match.end())

    def _offset(self, start: int) -> Iterator[Token]:
        offset = OFFSET.match(self.text, start)
        if offset is None or self.text[offset.end() : offset.end() + 1].isdigit():
            return
        after = self.start(offset.end())
        if zone := _PLACE_IN_BRACKETS.match(self.text, after) or _PLACE.match(self.text, after):
            yield Token("zone", ZoneInText(zone[zone.lastindex or 0], offset[0]), zone.end())
        # `10:00-11:00` is a range of times, not ten o'clock at the offset -11:00.
        if offset[1] == "+" or (is_offset(offset) and _MACHINE_TIME.search(self.text, 0, start)):
            yield Token("zone", ZoneInText(None, offset[0]), offset.end())


def _number(digits: str) -> _Found:
    if digits.isdigit() and len(digits) <= 2:
        yield from (spelt_number if len(digits) == 2 else small_number)(int(digits))
        return
    if digits.startswith("0") and digits.isdigit():
        return  # `0900 hours` is no length of time
    yield "number", Fraction(digits)
    if digits.isdigit() and len(digits) == 4:
        yield "year", int(digits)


def _clock(match: re.Match[str]) -> _Found:
    hour, minute, second, fraction = match.groups("0")
    fixed = hour.startswith("0")
    yield "clock", ClockTime(int(hour), int(minute), int(second), int(fraction.ljust(6, "0")), fixed)


def _iso_date(match: re.Match[str]) -> _Found:
    yield "calendar", CalendarDate(day=int(match[3]), month=int(match[2]), year=int(match[1]))


def _year_first(match: re.Match[str]) -> _Found:
    yield "calendar", CalendarDate(day=int(match[4]), month=int(match[3]), year=int(match[1]))


def _digits_clock(match: re.Match[str]) -> _Found:
    if int(match[1]) <= _LAST_HOUR:
        yield "digits_clock", ClockTime(int(match[1]), int(match[2]), fixed=match[1].startswith("0"))


def _dotted_clock(match: re.Match[str]) -> _Found:
    yield "dotted_clock", ClockTime(int(match[1]), int(match[2]))


def _short_clock(match: re.Match[str]) -> _Found:
    hour, minute, half = int(match[1]), int(match[2] or 0), match[3].lower()
    if 1 <= hour <= 12:
        yield "short_clock", ClockTime(hour % 12 + (12 if half == "p" else 0), minute, fixed=True)


def _utc_and_hours(match: re.Match[str]) -> _Found:
    yield "zone", ZoneInText(None, f"{match[1]}{int(match[2]):02}:{match[3] or '00'}")


def _place(match: re.Match[str]) -> _Found:
    yield "zone", ZoneInText(match[match.lastindex or 0], None)


def _abbreviation(match: re.Match[str]) -> _Found:
    if match[0] in ABBREVIATIONS:
        yield "zone", ZoneAbbreviation(match[0], None)


_NUMBER_SHAPES: _Shapes = (
    (_CLOCK, _clock),
    (_ISO_DATE, _iso_date),
    (_YEAR_FIRST, _year_first),
    (_DIGITS_CLOCK, _digits_clock),
    (_DOTTED_CLOCK, _dotted_clock),
    (_SHORT_CLOCK, _short_clock),
)
_ZONE_SHAPES: _Shapes = (
    (_UTC_AND_HOURS, _utc_and_hours),
    (_PLACE, _place),
    (_ABBREVIATION, _abbreviation),
    (_PLACE_IN_BRACKETS, _place),
)
