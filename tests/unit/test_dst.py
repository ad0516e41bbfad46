"""Cron lines where clocks change, against an oracle that shares nothing with the code under test.

The oracle walks UTC minute by minute and asks zoneinfo what the wall clock reads. A line that follows the
clock fires at every reading it names. Any other fires when a wall it names lies above the highest reading
so far and not above this one: the clock has come to it, or has just jumped over it.
"""

import io
import struct
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from functools import cache
from zoneinfo import ZoneInfo

import pytest

from segue.times import cron_line
from segue.times.trigger import Cron

MINUTE = timedelta(minutes=1)
DAY = timedelta(days=1)

ZONES = [
    "Europe/Berlin",
    "Europe/London",
    "America/New_York",
    "America/Sao_Paulo",  # changed at midnight
    "America/St_Johns",  # half-hour zone; changed one minute after midnight
    "America/Havana",  # goes back to midnight
    "Australia/Sydney",
    "Australia/Lord_Howe",  # changes by half an hour
    "Pacific/Apia",  # jumped over 30 December 2011
    "Africa/Casablanca",  # four changes a year, around Ramadan
    "Asia/Kolkata",  # never
    "Asia/Tehran",
]
YEARS = range(2006, 2026)

Names = Callable[[datetime], bool]

FIXED: dict[str, Names] = {
    "30 2 * * *": lambda read: (read.hour, read.minute) == (2, 30),
    "0 0 * * *": lambda read: (read.hour, read.minute) == (0, 0),
    "30 1 * * *": lambda read: (read.hour, read.minute) == (1, 30),
    "0,15,45 0-3 * * *": lambda read: read.hour <= 3 and read.minute in (0, 15, 45),
    "40 23 * * *": lambda read: (read.hour, read.minute) == (23, 40),
    "0 12 * * 0,1": lambda read: (read.hour, read.minute) == (12, 0) and read.isoweekday() in (7, 1),
}
FOLLOWING: dict[str, Names] = {
    "45 * * * *": lambda read: read.minute == 45,
    "*/20 1-2 * * *": lambda read: read.minute % 20 == 0 and read.hour in (1, 2),
    "0 */2 * * *": lambda read: read.minute == 0 and read.hour % 2 == 0,
    "* 0,23 * * *": lambda read: read.hour in (0, 23),
}


@cache
def changes(zone: str) -> list[datetime]:
    """The UTC hours of those years in which the zone's offset changed."""
    info, hour = ZoneInfo(zone), timedelta(hours=1)
    found, day = [], datetime(YEARS[0], 1, 1, tzinfo=UTC)
    while day.year in YEARS:
        if day.astimezone(info).utcoffset() != (day + DAY).astimezone(info).utcoffset():
            hours = [day + n * hour for n in range(25)]
            offsets = [moment.astimezone(info).utcoffset() for moment in hours]
            found += [hours[n] for n in range(24) if offsets[n] != offsets[n + 1]]
        day += DAY
    return found


@cache
def readings(zone: str) -> list[list[tuple[datetime, datetime]]]:
    """For each change, (moment, what the clock read), minute by minute, from 20 hours before to 20 after."""
    info = ZoneInfo(zone)
    around = [n * MINUTE for n in range(-20 * 60, 20 * 60)]
    return [
        [(at + step, (at + step).astimezone(info).replace(tzinfo=None)) for step in around]
        for at in changes(zone)
    ]


def oracle(expr: str, walked: list[tuple[datetime, datetime]]) -> list[datetime]:
    """The slots among those minutes, but for the first of them."""
    if expr in FOLLOWING:
        return [moment for moment, read in walked[1:] if FOLLOWING[expr](read)]
    found: list[datetime] = []
    names = FIXED[expr]
    _, highest = walked[0]
    for moment, read in walked[1:]:
        while highest < read:
            highest += MINUTE
            if names(highest) and (not found or found[-1] != moment):
                found.append(moment)
    return found


def slots(cron: Cron, after: datetime, until: datetime) -> list[datetime]:
    found = []
    slot = cron.next_after(after)
    while slot is not None and slot <= until:
        found.append(slot)
        slot = cron.next_after(slot)
    return found


@pytest.mark.parametrize("zone", ZONES)
@pytest.mark.parametrize("expr", [*FIXED, *FOLLOWING])
def test_a_line_fires_as_the_oracle_says_around_every_change_of_twenty_years(expr: str, zone: str) -> None:
    """10.3: both hemispheres, and zones that change by half an hour."""
    cron = Cron(expr, tz=zone)
    for walked in readings(zone):
        first, last = walked[0][0], walked[-1][0]
        expected = oracle(expr, walked)
        assert slots(cron, first, last) == expected
        assert cron.count_between(first, last) == len(expected)
        assert cron.latest_at_or_before(last, first) == (expected[-1] if expected else None)


@pytest.mark.parametrize("zone", ZONES)
@pytest.mark.parametrize("expr", ["30 2 * * *", "0,15,45 0-3 * * *", "45 * * * *"])
def test_wherever_the_question_starts_the_answer_is_the_same(expr: str, zone: str) -> None:
    cron = Cron(expr, tz=zone)
    for walked in readings(zone):
        expected = oracle(expr, walked)
        last = walked[-1][0]
        for moment, _ in walked[17 * 60 : 23 * 60 : 13]:
            later = [slot for slot in expected if slot > moment]
            assert cron.next_after(moment) == (later[0] if later else cron.next_after(last))
            assert cron.count_between(moment, last) == len(later)
            before = [slot for slot in expected if slot <= moment]
            assert cron.latest_at_or_before(moment, walked[0][0]) == (before[-1] if before else None)


@pytest.mark.parametrize("zone", ZONES)
def test_a_daily_line_fires_once_a_day_for_twenty_years(zone: str) -> None:
    """10.3: once on the day with 23 hours, once on that with 25."""
    cron, info = Cron("30 2 * * *", tz=zone), ZoneInfo(zone)
    start, end = (datetime(year, 1, 1, tzinfo=info).astimezone(UTC) for year in (YEARS[0], YEARS[-1] + 1))
    fired = slots(cron, start, end)
    days = (end.astimezone(info).date() - start.astimezone(info).date()).days
    assert len(fired) == cron.count_between(start, end) == days
    skipped_day = {slot.astimezone(info).date() for slot in fired}
    assert len(skipped_day) == (days - 1 if zone == "Pacific/Apia" else days)


def utc(text: str) -> datetime:
    return datetime.fromisoformat(text).astimezone(UTC)


@pytest.mark.parametrize(
    ("expr", "zone", "after", "expected"),
    [
        pytest.param(
            "30 2 * * *",
            "Europe/Berlin",
            "2025-03-29T12:00+01:00",
            ["2025-03-30T03:00+02:00", "2025-03-31T02:30+02:00"],
            id="a time that does not exist fires when the gap ends",
        ),
        pytest.param(
            "15,30,45 2 * * *",
            "Europe/Berlin",
            "2025-03-29T12:00+01:00",
            ["2025-03-30T03:00+02:00", "2025-03-31T02:15+02:00"],
            id="three times that do not exist fire once",
        ),
        pytest.param(
            "30 2 * * *",
            "Europe/Berlin",
            "2025-10-25T12:00+02:00",
            ["2025-10-26T02:30+02:00", "2025-10-27T02:30+01:00"],
            id="a time that comes twice fires the first time",
        ),
        pytest.param(
            "30 2 * * *",
            "Europe/Berlin",
            "2025-10-26T02:10+01:00",
            ["2025-10-27T02:30+01:00"],
            id="asked within the repeated hour, it has fired",
        ),
        pytest.param(
            "30 * * * *",
            "Europe/Berlin",
            "2025-10-26T01:45+02:00",
            ["2025-10-26T02:30+02:00", "2025-10-26T02:30+01:00", "2025-10-26T03:30+01:00"],
            id="an hourly line fires in every real hour",
        ),
        pytest.param(
            "45 * * * *",
            "Australia/Lord_Howe",
            "2025-04-06T00:50+11:00",
            ["2025-04-06T01:45+11:00", "2025-04-06T01:45+10:30", "2025-04-06T02:45+10:30"],
            id="a clock that goes back by half an hour",
        ),
        pytest.param(
            "0 0 * * *",
            "America/Sao_Paulo",
            "2018-11-03T12:00-03:00",
            ["2018-11-04T01:00-02:00", "2018-11-05T00:00-02:00"],
            id="a midnight that does not exist",
        ),
        pytest.param(
            "0 12 * * *",
            "Pacific/Apia",
            "2011-12-29T13:00-10:00",
            ["2011-12-31T00:00+14:00", "2011-12-31T12:00+14:00"],
            id="a day that does not exist",
        ),
        pytest.param(
            "0 6 29 2 *",
            "Asia/Kolkata",
            "2025-01-01T00:00+05:30",
            ["2028-02-29T06:00+05:30", "2032-02-29T06:00+05:30"],
            id="a leap day",
        ),
        pytest.param(
            "0 6 29 2 *",
            "UTC",
            "2096-03-01T00:00+00:00",
            ["2104-02-29T06:00+00:00"],
            id="the leap day that 2100 does not have",
        ),
    ],
)
def test_the_rule_in_examples(expr: str, zone: str, after: str, expected: list[str]) -> None:
    """10.3."""
    cron = Cron(expr, tz=zone)
    found, moment = [], utc(after)
    for _ in expected:
        slot = cron.next_after(moment)
        assert slot is not None
        found.append(slot)
        moment = slot
    assert found == [utc(text) for text in expected]


def made_up_zone(change: datetime, before: timedelta, after: timedelta) -> ZoneInfo:
    """A zone file with one change, for what no government has done yet."""
    counts = struct.pack(">6l", 0, 0, 0, 1, 2, 4)
    offsets = b"".join(
        struct.pack(">lbb", offset // timedelta(seconds=1), 0, 0) for offset in (before, after)
    )
    content = struct.pack(">lB", int(change.timestamp()), 1) + offsets + b"XYZ\0"
    return ZoneInfo.from_file(io.BytesIO(b"TZif" + bytes(16) + counts + content))


def test_an_hour_that_is_repeated_across_new_year_is_still_a_repetition() -> None:
    hour = timedelta(hours=1)
    zone = made_up_zone(datetime(2029, 12, 31, 23, 30, tzinfo=UTC), hour, timedelta(0))
    once, following = cron_line.CronLine("15 0 * * *"), cron_line.CronLine("15 * * * *")
    eve, first = datetime(2029, 12, 31, 22), datetime(2030, 1, 1, 12)  # noqa: DTZ001
    assert cron_line.next_slot(once, zone, eve) == datetime(2029, 12, 31, 23, 15)  # noqa: DTZ001
    assert cron_line.count_slots(once, zone, eve, first) == 1
    assert cron_line.latest_slot(once, zone, eve, first) == datetime(2029, 12, 31, 23, 15)  # noqa: DTZ001
    assert cron_line.count_slots(following, zone, eve, first) == 14
