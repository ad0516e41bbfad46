"""What holds for every text and every moment, in every language."""

import os
import random
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from time import thread_time
from zoneinfo import ZoneInfo

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from segue.errors import BadTime
from segue.times.reader import RepeatedCronLine, describe, explain, read, read_duration, read_schedule
from segue.times.reader.language import Language
from segue.times.reader.moments import FIRST_YEAR, LAST_YEAR
from segue.times.reader.readers import LANGUAGES
from tests.unit.when.wordings import WORDINGS, Wordings

LONG = os.environ.get("SEGUE_LONG") == "1"
MOST_SECONDS = 0.005

START = datetime(FIRST_YEAR, 1, 3, tzinfo=UTC)
NOW = datetime(2026, 11, 15, 19, tzinfo=UTC)
ZONES = (
    "UTC",
    "Europe/Berlin",
    "America/New_York",
    "America/St_Johns",
    "Asia/Kathmandu",
    "Australia/Lord_Howe",
    "Pacific/Apia",
    "Pacific/Kiritimati",
)
SHAPES = (
    *("0", "1", "2", "9", "12", "13", "31", "2027", "1.5", "1,5", "1st", "3.", "1er", "20-го", "9h30", "9点"),
    *("09:00", "9:30", "24:00", "02:30", "2027-03-28", "3.3.2027", "03/04/2027", "3.12.", "T", "Z"),
    *("+02:00", "-05:00", "Europe/Berlin", "UTC", "[", "]", ",", "、", "-", "*", "/", "é", "ß", "İ", "𝟗"),
)

moments = st.datetimes(
    datetime(FIRST_YEAR, 1, 4),  # noqa: DTZ001
    datetime(LAST_YEAR, 12, 28),  # noqa: DTZ001
    timezones=st.just(UTC),
)
zones = st.sampled_from(ZONES)
wordings = st.sampled_from(WORDINGS)
clocks = st.times().map(lambda time: f"{time:%H:%M}")


@given(moments, zones)
def test_a_described_moment_is_read_back_exactly(moment: datetime, zone: str) -> None:
    again = read(describe(moment, zone), now=START, zone="Asia/Tokyo")
    assert again.astimezone(UTC) == moment
    assert again.utcoffset() == moment.astimezone(ZoneInfo(zone)).utcoffset()


@given(moments, zones)
def test_an_echo_is_read_back_also_where_clocks_show_a_time_twice(moment: datetime, zone: str) -> None:
    moment = moment.replace(microsecond=0)
    echo, _, _ = explain(moment.astimezone(ZoneInfo(zone)), NOW).partition(" (")
    assert read(echo, now=START).astimezone(UTC) == moment


@given(wordings, st.timedeltas(timedelta(seconds=1), timedelta(days=36_000)), zones)
def test_a_span_is_real_time_wherever_clocks_change(words: Wordings, span: timedelta, zone: str) -> None:
    assume(span.days or span.seconds)
    text = words.span.format(days=span.days, seconds=span.seconds)
    assert read(text, now=NOW, zone=zone) - NOW == timedelta(days=span.days, seconds=span.seconds)


@given(wordings, clocks, st.integers(1, 3_000), zones)
def test_a_wall_time_that_is_read_is_what_the_clock_shows(
    words: Wordings, clock: str, days: int, zone: str
) -> None:
    text = words.ahead.format(days=days, time=clock)
    refusal = _refusal(text, zone)
    assert refusal is None or refusal.startswith("clocks in")
    assume(refusal is None)
    shown = read(text, now=NOW, zone=zone).astimezone(UTC).astimezone(ZoneInfo(zone))
    assert f"{shown:%H:%M}" == clock
    assert shown.date() == NOW.astimezone(ZoneInfo(zone)).date() + timedelta(days=days)


@given(wordings, st.dates(NOW.date() + timedelta(days=2), datetime(LAST_YEAR, 12, 28).date()), clocks)  # noqa: DTZ001
def test_a_date_in_words_is_that_date(words: Wordings, day: datetime, clock: str) -> None:
    text = words.date.format(day=day.day, month=words.months[day.month - 1], year=day.year, time=clock)
    assert f"{read(text, now=NOW, zone='UTC'):%Y-%m-%d %H:%M}" == f"{day} {clock}"


@given(wordings, clocks)
def test_a_daily_schedule_in_words_is_that_cron_line(words: Wordings, clock: str) -> None:
    hour, minute = clock.split(":")
    line = RepeatedCronLine(f"{int(minute)} {int(hour)} * * *", "UTC")
    assert read_schedule(words.daily.format(time=clock), now=NOW, zone="UTC") == line


@pytest.mark.parametrize("words", WORDINGS, ids=lambda words: words.language)
def test_a_number_in_words_is_that_number(words: Wordings) -> None:
    assert len(set(words.numbers.values())) >= 60
    for word, number in words.numbers.items():
        if number:
            assert read_duration(f"{word} {words.minutes}") == timedelta(minutes=number), word


@pytest.mark.parametrize("words", WORDINGS, ids=lambda words: words.language)
def test_a_weekday_in_words_is_the_next_of_that_name(words: Wordings) -> None:
    for number, weekday in enumerate(words.weekdays[:6]):
        moment = read(weekday, now=NOW, zone="UTC")
        assert moment.weekday() == number
        assert timedelta(0) < moment - NOW < timedelta(days=7)


@given(st.text(max_size=220))
def test_any_text_is_read_or_refused(text: str) -> None:
    _read_or_refuse(text)
    with suppress(BadTime):
        assert read_duration(text) > timedelta(0)


@given(st.text(max_size=50))
def test_any_zone_is_known_or_refused(zone: str) -> None:
    with suppress(BadTime):
        assert read("tomorrow at 09:00", now=NOW, zone=zone).hour == 9


@pytest.mark.parametrize("seed", range(20 if LONG else 1))
def test_scrambled_words_of_all_languages_are_read_or_refused(seed: int) -> None:
    """Issue 5: 100,000 strings without a crash, none of them over 5 ms; the short form takes 5,000."""
    chance = random.Random(20_261_115 + seed)
    fragments = [_fragments(language) for language in LANGUAGES]
    every = [word for words in fragments for word in words]
    slow = []
    for _ in range(5_000):
        words = chance.choices(chance.choice([*fragments, every]), k=chance.randint(1, 9))
        text = chance.choice(["", " ", " ", " "]).join(words)
        start = thread_time()
        _read_or_refuse(text)
        if thread_time() - start >= MOST_SECONDS:
            slow.append(text)
    if LONG:
        assert [text for text in slow if _seconds(text) >= MOST_SECONDS] == []


def _fragments(language: Language) -> list[str]:
    return [*language.vocabulary, *language.fixed_words, *SHAPES, *SHAPES]


def _seconds(text: str) -> float:
    """The least processor time it takes, because other work of the machine must not count."""
    spent = []
    for _ in range(5):
        start = thread_time()
        _refusal(text, "Europe/Berlin")
        spent.append(thread_time() - start)
    return min(spent)


def _read_or_refuse(text: str) -> None:
    refusal = _refusal(text, "Europe/Berlin")
    assert refusal is None or "; write for example " in refusal
    (refusal or "").encode()


def _refusal(text: str, zone: str) -> str | None:
    try:
        read_schedule(text, now=NOW, zone=zone)
    except BadTime as refused:
        return str(refused)
    return None
