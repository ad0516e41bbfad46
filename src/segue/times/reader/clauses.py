"""Finds the words of a clause that take its time away: negation, removal of a reminder, past tense, quotes.

`don't wake me tomorrow at 7`, `friday at 6 is too early`, `delete the alarm for tomorrow at 6`, `on monday at
9 I was there` and `he wrote "see you tomorrow at 9"` name a time without a request for it. A clause ends at a
comma, so that `if I don't answer, ask me in 2 hours` has its time. In a request the past tense belongs to its
subject: `remind me at 3pm what he said`.
"""

import re
from collections.abc import Iterator, Sequence

from segue.times.reader.adjacent_words import TimeWord, group_of
from segue.times.reader.language import Language
from segue.times.reader.languages.clause_words import CLAUSE_WORDS
from segue.times.reader.languages.french import FRENCH
from segue.times.reader.languages.german import GERMAN
from segue.times.reader.languages.russian import RUSSIAN
from segue.times.reader.vocabulary import groups_of

_QUOTED = re.compile(
    r"\"[^\"]+\"|“[^”]+”|„[^“”]+[“”]|«[^»]+»|»[^«]+«|‹[^›]+›|「[^」]+」|『[^』]+』|《[^》]+》"
)
_BREAK = re.compile(r"[,;:.!?…\n—，、。；：！？]")
_GREETING = re.compile(
    r"\b(?:good (?:morning|afternoon|evening|night)|guten (?:morgen|abend|tag)|gute nacht|buenos días"
    r"|(?:how|what) about|buenas (?:tardes|noches)|доброе утро|добрый (?:день|вечер))\b"
    r"|(?:早上|上午|中午|下午|晚上)好",
    re.IGNORECASE,
)
_INFINITIVE = re.compile(r"\w+(?:ть|ться|ти|чь)", re.IGNORECASE)
_TO_INFINITIVE = re.compile(r"\w*zu\w+en")
_MEANING = re.compile(
    r"\bmeans?\b|\bbedeutet\b|\bheißt\b|\bsignifi|\bveut dire|\b(?:о|)значит|означает|意思", re.IGNORECASE
)


def without_greeting(sentence: str) -> str:
    """The sentence with spaces for `good morning` and `how about`, which are no words of time."""
    return _GREETING.sub(lambda found: " " * len(found[0]), sentence)


def asks_for_meaning(sentence: str) -> bool:
    """`what does "every day at 9" mean?`"""
    return _MEANING.search(sentence) is not None


def quoted_ranges(sentence: str) -> list[range]:
    """The parts of the sentence in quotation marks; none if they are all of it."""
    found = [range(match.start(), match.end()) for match in _QUOTED.finditer(sentence)]
    outside = "".join(_without(sentence, found))
    return found if any(letter.isalnum() for letter in outside) else []


def _without(sentence: str, parts: Sequence[range]) -> Iterator[str]:
    start = 0
    for part in parts:
        yield sentence[start : part.start]
        start = part.stop
    yield sentence[start:]


def requested(sentence: str, language: Language) -> bool:
    """Whether the sentence asks for something: `remind`, `please`."""
    return _search(CLAUSE_WORDS[language].asked, sentence) is not None


def counted_hour(
    sentence: str, words: Sequence[TimeWord], language: Language, phrase: range, *, alone: bool
) -> str:
    """An hour that is only a number, with what the number may count: `um 3 Grad`, `à 9 places`.

    `alone`: it has no day. Then it needs a request, or the edge of its clause, where nothing is counted."""
    inside = [word for word in words if word.start in phrase]
    if not _is_number(inside[-1], language):
        return ""
    counted = re.compile(rf"\s*(?:{CLAUSE_WORDS[language].counted})(?!\w)", re.IGNORECASE)
    if found := counted.match(sentence, phrase.stop):
        return sentence[phrase.start : found.end()]
    if not alone or not all(_is_number(word, language) or _joins(word, language) for word in inside):
        return ""
    following = next((word for word in words if word.start >= phrase.stop), None)
    if following is not None and re.fullmatch(r"\d{3,}", following.text):  # a telephone number
        return sentence[phrase.start : following.end]
    if requested(sentence, language):
        return ""
    if language is FRENCH or re.fullmatch(r"\d{3}", inside[-1].text):
        return sentence[phrase.start : phrase.stop]
    if following is None or inside[-1].after.strip() or not _may_be_noun(following.text, language):
        return ""
    return sentence[phrase.start : following.end]


def _is_number(word: TimeWord, language: Language) -> bool:
    return word.text.isdecimal() or group_of(word.text, groups_of((language,))) == "number"


def _joins(word: TimeWord, language: Language) -> bool:
    return group_of(word.text, groups_of((language,))) in ("at", "join")


def _may_be_noun(word: str, language: Language) -> bool:
    """In German a noun is written with a capital; in Russian an infinitive has its own ending."""
    if language is GERMAN:
        return word[:1].isupper() or _TO_INFINITIVE.fullmatch(word) is not None
    return language is RUSSIAN and not _INFINITIVE.fullmatch(word)


def taken_away(
    sentence: str,
    words: Sequence[TimeWord],
    language: Language,
    phrase: range,
    *,
    may_be_past: bool,
    may_be_stated: bool,
    is_span: bool,
) -> str:
    """The part of the clause around the phrase that says that the time is not wanted; empty if none does.

    `may_be_past`: whether the phrase, such as `monday at 9`, can also mean a time that has passed.
    `may_be_stated`: whether it, such as `9pm` and `friday`, can be what the clock or the calendar shows.
    `is_span`: whether it is a distance from now, which can also be how long something took."""
    clauses = CLAUSE_WORDS[language]
    extent = _clause(words, phrase)
    before, after = sentence[extent.start : phrase.start], sentence[phrase.stop : extent.stop]
    if (found := _search(clauses.removed, sentence[extent.start : extent.stop])) and (
        extent.start + found.start() < phrase.start
    ):
        return _part(sentence, extent.start + found.start(), phrase.stop)
    if (found := _search(clauses.existing, f"{before}§{after}")) and not _search(
        clauses.made, before + " " + after
    ):
        return _part(sentence, extent.start + min(found.start(), len(before)), phrase.stop)
    if not _search(clauses.wanted, before + " " + after):
        if found := _search(clauses.denied_before, before):
            return _part(sentence, extent.start + found.start(), phrase.stop)
        if found := re.match(clauses.denied_after, after, re.IGNORECASE):
            return _part(sentence, phrase.start, phrase.stop + found.end())
    if may_be_stated and (found := _search(clauses.stated, f"{before}§{after}")):
        return _part(sentence, extent.start + min(found.start(), len(before)), phrase.stop)
    if is_span and not _search(clauses.asked, before + " " + after):  # `in 3 hours we drove 300 km`
        near = after if language is GERMAN else " ".join(after.split()[:3])
        if found := _search(clauses.past, near):
            return _part(sentence, phrase.start, extent.stop)
    if may_be_past and not _search(clauses.asked, before + " " + after):
        if found := _search(clauses.past, f"{before}§"):
            return _part(sentence, extent.start + found.start(), phrase.stop)
        if found := _search(clauses.past, after):
            return _part(sentence, phrase.start, phrase.stop + found.end())
        if found := _search(clauses.past, f"{before} {after}"):  # `ist am Freitag gekommen`
            return _part(sentence, extent.start + found.start(), extent.stop)
    return ""


def _search(pattern: str, text: str) -> re.Match[str] | None:
    return re.search(pattern, text, re.IGNORECASE)


def _part(sentence: str, start: int, end: int) -> str:
    return sentence[start:end].strip(" ,，")


def _clause(words: Sequence[TimeWord], phrase: range) -> range:
    """The words around the phrase without punctuation between them."""
    before = [word for word in words if word.start < phrase.start]
    after = [word for word in words if word.start >= phrase.stop]
    start, end = phrase.start, phrase.stop
    for word in reversed(before):
        if _BREAK.search(word.after):
            break
        start = word.start
    inside = [word for word in words if word.start in phrase]
    for last, word in zip([*inside[-1:], *after], after, strict=False):
        if _BREAK.search(last.after):
            break
        end = word.end
    return range(start, end)
