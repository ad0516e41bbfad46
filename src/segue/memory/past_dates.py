"""Past dates in questions: the periods that `last summer`, `im März` or `昨天` may mean, seen from a day.

The reader of times refuses what has two meanings, because a job runs by it. Here a period only raises the
scores of what was said in it, so a wording with two meanings has two periods. The names of months and
weekdays and the number words are those of the reader, in its six languages.
"""

import re
from collections.abc import Iterator, Mapping
from datetime import date, timedelta
from functools import cache
from importlib import import_module
from typing import NamedTuple

from segue.memory.past_words import SEASONS, WORDINGS, Wordings

_DAY = timedelta(days=1)
_FIRST_MONTHS = dict(zip(SEASONS, (3, 6, 9, 12), strict=True))
"""Of each season, in the northern half of the world."""
_DAYS_IN = {"day": 1, "week": 7, "month": 30.44, "year": 365.25}
_YEAR = r"(?:19|20)\d\d"


class Period(NamedTuple):
    """From the first day up to the last, without it."""

    first: date
    last: date


def periods_in(text: str, today: date) -> list[Period]:
    """The periods that a question names, seen from `today`; none in the future."""
    plain = text.casefold()
    found = [*_calendar_days(plain), *_chinese(plain, today)]
    for language in WORDINGS:
        found += _in_language(plain, language, today)
    past = [period for period in dict.fromkeys(found) if period.first <= today]
    return [period for period in past if not any(_contains(period, other) for other in past)]


def _contains(period: Period, other: Period) -> bool:
    """Whether the other is named more exactly: of `in the summer of 2024` the summer counts."""
    return period != other and period.first <= other.first and other.last <= period.last


def _in_language(text: str, language: str, today: date) -> Iterator[Period]:
    wordings, nouns = WORDINGS[language], _nouns(language)
    for word in _days_pattern(language).findall(text):
        yield _one_day(today - wordings.days_ago[word] * _DAY)
    for match in _ago_pattern(language).finditer(text):
        given = match["number"]
        count = int(given) if given.isdigit() else _words_of(language, "NUMBERS")[given]
        yield _about(str(nouns[match["unit"]]), count, today)
    for match in _noun_pattern(language).finditer(text):
        yield from _named(nouns[match["noun"]], match, wordings, today)
    for year in re.findall(rf"\b(?:{wordings.within}) ({_YEAR})\b", text):
        yield _months(int(year), 1, 12)


def _named(noun: str | int, match: re.Match[str], wordings: Wordings, today: date) -> Iterator[Period]:
    """The periods of a unit, a season, a month (1 to 12) or a weekday (negative)."""
    before = match["before"] or ""
    last = bool(match["after"] or re.fullmatch(wordings.last, before))
    this = bool(re.fullmatch(wordings.this, before))
    if isinstance(noun, int) and noun <= 0:
        if before:
            yield _one_day(today - ((today.weekday() + noun - 1) % 7 + 1) * _DAY)
        return
    if noun in _DAYS_IN:
        if last:
            yield _unit(str(noun), today, back=1)
        elif this:
            yield _unit(str(noun), today, back=0)
        return
    month, length = (noun, 1) if isinstance(noun, int) else (_FIRST_MONTHS[noun], 3)
    if match["year"]:
        yield _within(match["day"], _months(int(match["year"]), month, length))
    elif before or last or match["day"]:
        newest = _newest(month, length, today)
        yield _within(match["day"], newest)
        if last and newest.first.year == today.year:
            yield _months(today.year - 1, month, length)


def _within(day: str | None, period: Period) -> Period:
    """The day of a month, if one is named and the month has it; else the whole period."""
    if day is None or not 1 <= int(day) <= (period.last - period.first).days:
        return period
    return _one_day(period.first + (int(day) - 1) * _DAY)


def _unit(name: str, today: date, *, back: int) -> Period:
    """This week, month or year, or the one before it."""
    if name == "year":
        return _months(today.year - back, 1, 12)
    if name == "month":
        months = today.year * 12 + today.month - 1 - back
        return _months(months // 12, months % 12 + 1, 1)
    if name == "week":
        monday = today - (today.weekday() + 7 * back) * _DAY
        return Period(monday, monday + 7 * _DAY)
    return _one_day(today - back * _DAY)


def _about(unit: str, count: int, today: date) -> Period:
    days = _DAYS_IN[unit]
    middle = today - min(round(count * days), 36_500) * _DAY
    slack = round(days / 2) * _DAY
    return Period(middle - slack, middle + slack + _DAY)


def _chinese(text: str, today: date) -> Iterator[Period]:
    for word, days in {"今天": 0, "昨天": 1, "昨晚": 1, "前天": 2}.items():
        if word in text:
            yield _one_day(today - days * _DAY)
    for word, unit in {"上周": "week", "上星期": "week", "上个星期": "week", "上个月": "month"}.items():
        if word in text:
            yield _unit(unit, today, back=1)
    years = [today.year - ago for word, ago in {"今年": 0, "去年": 1, "前年": 2}.items() if word in text]
    years += [int(year) for year in re.findall(rf"({_YEAR})年", text)]
    months = _words_of("chinese", "MONTHS")
    parts = [
        (months[name], 1)
        for name in re.findall(r"(?:十[一二]?|[一二三四五六七八九]|\d{1,2})月", text)
        if name in months
    ]
    seasons = zip("春夏秋冬", _FIRST_MONTHS.values(), strict=True)
    parts += [(month, 3) for character, month in seasons if re.search(f"{character}[天季]", text)]
    for year in years:
        yield from (_months(year, month, length) for month, length in parts or [(1, 12)])
    if not years:
        yield from (_newest(month, length, today) for month, length in parts)


def _calendar_days(text: str) -> Iterator[Period]:
    shapes = {
        rf"\b(?P<year>{_YEAR})-(?P<month>\d\d)-(?P<day>\d\d)\b",
        rf"\b(?P<day>\d{{1,2}})\.(?P<month>\d{{1,2}})\.(?P<year>{_YEAR})\b",
        rf"(?P<year>{_YEAR})年(?P<month>\d{{1,2}})月(?P<day>\d{{1,2}})日",
    }
    for match in (match for shape in sorted(shapes) for match in re.finditer(shape, text)):
        if 1 <= int(match["month"]) <= 12:
            yield _within(match["day"], _months(int(match["year"]), int(match["month"]), 1))


def _newest(month: int, length: int, today: date) -> Period:
    """The newest of these months that has begun."""
    this_year = _months(today.year, month, length)
    return this_year if this_year.first <= today else _months(today.year - 1, month, length)


def _months(year: int, month: int, length: int) -> Period:
    end = month - 1 + length
    return Period(date(year, month, 1), date(year + end // 12, end % 12 + 1, 1))


def _one_day(day: date) -> Period:
    return Period(day, day + _DAY)


@cache
def _days_pattern(language: str) -> re.Pattern[str]:
    return re.compile(rf"\b({_any_of(WORDINGS[language].days_ago)})\b")


@cache
def _ago_pattern(language: str) -> re.Pattern[str]:
    units = [word for word, noun in _nouns(language).items() if noun in _DAYS_IN]
    number = rf"(?P<number>\d{{1,3}}|{_any_of(_words_of(language, 'NUMBERS'))})"
    shape = WORDINGS[language].ago.replace("N", number).replace("U", f"(?P<unit>{_any_of(units)})")
    return re.compile(rf"\b{shape}\b")


@cache
def _noun_pattern(language: str) -> re.Pattern[str]:
    wordings = WORDINGS[language]
    before = rf"(?P<before>{wordings.last}|{wordings.this}|{wordings.within})(?: the)? "
    day = r"(?P<day>\d{1,2})(?:\.|st|nd|rd|th|-го)? (?:of |de )?"
    after = rf"(?: (?P<after>{wordings.after}))?" if wordings.after else r"(?P<after>(?!))?"
    year = rf"(?:,? (?:of |de |del )?(?P<year>{_YEAR}))?"
    return re.compile(rf"\b(?:{day}|{before})?(?:l')?(?P<noun>{_any_of(_nouns(language))}){after}{year}\b")


@cache
def _nouns(language: str) -> dict[str, str | int]:
    """Words for units and seasons, by name; for months from 1; for weekdays from 0 down."""
    nouns: dict[str, str | int] = {}
    for names in (WORDINGS[language].units, WORDINGS[language].seasons):
        nouns |= {word: name for name, words in names.items() for word in words.split()}
    months = dict(_words_of(language, "MONTHS"))
    if language == "russian":
        months |= {re.sub("[ая]$", "е", word): month for word, month in months.items()}
    weekdays = {word: -day for word, day in _words_of(language, "WEEKDAYS").items() if len(word) > 3}
    return {**weekdays, **months, **nouns}


@cache
def _words_of(language: str, table: str) -> Mapping[str, int]:
    words = vars(import_module(f"segue.times.reader.languages.{language}_words"))[table]
    return {word: int(meaning) for key, meaning in words.items() for word in key.casefold().split("|")}


def _any_of(words: Mapping[str, object] | list[str]) -> str:
    return "|".join(sorted(map(re.escape, words), key=len, reverse=True))
