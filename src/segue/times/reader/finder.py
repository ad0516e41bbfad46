"""A time inside a sentence: `remind me tomorrow at 9 to call Ana` holds `tomorrow at 9`.

The phrases that the grammar accepts are found first. Each word is tried once as the first of a phrase, and
the grammar says where a phrase that begins there may end; so a sentence costs what so many refused times
would, and not one for each of its parts.

A sentence is read only where nothing of time is left over. Where words of time touch the phrase and were not
read, where the phrase itself is refused, and where two phrases could each be the time, the verdict says so.
"""

import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from datetime import datetime
from enum import StrEnum
from zoneinfo import ZoneInfo

from segue.errors import BadTime, ZoneNeeded
from segue.record import positional
from segue.times.reader.dates import DayOfMonth, OnWeekday
from segue.times.reader.grammar import Reading, ends, readings, unread
from segue.times.reader.language import Language
from segue.times.reader.languages.chinese import CHINESE
from segue.times.reader.lexer import LONGEST_TEXT, plain
from segue.times.reader.moments import After, HoursAlone, OnDay
from segue.times.reader.parts import Unit
from segue.times.reader.readers import CRON_LINE, LANGUAGES, SINGLE_OR_REPEATED, read_schedule
from segue.times.reader.refusal import Refusal, quoted, refuse
from segue.times.reader.repeats import EveryUnit, Interval, Moment, When
from segue.times.reader.touching import Touching, Word, group_of, run_of_time, split
from segue.times.reader.vocabulary import groups_of, knows

_WORDS_LOOKED_AT = 40
_LONGEST_PHRASE = 16
_A_WITHOUT_ACCENT = re.compile(r"a [0-9]", re.IGNORECASE)
"""French for `à 2`, and how `a 2h meeting` begins."""
_MORNING = re.compile(r"(?:morgen|mañana|manana)\b", re.IGNORECASE)
_BEFORE_MORNING = re.compile(r"\b(?:am|guten|diesen|jeden|la|cada|esta|una)\s+$", re.IGNORECASE)
_SHORT_WEEKDAY = 3
"""Letters: `sun`, `do` and `mon` are weekdays, and other words as well."""


class Verdict(StrEnum):
    READ = "read"
    AMBIGUOUS = "ambiguous"
    NOT_READ = "not_read"


@positional
class FoundTime:
    """What a sentence says of a time."""

    verdict: Verdict
    phrase: str = ""
    """What was read, as it stands in the sentence."""
    when: When | None = None
    """None unless the verdict is `read`."""
    passed: bool = False
    """It is a moment that is over."""
    readings: tuple[str, ...] = ()
    """What it can mean, if the verdict is `ambiguous`."""
    unread: str = ""
    """The words of time that could not be read; empty if there is no word of time in the sentence."""
    reason: str = ""
    """A sentence for people: why it was not read. Empty where there is nothing to say."""


@positional
class _Phrase:
    """A part of the sentence that the grammar accepts as a time."""

    text: str
    place: range
    readings: tuple[Reading, ...]
    """None for a cron line."""
    found: FoundTime
    zone_needed: ZoneNeeded | None = None
    """No zone is known, and it is a time on the clock: `found` is what it would be in UTC."""

    @property
    def languages(self) -> tuple[Language, ...]:
        return tuple(dict.fromkeys(reading.language for reading in self.readings))

    @property
    def repeats(self) -> bool:
        return not self.readings or any(r.meaning.kind == "repeat" for r in self.readings)

    @property
    def has_clock(self) -> bool:
        """It says the time of day, or needs none."""
        if not self.readings or isinstance(self.found.when, Interval):
            return True
        if any(isinstance(r.meaning, After) for r in self.readings):
            return True
        return any(getattr(r.meaning, "time", None) is not None for r in self.readings)

    @property
    def is_clock(self) -> bool:
        """It is a time of day and nothing else."""
        return any(isinstance(r.meaning, OnDay) and r.meaning.date is None for r in self.readings)

    @property
    def weak(self) -> bool:
        """It is a time only if it stands alone: `20 minutes`, `sun`, `the 3rd`."""
        return bool(self.readings) and all(_weak(self.text, r.meaning) for r in self.readings)


def find(sentence: str, *, now: datetime, zone: str | ZoneInfo | None = None) -> FoundTime:
    """The one time or schedule of the sentence, if it is read with nothing of time left over.

    A moment that is refused only because it is past is read too, and marked: people want to be told. Raises
    `ZoneNeeded` where the time that was read is one on the clock and no zone is known."""
    words = split(sentence)
    spoken = _spoken(words)
    phrases = [_evaluated(text, place, now, zone) for text, place in _phrases(sentence, words)]
    strong = [phrase for phrase in phrases if not phrase.weak and not _ordinal(sentence, phrase, phrases)]
    alone = [phrase for phrase in phrases if _stands_alone(words, phrase)]
    main = max(strong or alone, key=_importance, default=None)
    introduced = (
        bool(strong) and strong[0].has_clock and _touching(sentence, words, strong[0], spoken).introduces()
    )
    if main is None:
        left = run_of_time(sentence, words[:_WORDS_LOOKED_AT], (spoken,))
    elif introduced:
        main = strong[0]
        left = _left_over(sentence, words, main, phrases, spoken, after=False)
    else:
        left = _left_over(sentence, words, main, phrases, spoken)
    if main is None or left:
        return FoundTime(
            Verdict.NOT_READ, unread=left, reason=_reason(left, sentence, spoken) if left else ""
        )
    rivals = [phrase for phrase in strong if phrase is not main and _competes(phrase, main)]
    if rivals and not introduced:
        texts = tuple(phrase.text for phrase in strong if phrase is main or phrase in rivals)
        reason = f"there is more than one time, {' and '.join(map(quoted, texts))}; write one of them"
        return FoundTime(Verdict.AMBIGUOUS, readings=texts, unread=rivals[0].text, reason=reason)
    if main.zone_needed is not None and main.found.verdict is Verdict.READ:
        raise main.zone_needed
    return main.found


def _ordinal(sentence: str, phrase: _Phrase, phrases: Sequence[_Phrase]) -> bool:
    """`every second` in `every second tuesday`: it counts the days, and is not a length of time."""
    following = [other.place.start for other in phrases if other.place.start > phrase.place.start]
    touched = bool(following) and not sentence[phrase.place.stop : following[0]].strip()
    return touched and any(r.meaning == EveryUnit(Unit.SECOND) for r in phrase.readings)


def _importance(phrase: _Phrase) -> tuple[bool, bool, bool, int]:
    return phrase.repeats, not phrase.found.passed, phrase.has_clock, len(phrase.place)


def _competes(other: _Phrase, main: _Phrase) -> bool:
    """Whether the sentence can mean the other phrase, or both of them together."""
    if other.found.passed and not other.is_clock:
        return False
    return not main.repeats or other.repeats or (other.has_clock and not main.has_clock)


def _touching(sentence: str, words: Sequence[Word], phrase: _Phrase, spoken: Language) -> Touching:
    languages = (spoken,) if spoken in phrase.languages or not phrase.readings else phrase.languages
    return Touching(sentence, words, languages, phrase.place)


def _left_over(
    sentence: str,
    words: Sequence[Word],
    main: _Phrase,
    phrases: Sequence[_Phrase],
    spoken: Language,
    *,
    after: bool = True,
) -> str:
    """What is of time and was not read with the main phrase; empty if that is nothing."""
    touching = _touching(sentence, words, main, spoken)
    start, end = touching.before(), touching.after() if after else None
    left = [] if start is None else [_whole(sentence, range(start, main.place.start), phrases)]
    right = [] if end is None else [_whole(sentence, range(main.place.stop, end), phrases)]
    if left or right:
        return " … ".join(left + right)
    for phrase in phrases:
        if phrase is not main and (bound := _bound(sentence, words, phrase, main, touching.languages)):
            return bound
    return ""


def _whole(sentence: str, place: range, phrases: Sequence[_Phrase]) -> str:
    """The text at the place, and all of the phrases that it is a part of."""
    parts = [p.place for p in phrases if p.place.start < place.stop and place.start < p.place.stop]
    start = min([place.start, *(part.start for part in parts)])
    stop = max([place.stop, *(part.stop for part in parts)])
    return sentence[start:stop].strip(" ,，、")


def _bound(
    sentence: str, words: Sequence[Word], phrase: _Phrase, main: _Phrase, languages: Sequence[Language]
) -> str:
    """`until 18:00` somewhere in a sentence that repeats, `20 minutes before` anywhere."""
    groups = groups_of(tuple(languages))
    before = [word for word in words if word.end <= phrase.place.start][-1:]
    after = [word for word in words if word.start >= phrase.place.stop][:1]
    if main.repeats and before and group_of(before[0].text, groups) == "bound":
        return sentence[before[0].start : phrase.place.stop]
    if phrase.weak and after and group_of(after[0].text, groups) == "bound":
        return sentence[phrase.place.start : after[0].end]
    return ""


def _reason(piece: str, sentence: str, spoken: Language) -> str:
    examples = "tomorrow at {time}", "every weekday at 9"
    return str(
        refuse(unread(piece, " ".join(sentence.split())), *examples, time="09:00").worded(spoken.examples)
    )


def _evaluated(text: str, place: range, now: datetime, zone: str | ZoneInfo | None) -> _Phrase:
    found: tuple[Reading, ...] = ()
    with suppress(Refusal):  # a cron line, or too many ways to read it
        found = tuple(readings(plain(text), SINGLE_OR_REPEATED, LANGUAGES))
    try:
        return _Phrase(text, place, found, _read(text, now, zone))
    except ZoneNeeded as refusal:
        return _Phrase(text, place, found, _read(text, now, "UTC"), refusal)


def _read(text: str, now: datetime, zone: str | ZoneInfo | None) -> FoundTime:
    try:
        return FoundTime(Verdict.READ, text, read_schedule(text, now=now, zone=zone))
    except ZoneNeeded:
        raise
    except Refusal as refusal:
        if refusal.passed is not None:
            return FoundTime(Verdict.READ, text, Moment(refusal.passed), passed=True)
        verdict = Verdict.AMBIGUOUS if refusal.readings else Verdict.NOT_READ
        return FoundTime(verdict, readings=refusal.readings, unread=text, reason=str(refusal))


def _weak(text: str, meaning: object) -> bool:
    match meaning:
        case After():
            return _is_span(text)
        case HoursAlone():
            return True
        case OnDay(date=DayOfMonth(), part=None, time=None):
            return True
        case OnDay(date=OnWeekday(), part=None, time=None):
            return len(text) <= _SHORT_WEEKDAY and not _is_chinese(text)
        case _:
            return False


def _is_chinese(text: str) -> bool:
    return "\u3400" <= text[:1] <= "\u9fff"


def _is_span(text: str) -> bool:
    try:
        return bool(readings(plain(text), ("span",), LANGUAGES))
    except BadTime:
        return False


def _stands_alone(words: Sequence[Word], phrase: _Phrase) -> bool:
    """A weak phrase is meant: it is the whole text, or hours, or the day of a month that nothing follows."""
    inside = [word for word in words if word.start in phrase.place]
    if len(inside) == len(words):
        return True
    if any(isinstance(r.meaning, HoursAlone) for r in phrase.readings):
        return phrase.found.verdict is Verdict.AMBIGUOUS
    last = inside[-1].last or inside[-1] is words[-1]
    return last and any(isinstance(getattr(r.meaning, "date", None), DayOfMonth) for r in phrase.readings)


def _spoken(words: Sequence[Word]) -> Language:
    """The language that most of the words can be of."""

    if any(_is_chinese(word.text) for word in words):
        return CHINESE
    texts = [word.text.lower() for word in words[:_WORDS_LOOKED_AT]]
    others = [language for language in LANGUAGES if language is not CHINESE]
    return max(others, key=lambda language: sum(knows(language, text) for text in texts))


def _phrases(sentence: str, words: Sequence[Word]) -> list[tuple[str, range]]:
    """The longest phrases that do not overlap, in the order of the sentence."""
    places = [
        place
        for first in range(min(len(words), _WORDS_LOOKED_AT))
        for place in _from(sentence, words[first:])
    ]
    taken: list[range] = []
    for _, place in sorted(places, key=lambda counted: -counted[0]):
        if all(place.stop <= other.start or other.stop <= place.start for other in taken):
            taken.append(place)
    return [(sentence[place.start : place.stop], place) for place in sorted(taken, key=lambda p: p.start)]


def _from(sentence: str, words: Sequence[Word]) -> Iterator[tuple[int, range]]:
    """Where the phrases end that begin with the first word, each with the number of its words."""
    start, possible = words[0].start, list(_speakable(sentence, words[:_LONGEST_PHRASE]))
    if not possible or _A_WITHOUT_ACCENT.match(sentence, start) or _is_the_morning(sentence, start):
        return
    ending = ends(plain(sentence[start : _raw_end(possible[-1])]), SINGLE_OR_REPEATED, LANGUAGES)
    for count, last in enumerate(possible, 1):
        for end in range(_raw_end(last), last.end - 1, -1):
            text = plain(sentence[start:end])
            if sentence[end - 1] not in " ,;:" and (len(text) in ending or CRON_LINE.fullmatch(text)):
                yield count, range(start, end)
                break


def _is_the_morning(sentence: str, start: int) -> bool:
    """`am Morgen`, `por la mañana`, `Guten Morgen`: the word for tomorrow is not tomorrow there."""
    return bool(_MORNING.match(sentence, start) and _BEFORE_MORNING.search(sentence[:start]))


def _raw_end(word: Word) -> int:
    """Its end with the punctuation behind it: `p.m.`, `3.`"""
    return word.end + len(word.after) - len(word.after.lstrip(".,;:!?…)"))


def _speakable(sentence: str, words: Sequence[Word]) -> Iterator[Word]:
    """Up to the first word that no time can contain, and no further than a time is long."""
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
