"""Writes moments and schedules in the words of each language, for the tests of all languages."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from segue.times.reader.languages import chinese_words as chinese
from segue.times.reader.languages import english_words as english
from segue.times.reader.languages import french_words as french
from segue.times.reader.languages import german_words as german
from segue.times.reader.languages import russian_words as russian
from segue.times.reader.languages import spanish_words as spanish


@dataclass(frozen=True, slots=True, kw_only=True)
class Wordings:
    language: str
    span: str
    ahead: str
    date: str
    daily: str
    minutes: str
    months: Sequence[str]
    weekdays: Sequence[str]
    numbers: Mapping[str, int]


def first(table: Mapping[str, int]) -> list[str]:
    return [names.split("|")[0] for names in table]


WORDINGS = (
    Wordings(
        language="english",
        span="in {days} days and {seconds} seconds",
        ahead="in {days} days at {time}",
        date="{day} {month} {year} at {time}",
        daily="every day at {time}",
        minutes="minutes",
        months=first(english.MONTHS),
        weekdays=first(english.WEEKDAYS),
        numbers=english.NUMBERS,
    ),
    Wordings(
        language="chinese",
        span="{days}天{seconds}秒后",
        ahead="{days}天后{time}",
        date="{year}年{month}{day}日{time}",
        daily="每天{time}",
        minutes="分钟",
        months=first(chinese.MONTHS),
        weekdays=first(chinese.WEEKDAYS),
        numbers=chinese.NUMBERS,
    ),
    Wordings(
        language="russian",
        span="через {days} дней {seconds} секунд",
        ahead="через {days} дней в {time}",
        date="{day} {month} {year} года в {time}",
        daily="каждый день в {time}",
        minutes="минут",
        months=first(russian.MONTHS),
        weekdays=first(russian.WEEKDAYS),
        numbers=russian.NUMBERS,
    ),
    Wordings(
        language="german",
        span="in {days} Tagen und {seconds} Sekunden",
        ahead="in {days} Tagen um {time}",
        date="am {day}. {month} {year} um {time}",
        daily="jeden Tag um {time}",
        minutes="Minuten",
        months=first(german.MONTHS),
        weekdays=first(german.WEEKDAYS),
        numbers=german.NUMBERS,
    ),
    Wordings(
        language="spanish",
        span="en {days} días y {seconds} segundos",
        ahead="en {days} días a las {time}",
        date="el {day} de {month} de {year} a las {time}",
        daily="cada día a las {time}",
        minutes="minutos",
        months=first(spanish.MONTHS),
        weekdays=first(spanish.WEEKDAYS),
        numbers=spanish.NUMBERS,
    ),
    Wordings(
        language="french",
        span="dans {days} jours et {seconds} secondes",
        ahead="dans {days} jours à {time}",
        date="le {day} {month} {year} à {time}",
        daily="tous les jours à {time}",
        minutes="minutes",
        months=first(french.MONTHS),
        weekdays=first(french.WEEKDAYS),
        numbers=french.NUMBERS,
    ),
)
