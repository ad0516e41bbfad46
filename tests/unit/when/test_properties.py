"""What holds for every text and every moment."""

import random
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

from hypothesis import assume, given
from hypothesis import strategies as st

from segue.errors import BadTime
from segue.when import describe, read, read_duration, read_schedule
from segue.when.english import ENGLISH
from segue.when.moments import FIRST_YEAR, LAST_YEAR

START = datetime(FIRST_YEAR, 1, 3, tzinfo=UTC)
NOW = datetime(2026, 11, 15, 19, tzinfo=UTC)
ZONES = (
    "UTC",
    "Europe/Berlin",
    "America/New_York",
    "America/St_Johns",
    "Africa/Monrovia",  # 44 minutes and 30 seconds from UTC, until 1972
    "Asia/Kathmandu",
    "Australia/Lord_Howe",
    "Pacific/Apia",
    "Pacific/Kiritimati",
)
moments = st.datetimes(
    datetime(FIRST_YEAR, 1, 4),  # noqa: DTZ001
    datetime(LAST_YEAR, 12, 28),  # noqa: DTZ001
    timezones=st.just(UTC),
)
FRAGMENTS = (
    *ENGLISH.vocabulary,
    *(
        word
        for wordings in ENGLISH.wordings.values()
        for w, _ in wordings
        for item in w.items
        for word in item.words
    ),
    *(
        "0",
        "1",
        "2",
        "9",
        "12",
        "13",
        "31",
        "2027",
        "1.5",
        "09:00",
        "9:30",
        "24:00",
        "2027-03-28",
        "02:30",
        "1st",
    ),
    *(
        "3.3.2027",
        "03/04/2027",
        "T",
        "Z",
        "+02:00",
        "-05:00",
        "Europe/Berlin",
        "UTC",
        "[",
        "]",
        ",",
        "-",
        "*",
        "/",
    ),
)


@given(moments, st.sampled_from(ZONES))
def test_a_described_moment_is_read_back_exactly(moment: datetime, zone: str) -> None:
    again = read(describe(moment, zone), now=START, zone="Asia/Tokyo")
    assert again.astimezone(UTC) == moment
    assert again.utcoffset() == moment.astimezone(ZoneInfo(zone)).utcoffset()


@given(st.timedeltas(timedelta(seconds=1), timedelta(days=36_000)), st.sampled_from(ZONES))
def test_a_span_is_real_time_wherever_clocks_change(span: timedelta, zone: str) -> None:
    text = f"in {span.days} days and {span.seconds} seconds"
    assume(span.days or span.seconds)
    assert read(text, now=NOW, zone=zone) - NOW == timedelta(days=span.days, seconds=span.seconds)


@given(st.integers(0, 23), st.integers(0, 59), st.integers(1, 3_000), st.sampled_from(ZONES))
def test_a_wall_time_that_is_read_is_what_the_clock_shows(
    hour: int, minute: int, days: int, zone: str
) -> None:
    text = f"in {days} days at {hour:02}:{minute:02}"
    refusal = _refusal(text, zone)
    assert refusal is None or refusal.startswith("clocks in")
    assume(refusal is None)
    moment = read(text, now=NOW, zone=zone)
    shown = moment.astimezone(UTC).astimezone(ZoneInfo(zone))
    assert (shown.hour, shown.minute) == (hour, minute)
    assert shown.date() == NOW.astimezone(ZoneInfo(zone)).date() + timedelta(days=days)


@given(st.text(max_size=1_100))
def test_any_text_is_read_or_refused(text: str) -> None:
    _read_or_refuse(text)
    with suppress(BadTime):
        assert read_duration(text) > timedelta(0)


@given(st.text(max_size=50))
def test_any_zone_is_known_or_refused(zone: str) -> None:
    with suppress(BadTime):
        read("tomorrow at 09:00", now=NOW, zone=zone)


def test_twenty_thousand_scrambled_phrases_are_read_or_refused() -> None:
    chance = random.Random(20_261_115)
    for _ in range(20_000):
        words = chance.choices(FRAGMENTS, k=chance.randint(1, 7))
        _read_or_refuse(chance.choice(["", " ", " ", " "]).join(words))


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
