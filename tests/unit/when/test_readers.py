"""Rules of the parser that no single line of the corpus shows."""

from datetime import UTC, datetime, timedelta, timezone
from zoneinfo import ZoneInfo, available_timezones

import pytest

from segue.errors import BadTime
from segue.times.reader import describe, explain, read, read_duration, read_schedule

BERLIN = ZoneInfo("Europe/Berlin")
SUNDAY_EVENING = datetime(2026, 11, 15, 20, tzinfo=BERLIN)


@pytest.mark.parametrize(
    ("text", "length"),
    [
        ("30m", timedelta(minutes=30)),
        ("2h 15m", timedelta(hours=2, minutes=15)),
        ("2h15m", timedelta(hours=2, minutes=15)),
        ("90 seconds", timedelta(seconds=90)),
        ("1 week", timedelta(weeks=1)),
        ("half an hour", timedelta(minutes=30)),
        ("a half hour", timedelta(minutes=30)),
        ("1.5 hours", timedelta(minutes=90)),
        ("an hour and a half", timedelta(minutes=90)),
        ("two hours and a quarter", timedelta(minutes=135)),
        ("0.001s", timedelta(milliseconds=1)),
        ("36525 days", timedelta(days=36525)),
    ],
)
def test_a_duration_is_read(text: str, length: timedelta) -> None:
    assert read_duration(text) == length


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "empty text"),
        ("2", "only a part"),
        ("in 2h", 'could not read "in"'),
        ("2h ago", 'could not read "ago"'),
        ("tomorrow", 'could not read "tomorrow"'),
        ("2 months", "no fixed length"),
        ("1 year", "no fixed length"),
        ("0h", "longer than nothing"),
        ("-2h", 'could not read "-2h"'),
        ("36526 days", "at most 100 years"),
    ],
)
def test_what_is_no_duration_is_refused(text: str, reason: str) -> None:
    with pytest.raises(BadTime, match=reason):
        read_duration(text)


@pytest.mark.parametrize(
    "character", ["\0", "\n", "\t", "\x7f", "\u200b", "\ufeff", "\u202e", "\ud800", "\ue000"]
)
def test_an_invisible_character_is_refused_and_not_repeated(character: str) -> None:
    with pytest.raises(BadTime, match=f"U\\+{ord(character):04X}, character 9") as refused:
        read(f"tomorrow{character} at 9", now=SUNDAY_EVENING, zone=BERLIN)
    assert character not in str(refused.value)


def test_a_text_of_more_than_two_hundred_characters_is_refused_at_once() -> None:
    with pytest.raises(BadTime, match="at most 200 characters, not 201"):
        read("x" * 201, now=SUNDAY_EVENING)


def test_a_refusal_repeats_only_the_beginning_of_a_long_text() -> None:
    with pytest.raises(BadTime) as refused:
        read("tomorrow " + "x" * 190, now=SUNDAY_EVENING, zone=BERLIN)
    assert len(str(refused.value)) < 250


@pytest.mark.parametrize("zone", ["Europe/Berlin", BERLIN])
def test_the_zone_of_the_caller_may_be_a_name_or_a_zone(zone: str | ZoneInfo) -> None:
    moment = read("tomorrow at 09:00", now=SUNDAY_EVENING.astimezone(UTC), zone=zone)
    assert moment.isoformat() == "2026-11-16T09:00:00+01:00"
    assert moment.tzinfo == BERLIN


@pytest.mark.parametrize(
    "zone",
    [
        "",
        "Berlin",
        "Europe",
        "+2",
        "+25:00",
        "+02:60",
        "../UTC",
        "right/UTC",
        "localtime",
        "é",
        "\ud800",
        "\0",
    ],
)
def test_a_zone_that_is_none_is_refused_even_when_it_is_not_needed(zone: str) -> None:
    with pytest.raises(BadTime, match=r"time zone|offset"):
        read("in 3 hours", now=SUNDAY_EVENING, zone=zone)


def test_a_time_without_a_zone_is_no_moment() -> None:
    somewhere = SUNDAY_EVENING.replace(tzinfo=None)
    with pytest.raises(ValueError, match="now must be aware"):
        read("in 3 hours", now=somewhere)
    with pytest.raises(ValueError, match="a moment must be aware"):
        describe(somewhere, BERLIN)


def test_a_named_day_is_one_of_the_callers_zone_and_a_bare_time_is_today_where_it_is() -> None:
    late_in_berlin = datetime(2026, 11, 15, 23, 30, tzinfo=BERLIN)
    tomorrow = read("tomorrow 9am Asia/Tokyo", now=late_in_berlin, zone=BERLIN)
    assert tomorrow.isoformat() == "2026-11-16T09:00:00+09:00"
    assert read("9am Asia/Tokyo", now=late_in_berlin, zone=BERLIN) == tomorrow


def test_every_place_can_be_named_in_a_text() -> None:
    places = sorted(name for name in available_timezones() if "/" in name)
    for place in places:
        if not place.startswith(("posix/", "right/")):
            assert read(f"2027-06-15 12:00 {place}", now=SUNDAY_EVENING).tzinfo == ZoneInfo(place)


def test_a_moment_is_said_in_the_zone_of_the_listener() -> None:
    assert describe(datetime(2026, 11, 16, 8, tzinfo=UTC), "Europe/Berlin") == "2026-11-16T09:00:00+01:00"


@pytest.mark.parametrize(
    ("ahead", "distance"),
    [
        (timedelta(hours=13), "in 13 h"),
        (timedelta(hours=2, minutes=15), "in 2 h 15 min"),
        (timedelta(days=3, minutes=15), "in 3 d"),
        (timedelta(seconds=40), "in 40 s"),
        (timedelta(0), "now"),
        (timedelta(hours=-3), "3 h ago"),
    ],
)
def test_an_echo_says_how_far_away_a_moment_is(ahead: timedelta, distance: str) -> None:
    now = datetime(2026, 11, 16, 20, tzinfo=BERLIN)
    assert explain(now + ahead, now).endswith(f"({distance})")


def test_an_echo_says_all_that_a_person_needs_to_check_a_time() -> None:
    monday_evening = datetime(2026, 11, 16, 20, tzinfo=BERLIN)
    moment = read("tomorrow at 09:00", now=monday_evening, zone=BERLIN)
    assert explain(moment, monday_evening) == "Tue 17 Nov 2026, 09:00 +01:00 Europe/Berlin (in 13 h)"
    there = moment.astimezone(timezone(timedelta(hours=-5, minutes=-30)))
    assert explain(there, monday_evening) == "Tue 17 Nov 2026, 02:30 UTC-05:30 (in 13 h)"


def test_a_refused_schedule_is_answered_with_an_example() -> None:
    with pytest.raises(BadTime) as refused:
        read_schedule("now and then", now=SUNDAY_EVENING, zone=BERLIN)
    _, _, examples = str(refused.value).partition("for example ")
    assert len(examples.split(" or ")) == 2
    for example in examples.split(" or "):
        read_schedule(example.strip('"'), now=SUNDAY_EVENING, zone=BERLIN)
