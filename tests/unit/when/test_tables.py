"""The language tables, and the grammar, which is independent of languages."""

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any, get_args, get_origin, get_type_hints
from zoneinfo import ZoneInfo

import pytest

from segue.errors import BadTime
from segue.times.reader import read, read_duration, read_schedule
from segue.times.reader.dates import InDays
from segue.times.reader.grammar import Reading, readings
from segue.times.reader.language import Kinds, Language
from segue.times.reader.languages.russian import RUSSIAN
from segue.times.reader.moments import After, OnDay
from segue.times.reader.parts import Measure, Span, Time, Unit
from segue.times.reader.readers import LANGUAGES

BERLIN = ZoneInfo("Europe/Berlin")
NOW = datetime(2026, 11, 15, 20, tzinfo=BERLIN)
OTHERS = [language for language in LANGUAGES if language.examples]
TIMES = ("09:00", "18:30")


def table(words: Kinds, phrases: Mapping[Any, tuple[str, ...]]) -> Language:
    """A language with nothing but these words and wordings."""
    return Language(
        spaced=True,
        decimal_mark=".",
        day_first="",
        ordinal_endings=("th",),
        joiners=(),
        numbers={},
        words=words,
        phrases=phrases,
    )


def meaning(wording: str, time: str) -> object:
    wording = wording.format(time=time)
    # At nine in the morning, every time that examples name today is still ahead.
    morning = NOW.replace(hour=9, minute=0) - timedelta(minutes=1)
    return read_schedule(wording, now=morning, zone=BERLIN)


@pytest.mark.parametrize("time", TIMES)
@pytest.mark.parametrize("language", OTHERS, ids=lambda language: language.examples["in 3 hours"])
def test_what_a_refusal_shows_means_the_same_in_every_language(language: Language, time: str) -> None:
    for english, own in language.examples.items():
        assert meaning(own, time) == meaning(english, time), own


def test_every_language_has_a_wording_for_every_example() -> None:
    first, *rest = OTHERS
    assert len(OTHERS) == len(LANGUAGES) - 1
    for language in rest:
        assert language.examples.keys() == first.examples.keys()


@pytest.mark.parametrize(
    ("text", "example"),
    [
        ("someday", "tomorrow at 09:00"),
        ("übernächstes Mal", "morgen um 09:00"),
        ("am Freitag irgendwann", "morgen um 09:00"),
        ("algún día", "mañana a las 09:00"),
        ("mañana o así", "mañana a las 09:00"),
        ("demain peut-être", "demain à 09:00"),
        ("когда-нибудь", "завтра в 09:00"),
        ("改天", "明天09:00"),
        ("يوما ما", "tomorrow at 09:00"),
    ],
)
def test_the_example_is_in_the_language_of_the_text(text: str, example: str) -> None:
    with pytest.raises(BadTime) as refused:
        read(text, now=NOW, zone=BERLIN)
    assert str(refused.value).endswith(f'; write for example "{example}"')


def test_where_no_spaces_are_written_the_refusal_points_at_the_rest() -> None:
    with pytest.raises(BadTime, match='could not read "左右" in "明天早上9点左右"'):
        read("明天早上9点左右", now=NOW, zone=BERLIN)


def test_a_word_that_begins_like_another_is_not_that_word() -> None:
    with pytest.raises(BadTime, match='could not read "завтрак"'):
        read("завтрак в 9:00", now=NOW, zone=BERLIN)


def test_several_languages_are_read_side_by_side() -> None:
    assert [reading.meaning for reading in readings("завтра", ("moment",), LANGUAGES)] == [OnDay(InDays(1))]
    assert [reading.meaning for reading in readings("明天", ("moment",), LANGUAGES)] == [OnDay(InDays(1))]
    assert readings("завтра", ("moment",), LANGUAGES) == [Reading(RUSSIAN, OnDay(InDays(1)))]


@pytest.mark.parametrize(
    ("plain", "accented"),
    [
        ("manana a las 9", "mañana a las 9"),
        ("el proximo miercoles", "el próximo miércoles"),
        ("a 9h demain", "à 9h demain"),
        ("le 3 fevrier", "le 3 février"),
        ("завтра днем в 2", "завтра днём в 2"),
    ],
)
def test_accents_may_be_left_out(plain: str, accented: str) -> None:
    def outcome(text: str) -> object:
        try:
            return read(text, now=NOW, zone=BERLIN)
        except BadTime:
            return None

    assert outcome(plain) == outcome(accented)


def test_a_text_that_two_languages_read_differently_is_refused_with_both(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    hours = table(
        words={"unit": {"h": Unit.HOUR, "m": Unit.MINUTE}},
        phrases={
            Measure: ("{number} {unit}",),
            Span: ("{measures:measure*}",),
            After: ("{span}",),
        },
    )
    clocks = table(
        words={"unit": {"m": Unit.SECOND}},
        phrases={
            Measure: ("{number} {unit}",),
            Span: ("{measures:measure*}",),
            Time: ("{clock:hour} h",),
            OnDay: ("{time}",),
        },
    )
    monkeypatch.setattr("segue.times.reader.readers.LANGUAGES", (hours, clocks))
    with pytest.raises(
        BadTime, match=r'"21h" can be Mon .*, 17:00 .*Europe/Berlin or Sun .*, 21:00 .*Europe/Berlin'
    ):
        read("21h", now=NOW, zone=BERLIN)
    assert read_duration("21h") == timedelta(hours=21)
    with pytest.raises(BadTime, match='"5m" can be 0:05:00 or 0:00:05; write for example "300s" or "5s"'):
        read_duration("5m")


def test_a_text_with_ever_more_readings_is_refused_before_they_are_counted() -> None:
    words = {"unit": {"m": Unit.MINUTE, "m|min": Unit.MONTH}}
    language = table(words=words, phrases={Measure: ("{number} {unit}",), Span: ("{measures:measure*}",)})
    assert len(readings("1m 2m", ("span",), (language,))) == 4
    with pytest.raises(BadTime, match="too many ways"):
        readings("1m " * 11 + "1m", ("span",), (language,), "30m")


def test_a_wording_that_is_no_wording_is_found_when_the_table_is_made() -> None:
    with pytest.raises(ValueError, match="not an item of a wording"):
        table(words={}, phrases={Span: ("[{measure}",)})


@pytest.mark.parametrize("language", LANGUAGES, ids=lambda language: sorted(language.joiners)[0])
def test_every_gap_of_a_wording_is_a_field_of_its_meaning_and_a_row_is_a_tuple(language: Language) -> None:
    for wordings in language.wordings.values():
        for wording, _ in wordings:
            hints = get_type_hints(wording.meaning)
            for item in wording.items:
                if item.field:
                    kinds = get_args(hints[item.field]) or (hints[item.field],)
                    rows = [kind for kind in (hints[item.field], *kinds) if get_origin(kind) is tuple]
                    assert bool(item.many) <= bool(rows), (wording.meaning, item)
                    assert item.many or rows != [hints[item.field]], (wording.meaning, item)
