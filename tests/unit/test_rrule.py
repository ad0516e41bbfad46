"""Recurrence rules: their walls are those that dateutil names, and clocks change as for cron lines.

requirements/days.md §2. dateutil is the oracle only: it walks from the start, and a rule that never fires
takes it seconds.
"""

import os
import random
from datetime import UTC, datetime, timedelta
from itertools import islice
from zoneinfo import ZoneInfo

import pytest
from dateutil.rrule import rrulestr

from segue.errors import BadTrigger, ZoneNeeded
from segue.times.rrule import Recurrence
from segue.times.trigger import RRule, resolve, trigger_from_json

LONG = os.environ.get("SEGUE_LONG") == "1"
START = datetime(2026, 11, 20, 9)  # noqa: DTZ001
WEEKDAYS = ("MO", "TU", "WE", "TH", "FR", "SA", "SU")
BERLIN = ZoneInfo("Europe/Berlin")


def random_rule(chance: random.Random) -> str:
    frequency = chance.choice(("DAILY", "WEEKLY", "MONTHLY", "YEARLY"))
    parts = [f"FREQ={frequency}"]

    def maybe(part: str, likely: float = 0.3) -> None:
        if chance.random() < likely:
            parts.append(part)

    nth = chance.choice(("", "", "1", "2", "-1")) if frequency in ("MONTHLY", "YEARLY") else ""
    days = chance.sample(WEEKDAYS, chance.randint(1, 3))
    maybe(f"INTERVAL={chance.randint(1, 7)}", 0.6)
    maybe(f"BYDAY={','.join(nth + day for day in days)}", 0.5)
    if frequency != "WEEKLY":
        numbers = chance.sample((1, 2, 13, 15, 28, 29, 30, 31, -1, -2, -31), chance.randint(1, 4))
        maybe(f"BYMONTHDAY={','.join(map(str, numbers))}", 0 if nth else 0.3)
    maybe(f"BYMONTH={','.join(map(str, chance.sample(range(1, 13), chance.randint(1, 4))))}")
    maybe(f"BYHOUR={','.join(map(str, chance.sample(range(24), chance.randint(1, 3))))}")
    maybe(f"BYMINUTE={','.join(map(str, chance.sample(range(60), chance.randint(1, 3))))}")
    if len(parts) > 1 and frequency != "WEEKLY":  # dateutil cuts the first week at the start
        maybe(f"BYSETPOS={','.join(map(str, chance.sample((1, 2, 3, -1, -2), 2)))}", 0.2)
    maybe(f"WKST={chance.choice(WEEKDAYS)}", 0.2)
    maybe(chance.choice((f"COUNT={chance.randint(1, 30)}", "UNTIL=20300101T000000")), 0.2)
    return ";".join(parts)


@pytest.mark.parametrize("seed", range(20 if LONG else 1))
def test_random_rules_name_the_walls_that_dateutil_names(seed: int) -> None:
    chance = random.Random(seed)
    for _ in range(100):
        rule = random_rule(chance)
        start = datetime(2026, chance.randint(1, 12), chance.randint(1, 28), chance.randint(0, 23), 30)  # noqa: DTZ001
        end = start.replace(year=start.year + 4)
        try:
            line = Recurrence(rule, start)
        except BadTrigger:  # it never fires; dateutil would search for minutes
            continue
        expected = list(rrulestr(rule, dtstart=start).between(start, end, inc=True))
        assert list(line._between(start, end + timedelta(microseconds=1))) == expected, rule
        low = start + (end - start) * chance.random()
        high = low + (end - low) * chance.random()
        inside = [wall for wall in expected if low <= wall < high]
        assert line.first(low, high) == (inside[0] if inside else None), rule
        assert line.last(low, high) == (inside[-1] if inside else None), rule
        assert line.count(low, high) == len(inside), rule


def slots(trigger: RRule, after: datetime, count: int) -> list[str]:
    found: list[datetime] = []
    for _ in range(count):
        slot = trigger.next_after(found[-1] if found else after)
        if slot is None:
            break
        found.append(slot)
    return [f"{slot.astimezone(BERLIN):%Y-%m-%d %H:%M%z}" for slot in found]


def test_every_other_friday_is_counted_from_the_start() -> None:
    trigger = RRule("FREQ=WEEKLY;INTERVAL=2;BYDAY=FR", "2026-11-20T09:00", tz="Europe/Berlin")
    assert slots(trigger, datetime(2027, 3, 15, tzinfo=UTC), 3) == [
        "2027-03-26 09:00+0100",
        "2027-04-09 09:00+0200",
        "2027-04-23 09:00+0200",
    ]
    assert str(trigger) == "every 2 weeks on Friday at 09:00, Europe/Berlin"


def test_a_time_that_the_clock_jumps_over_fires_at_the_end_of_the_gap_and_one_shown_twice_fires_once() -> (
    None
):
    trigger = RRule("FREQ=DAILY", "2027-03-27T02:30", tz="Europe/Berlin")
    assert slots(trigger, datetime(2027, 3, 27, 12, tzinfo=UTC), 2) == [
        "2027-03-28 03:00+0200",
        "2027-03-29 02:30+0200",
    ]
    assert slots(trigger, datetime(2027, 10, 30, 12, tzinfo=UTC), 2) == [
        "2027-10-31 02:30+0200",
        "2027-11-01 02:30+0100",
    ]


def test_dates_are_left_out_and_added() -> None:
    trigger = RRule(
        "FREQ=WEEKLY;COUNT=3",
        "2026-11-20T09:00",
        tz="Europe/Berlin",
        exdate=["2026-11-27T09:00"],
        rdate=["2026-11-24T15:00"],
    )
    assert slots(trigger, datetime(2026, 11, 1, tzinfo=UTC), 9) == [
        "2026-11-20 09:00+0100",
        "2026-11-24 15:00+0100",
        "2026-12-04 09:00+0100",
    ]
    assert trigger.count_between(datetime(2026, 11, 1, tzinfo=UTC), datetime(2027, 1, 1, tzinfo=UTC)) == 3
    assert trigger_from_json(trigger.to_json()) == trigger


def test_it_is_resolved_with_the_zone_of_its_session() -> None:
    trigger = RRule("FREQ=YEARLY", "2026-11-20T09:00")
    with pytest.raises(ZoneNeeded, match="needs a time zone"):
        trigger.resolved(None)
    assert resolve(trigger, now=datetime(2026, 11, 17, tzinfo=UTC), zone="Asia/Tokyo") == RRule(
        "FREQ=YEARLY", "2026-11-20T09:00", tz="Asia/Tokyo"
    )


@pytest.mark.parametrize(
    ("rule", "words"),
    [
        ("FREQ=MINUTELY", "FREQ is DAILY"),
        ("FREQ=DAILY;BYWEEKNO=3", "not understood"),
        ("FREQ=YEARLY;BYMONTH=2;BYMONTHDAY=30", "no occurrence in 10 years"),
        ("FREQ=DAILY;INTERVAL=0", "not understood"),
        ("FREQ=DAILY;INTERVAL=1001", "not understood"),
        ("FREQ=DAILY;BYDAY=XX", "not understood"),
        ("FREQ=DAILY;BYDAY=2FR", "only with MONTHLY"),
        ("FREQ=DAILY;COUNT=3;UNTIL=20270101", "both COUNT and UNTIL"),
        ("FREQ=DAILY;FREQ=DAILY", "not understood"),
        ("FREQ=DAILY;UNTIL=20200101", "no occurrence"),
        ("", "not understood"),
        ("every day", "not understood"),
        ("FREQ=DAILY;" + "BYHOUR=1," * 100, "at most 500"),
    ],
)
def test_a_rule_that_cannot_be_read_or_never_fires_is_refused(rule: str, words: str) -> None:
    with pytest.raises(BadTrigger, match=words):
        RRule(rule, "2026-11-20T09:00")


@pytest.mark.parametrize("start", ["soon", "2026-11-20T09:00Z", 3, None, "1900-01-01T00:00"])
def test_the_start_is_a_wall_time(start: str) -> None:
    with pytest.raises(BadTrigger, match="the start of a rule"):
        RRule("FREQ=DAILY", start)


@pytest.mark.parametrize(
    ("rule", "words"),
    [
        ("FREQ=DAILY;INTERVAL=2", "every 2 days at 09:00"),
        ("FREQ=MONTHLY;BYDAY=1MO", "every month on the first Monday at 09:00"),
        ("FREQ=MONTHLY;BYMONTHDAY=-1;BYHOUR=18", "every month on the last day at 18:00"),
        ("FREQ=YEARLY", "every year on day 20 of November at 09:00"),
        ("FREQ=DAILY;BYHOUR=8,17;BYMINUTE=0,30;BYSETPOS=1,4", "every day at 08:00 and 17:30"),
    ],
)
def test_a_rule_is_said_in_words(rule: str, words: str) -> None:
    assert str(RRule(rule, START)) == words


def test_a_month_of_slots_is_the_same_one_by_one_and_counted() -> None:
    trigger = RRule("FREQ=DAILY;BYDAY=MO,WE,FR;BYHOUR=8,20", START, tz="Europe/Berlin")
    after = datetime(2027, 3, 1, tzinfo=UTC)
    until = datetime(2027, 4, 1, tzinfo=UTC)

    def walk() -> list[datetime]:
        found = [slot for slot in [trigger.next_after(after)] if slot]
        while (slot := trigger.next_after(found[-1])) is not None and slot <= until:
            found.append(slot)
        return found

    assert trigger.count_between(after, until) == len(walk())
    assert trigger.latest_at_or_before(until, after) == walk()[-1]
    assert list(islice(walk(), 1)) == [trigger.first(after)]


def test_the_end_of_a_count_is_looked_for_in_a_hundred_years_of_days() -> None:
    rare = "FREQ=DAILY;BYMONTHDAY=31;BYDAY=MO;COUNT={}"
    later, end = datetime(2300, 1, 1), datetime(2400, 1, 1)  # noqa: DTZ001
    assert Recurrence(rare.format(50), START).first(later, end) is None
    assert Recurrence(rare.format(10_000), START).first(later, end) is not None
    # Without the limit, the last Monday of 200 would be found, 200 years later.
    assert Recurrence(rare.format(200), START).first(later, end) is not None
