"""Finds the time in a sentence: `remind me tomorrow at 9 to call Ana` contains `tomorrow at 9`.

First it finds the phrases that the grammar accepts. Each word is tried once as the start of a phrase, and the
grammar returns where phrases that begin there end, so the cost grows with the number of words and not with
the number of substrings.

A sentence is read only if no time words are left over. The verdict tells if time words beside the phrase were
not read, if the phrase itself is refused, or if two phrases could each be the time.
"""

import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from datetime import datetime
from enum import StrEnum
from zoneinfo import ZoneInfo

from segue.errors import BadTime, ZoneNeeded
from segue.record import positional
from segue.times.reader.adjacent_words import AdjacentWords, TimeWord, group_of, run_of_time, split
from segue.times.reader.clauses import (
    asks_for_meaning,
    counted_hour,
    quoted_ranges,
    requested,
    taken_away,
    without_greeting,
)
from segue.times.reader.dates import Dated, DayOfMonth, InDays, NumericDate, OnWeekday
from segue.times.reader.grammar import Reading, ends, readings, unread
from segue.times.reader.language import Language
from segue.times.reader.languages.chinese import CHINESE
from segue.times.reader.lexer import LONGEST_TEXT, plain
from segue.times.reader.moments import After, HoursAlone, OnDay
from segue.times.reader.parts import Unit
from segue.times.reader.readers import CRON_LINE, LANGUAGES, SINGLE_OR_REPEATED, read_schedule
from segue.times.reader.refusal import Refusal, quoted, refuse
from segue.times.reader.repeats import DayRange, EveryDay, EverySpan, EveryUnit, Interval, Moment, When
from segue.times.reader.vocabulary import groups_of, known, simplified

_WORDS_LOOKED_AT = 40
_LONGEST_PHRASE = 16
_A_WITHOUT_ACCENT = re.compile(r"a [0-9]", re.IGNORECASE)
"""French for `à 2`, but also the beginning of `a 2h meeting`."""
_MORNING = re.compile(r"(?:morgen|mañana|manana)\b", re.IGNORECASE)
_BEFORE_MORNING = re.compile(r"\b(?:am|guten|diesen|jeden|la|cada|esta|una)\s+$", re.IGNORECASE)
_EVERY = re.compile(r"every|each|alle|jede|chaque|tou(?:te)?s|cada|tod[oa]s|кажд|раз в|每", re.IGNORECASE)
"""How a repetition begins that is no adjective: `weekly` in `the weekly report` is one."""
_PRICE = re.compile(
    r"\d\s*(?:[€$£¥元块塊]|euros?\b|dollars?\b|pounds\b|bucks\b|pesos\b|руб|евро|долл)|[€$£¥]\s*\d",
    re.IGNORECASE,
)
"""`1200 euros every month` is what something costs."""
_STREET = re.compile(r"[路街巷弄村楼樓栋棟]$")
"""Before a number in Chinese: then `9号` is a house and no day."""
_SHORT_WEEKDAY = 3
"""Letters: `sun`, `do` and `mon` are weekdays, but also other words."""


class FinderVerdict(StrEnum):
    READ = "read"
    AMBIGUOUS = "ambiguous"
    NOT_READ = "not_read"


@positional
class FoundTime:
    """The time in a sentence, or why it was not read."""

    verdict: FinderVerdict
    phrase: str = ""
    """The part of the sentence that was read."""
    when: When | None = None
    """None unless the verdict is `read`."""
    passed: bool = False
    """Whether the moment is past."""
    readings: tuple[str, ...] = ()
    """The possible meanings, if the verdict is `ambiguous`."""
    unread: str = ""
    """The words of time that could not be read; empty if there is no word of time in the sentence."""
    reason: str = ""
    """A sentence for people: why it was not read. Empty where there is nothing to say."""


@positional
class _Phrase:
    """A part of the sentence that the grammar accepts as a time."""

    text: str
    extent: range
    readings: tuple[Reading, ...]
    """Empty for a cron line."""
    found: FoundTime
    zone_needed: ZoneNeeded | None = None
    """Set for a clock time if no zone is known; `found` is then its meaning in UTC."""

    @property
    def languages(self) -> tuple[Language, ...]:
        return tuple(dict.fromkeys(reading.language for reading in self.readings))

    @property
    def repeats(self) -> bool:
        return not self.readings or any(r.meaning.kind == "repeat" for r in self.readings)

    @property
    def has_clock(self) -> bool:
        """Whether it has a time of day, or needs none."""
        if not self.readings or isinstance(self.found.when, Interval):
            return True
        if any(isinstance(r.meaning, After) for r in self.readings):
            return True
        return any(_has_time(r.meaning) for r in self.readings)

    @property
    def is_clock(self) -> bool:
        """Whether it is only a time of day."""
        return any(isinstance(r.meaning, OnDay) and r.meaning.date is None for r in self.readings)

    @property
    def is_span(self) -> bool:
        """Whether it is a distance from now: `in 3 hours`."""
        return any(isinstance(reading.meaning, After) for reading in self.readings)

    @property
    def may_be_past(self) -> bool:
        """Whether the same words can mean a moment that has passed: `monday at 9`, but not `tomorrow`."""
        days = [reading.meaning.date for reading in self.readings if isinstance(reading.meaning, OnDay)]
        return self.repeats or any(isinstance(day, OnWeekday | DayOfMonth | Dated | None) for day in days)

    @property
    def weak(self) -> bool:
        """Whether it is a time only if it stands alone: `20 minutes`, `the 3rd`, `monday to thursday`."""
        return bool(self.readings) and all(_weak(self.text, r.meaning) for r in self.readings)


def find(sentence: str, *, now: datetime, zone: str | ZoneInfo | None = None) -> FoundTime:
    """Returns the one time or schedule of the sentence, if no time words are left over.

    A past moment is returned too, with `passed` set, so that the user can be told. Raises `ZoneNeeded` for a
    clock time if no zone is known."""
    sentence = without_greeting(sentence)
    words, in_quotes = _outside_quotes(sentence)
    phrases = [_evaluated(text, extent, now, zone) for text, extent in _phrases(sentence, words)]
    spoken = _spoken(words, phrases)
    strong = [phrase for phrase in phrases if not phrase.weak and not _ordinal(sentence, phrase, phrases)]
    alone = [phrase for phrase in phrases if _stands_alone(sentence, words, phrase)]
    main = max(strong or alone, key=_importance, default=None)
    introduced = (
        bool(strong)
        and strong[0].has_clock
        and _adjacent_words(sentence, words, strong[0], spoken).introduces()
    )
    if main is None:
        left = run_of_time(sentence, [*words, *in_quotes][:_WORDS_LOOKED_AT], (spoken,))
    elif introduced:
        main = strong[0]
        left = _left_over(sentence, words, main, phrases, spoken, after=False)
    else:
        left = _left_over(sentence, words, main, phrases, spoken)
    if main is not None and not left and len(strong) == 1 and main.is_clock:
        adjacent = _adjacent_words(sentence, words, main, spoken)
        attribute = adjacent.is_attribute() or (adjacent.is_of() and not requested(sentence, spoken))
        left = main.text if attribute or adjacent.is_score() else adjacent.day_elsewhere()
    if main is not None and not left and main.repeats and not main.has_clock and _PRICE.search(sentence):
        left = main.text
    if main is not None and not left:
        left = (
            counted_hour(sentence, words, spoken, main.extent, alone=main.is_clock) if main.has_clock else ""
        )
    if main is not None and not left:
        left = taken_away(
            sentence,
            words,
            spoken,
            main.extent,
            may_be_past=main.may_be_past,
            may_be_stated=_may_be_stated(words, main, spoken),
            is_span=main.is_span,
        )
    if main is None or left:
        return FoundTime(
            FinderVerdict.NOT_READ, unread=left, reason=_reason(left, sentence, spoken) if left else ""
        )
    others = [phrase for phrase in strong if phrase is not main]
    if introduced:
        rivals = [other for other in others if _adjacent_words(sentence, words, other, spoken).is_added()]
    else:
        rivals = [other for other in others if _competes(other, main)]
    if rivals:
        texts = tuple(phrase.text for phrase in strong if phrase is main or phrase in rivals)
        reason = f"there is more than one time, {' and '.join(map(quoted, texts))}; write one of them"
        return FoundTime(FinderVerdict.AMBIGUOUS, readings=texts, unread=rivals[0].text, reason=reason)
    if main.zone_needed is not None and main.found.verdict is FinderVerdict.READ:
        raise main.zone_needed
    return main.found


def _may_be_stated(words: Sequence[TimeWord], main: _Phrase, spoken: Language) -> bool:
    """Whether it can be what the clock or the calendar shows: `9pm` and `friday`, but not `at 9pm`."""
    inside = [word for word in words if word.start in main.extent]
    joined = group_of(inside[0].text, groups_of((spoken,))) in ("at", "join")
    return not joined and (main.is_clock or not main.has_clock)


def _outside_quotes(sentence: str) -> tuple[list[TimeWord], list[TimeWord]]:
    """The words of the sentence itself, and those that it quotes. A time alone in quotes is its own."""
    quotes = [
        part
        for part in quoted_ranges(sentence)
        if asks_for_meaning(sentence) or not _is_time(sentence[part.start + 1 : part.stop - 1])
    ]
    own: list[TimeWord] = []
    cited: list[TimeWord] = []
    for word in split(sentence):
        (cited if any(word.start in quote for quote in quotes) else own).append(word)
    return own, cited


def _ordinal(sentence: str, phrase: _Phrase, phrases: Sequence[_Phrase]) -> bool:
    """Whether it is `every second` in `every second tuesday`, which counts days and is no interval."""
    following = [other.extent.start for other in phrases if other.extent.start > phrase.extent.start]
    touched = bool(following) and not sentence[phrase.extent.stop : following[0]].strip()
    return touched and any(r.meaning == EveryUnit(Unit.SECOND) for r in phrase.readings)


def _importance(phrase: _Phrase) -> tuple[bool, bool, bool, int]:
    return phrase.repeats, not phrase.found.passed, phrase.has_clock, len(phrase.extent)


def _competes(other: _Phrase, main: _Phrase) -> bool:
    """Whether the sentence can mean the other phrase, or both of them together."""
    if other.found.passed and not other.is_clock:
        return False
    return not main.repeats or other.repeats or (other.has_clock and not main.has_clock)


def _adjacent_words(
    sentence: str, words: Sequence[TimeWord], phrase: _Phrase, spoken: Language
) -> AdjacentWords:
    languages = (spoken,) if spoken in phrase.languages or not phrase.readings else phrase.languages
    return AdjacentWords(sentence, words, languages, phrase.extent)


def _left_over(
    sentence: str,
    words: Sequence[TimeWord],
    main: _Phrase,
    phrases: Sequence[_Phrase],
    spoken: Language,
    *,
    after: bool = True,
) -> str:
    """The time words that were not read with the main phrase; empty if there are none."""
    adjacent = _adjacent_words(sentence, words, main, spoken)
    start, end = adjacent.before(), adjacent.after() if after else None
    if start is None and not main.has_clock:
        start = adjacent.hour_before()
    left = [] if start is None else [_whole(sentence, range(start, main.extent.start), phrases)]
    right = [] if end is None else [_whole(sentence, range(main.extent.stop, end), phrases)]
    if left or right:
        return " … ".join(left + right)
    if elsewhere := adjacent.elsewhere():
        return elsewhere
    for phrase in phrases:
        if phrase is not main and (bound := _bound(sentence, words, phrase, main, adjacent.languages)):
            return bound
    return ""


def _whole(sentence: str, extent: range, phrases: Sequence[_Phrase]) -> str:
    """The text of the range, extended to the phrases that it overlaps."""
    parts = [p.extent for p in phrases if p.extent.start < extent.stop and extent.start < p.extent.stop]
    start = min([extent.start, *(part.start for part in parts)])
    stop = max([extent.stop, *(part.stop for part in parts)])
    return sentence[start:stop].strip(" ,，、")


def _bound(
    sentence: str, words: Sequence[TimeWord], phrase: _Phrase, main: _Phrase, languages: Sequence[Language]
) -> str:
    """`until 18:00` somewhere in a sentence that repeats, `20 minutes before` anywhere."""
    groups = groups_of(tuple(languages))
    before = [word for word in words if word.end <= phrase.extent.start][-1:]
    after = [word for word in words if word.start >= phrase.extent.stop][:1]
    if main.repeats and before and group_of(before[0].text, groups) == "bound":
        return sentence[before[0].start : phrase.extent.stop]
    if phrase.weak and after and group_of(after[0].text, groups) == "bound":
        return sentence[phrase.extent.start : after[0].end]
    return ""


def _reason(piece: str, sentence: str, spoken: Language) -> str:
    examples = "tomorrow at {time}", "every weekday at 9"
    return str(
        refuse(unread(piece, " ".join(sentence.split())), *examples, time="09:00").worded(spoken.examples)
    )


def _evaluated(text: str, extent: range, now: datetime, zone: str | ZoneInfo | None) -> _Phrase:
    found: tuple[Reading, ...] = ()
    with suppress(Refusal):  # a cron line, or too many ways to read it
        found = tuple(readings(plain(text), SINGLE_OR_REPEATED, LANGUAGES))
    try:
        return _Phrase(text, extent, found, _read(text, now, zone))
    except ZoneNeeded as refusal:
        return _Phrase(text, extent, found, _read(text, now, "UTC"), refusal)


def _read(text: str, now: datetime, zone: str | ZoneInfo | None) -> FoundTime:
    try:
        return FoundTime(FinderVerdict.READ, text, read_schedule(text, now=now, zone=zone))
    except ZoneNeeded:
        raise
    except Refusal as refusal:
        if refusal.passed is not None:
            return FoundTime(FinderVerdict.READ, text, Moment(refusal.passed), passed=True)
        verdict = FinderVerdict.AMBIGUOUS if refusal.readings else FinderVerdict.NOT_READ
        return FoundTime(verdict, readings=refusal.readings, unread=text, reason=str(refusal))


def _has_time(meaning: object) -> bool:
    return getattr(meaning, "time", None) is not None or getattr(meaning, "times", None) is not None


def _weak(text: str, meaning: object) -> bool:
    match meaning:
        case After():
            return _is_time(text, ("span",))
        case HoursAlone():
            return True
        case OnDay(date=DayOfMonth(), part=None, time=None):
            return True
        case OnDay(date=None, part=None) if simplified(text) == "一点":
            return True
        case OnDay(date=InDays(days=0, part=None), part=None, time=None):
            return True
        case OnDay(date=Dated(calendar=NumericDate(year=None)), part=None, time=None):
            return True
        case EveryUnit(unit=Unit.SECOND):
            return True
        case EveryUnit(unit=Unit.WEEK | Unit.MONTH | Unit.YEAR) | EverySpan():
            return not _EVERY.match(text)
        case EveryDay(days=DayRange(), part=None, times=None):
            return True
        case OnDay(date=OnWeekday(), part=None, time=None):
            return len(text) <= _SHORT_WEEKDAY and not _is_chinese(text)
        case _:
            return False


def _is_chinese(text: str) -> bool:
    return "\u3400" <= text[:1] <= "\u9fff"


def _is_time(text: str, kinds: tuple[str, ...] = SINGLE_OR_REPEATED) -> bool:
    """Whether the text is nothing but a time of these kinds."""
    try:
        return bool(readings(plain(text), kinds, LANGUAGES))
    except BadTime:
        return False


def _stands_alone(sentence: str, words: Sequence[TimeWord], phrase: _Phrase) -> bool:
    """Whether a weak phrase is a time: it is the whole text, or hours, or a day of the month at the end."""
    inside = [word for word in words if word.start in phrase.extent]
    if len(inside) == len(words):
        return True
    if _STREET.search(sentence[: phrase.extent.start]):
        return False
    if any(isinstance(r.meaning, HoursAlone) for r in phrase.readings):
        return phrase.found.verdict is FinderVerdict.AMBIGUOUS
    last = inside[-1].last or inside[-1] is words[-1]
    return last and any(isinstance(getattr(r.meaning, "date", None), DayOfMonth) for r in phrase.readings)


def _spoken(words: Sequence[TimeWord], phrases: Sequence[_Phrase]) -> Language:
    """The language that knows most of the words and phrases."""
    if any(_is_chinese(word.text) for word in words):
        return CHINESE
    texts = [word.text.lower() for word in words[:_WORDS_LOOKED_AT]]
    others = [language for language in LANGUAGES if language is not CHINESE]
    read = [language for phrase in phrases for language in phrase.languages]
    return max(others, key=lambda each: sum(known(each, text) for text in texts) + 2 * read.count(each))


def _phrases(sentence: str, words: Sequence[TimeWord]) -> list[tuple[str, range]]:
    """The longest phrases that do not overlap, in the order of the sentence."""
    candidates = [
        extent
        for first in range(min(len(words), _WORDS_LOOKED_AT))
        for extent in _from(sentence, words[first:])
    ]
    taken: list[range] = []
    for _, extent in sorted(candidates, key=lambda counted: -counted[0]):
        if all(extent.stop <= other.start or other.stop <= extent.start for other in taken):
            taken.append(extent)
    return [(sentence[extent.start : extent.stop], extent) for extent in sorted(taken, key=lambda p: p.start)]


def _from(sentence: str, words: Sequence[TimeWord]) -> Iterator[tuple[int, range]]:
    """The phrases that begin with the first word, each as its number of words and its range."""
    start, possible = words[0].start, list(_speakable(sentence, words[:_LONGEST_PHRASE]))
    if not possible or _A_WITHOUT_ACCENT.match(sentence, start) or _is_the_morning(sentence, start):
        return
    ending = ends(plain(sentence[start : _raw_end(possible[-1])]), SINGLE_OR_REPEATED, LANGUAGES)
    for count, last in enumerate(possible, 1):
        for end in range(_raw_end(last), last.end - 1, -1):
            text = plain(sentence[start:end])
            if sentence[end - 1] not in " ,;:" and (len(text) in ending or _is_cron_line(text)):
                yield count, range(start, end)
                break


def _is_cron_line(text: str) -> bool:
    """Five numbers in a sentence are no cron line but a telephone's."""
    return "*" in text and CRON_LINE.fullmatch(text) is not None


def _is_the_morning(sentence: str, start: int) -> bool:
    """`am Morgen`, `por la mañana`, `Guten Morgen`: here the word for tomorrow means the morning."""
    return bool(_MORNING.match(sentence, start) and _BEFORE_MORNING.search(sentence[:start]))


def _raw_end(word: TimeWord) -> int:
    """The end of the word with the punctuation after it: `p.m.`, `3.`"""
    return word.end + len(word.after) - len(word.after.lstrip(".,;:!?…)"))


def _speakable(sentence: str, words: Sequence[TimeWord]) -> Iterator[TimeWord]:
    """The words up to the first that no time can contain, and up to the longest length of a time."""
    start = reached = words[0].start
    for word in words:
        try:
            plain(sentence[reached : _raw_end(word)])
        except BadTime:
            return
        reached = _raw_end(word)
        if reached - start > LONGEST_TEXT:
            return
        yield word
