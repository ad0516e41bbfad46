"""Working days: China's make-up days, shifts, and sets from calendar files. requirements/days.md §1."""

import os
import random
from datetime import UTC, date, datetime, timedelta
from itertools import pairwise

import pytest

from segue.errors import BadDays, BadTrigger, NeverWorks, UnknownDays
from segue.times.cron_line import CronLine
from segue.times.days.day_sets import DaySet, day_set, shipped_names, stored_day_set
from segue.times.days.ics import from_ics
from segue.times.days.working_days import Shift, WorkingWalls
from segue.times.reader import read_schedule
from segue.times.reader.triggers import trigger_of
from segue.times.trigger import Cron, stored_json, trigger_from_json, trigger_from_stored

LONG = os.environ.get("SEGUE_LONG") == "1"
DAY = timedelta(days=1)

# From `chinesecalendar`, which shares no data with `holidays`, where the shipped set comes from.
CHINA_OFF = {
    2024: "0101 0212 0213 0214 0215 0216 0404 0405 0501 0502 0503 0610 0916 0917 1001 1002 1003 1004 1007",
    2025: "0101 0128 0129 0130 0131 0203 0204 0404 0501 0502 0505 0602 1001 1002 1003 1006 1007 1008",
    2026: "0101 0102 0216 0217 0218 0219 0220 0223 0406 0501 0504 0505 0619 0925 1001 1002 1005 1006 1007",
}
CHINA_ON = {
    2024: "0204 0218 0407 0428 0511 0914 0929 1012",
    2025: "0126 0208 0427 0928 1011",
    2026: "0104 0214 0228 0509 0920 1010",
}


def days_of(years: dict[int, str]) -> set[date]:
    return {date(year, int(day[:2]), int(day[2:])) for year, days in years.items() for day in days.split()}


def test_every_day_of_three_years_in_china_is_right() -> None:
    off, on, china = days_of(CHINA_OFF), days_of(CHINA_ON), day_set("CN")
    every = [date(2024, 1, 1) + step * DAY for step in range(1_096)]
    assert every[-1] == date(2026, 12, 31)
    wrong = [
        day for day in every if china.works(day) != (day in on or (day.weekday() < 5 and day not in off))
    ]
    assert wrong == []


def test_past_the_end_of_a_calendar_weekdays_count_and_a_note_says_so() -> None:
    china = day_set("CN")
    assert china.known_until == date(2026, 12, 31)
    assert china.works(date(2027, 10, 1))
    assert china.note(date(2027, 10, 1)) == "the calendar CN ends on 31 Dec 2026"
    assert china.note(date(2026, 10, 1)) == "1 Oct 2026 is a holiday in CN: National Day"
    assert china.note(date(2026, 10, 8)) is None


def brute_force(line: CronLine, name: str, shift: Shift, start: datetime, end: datetime) -> list[datetime]:
    days = day_set(name)
    found = set()
    cursor = start - 60 * DAY
    while (wall := line.first(cursor, end + 60 * DAY)) is not None:
        cursor = wall + timedelta(minutes=1)
        if days.works(wall.date()):
            found.add(wall)
        elif shift is not Shift.NONE:
            step = 1 if shift is Shift.NEXT else -1
            while not days.works(wall.date()):
                wall += step * DAY
            found.add(wall)
    return sorted(wall for wall in found if start <= wall < end)


def random_line(chance: random.Random) -> str:
    hours = ",".join(map(str, sorted(chance.sample(range(24), chance.randint(1, 3)))))
    day = chance.choice(("*", "*", "1", "15", "L", "1,15", "*/7"))
    weekday = chance.choice(("*", "*", "1-5", "0,6", "5", "1#1")) if day == "*" else "*"
    return f"{chance.choice((0, 30))} {hours} {day} {chance.choice(('*', '*', '10', '1-3'))} {weekday}"


@pytest.mark.parametrize("seed", range(40 if LONG else 1))
def test_random_lines_on_working_days_agree_with_brute_force(seed: int) -> None:
    chance = random.Random(seed)
    for _ in range(250 if LONG else 60):
        expr, name = random_line(chance), chance.choice(shipped_names())
        shift = chance.choice(list(Shift))
        start = datetime(2025, 12, 1) + timedelta(hours=chance.randint(0, 10_000))  # noqa: DTZ001
        end = start + timedelta(days=chance.randint(1, 200), hours=chance.randint(0, 23))
        line = CronLine(expr)
        walls, expected = WorkingWalls(line, day_set(name), shift), brute_force(line, name, shift, start, end)
        what = f"{expr} {name} {shift} {start} {end}"
        assert walls.first(start, end) == (expected[0] if expected else None), what
        assert walls.last(start, end) == (expected[-1] if expected else None), what
        assert walls.count(start, end) == len(expected), what


def slots(trigger: Cron, after: datetime, count: int) -> list[str]:
    found = [after]
    while len(found) <= count and (slot := trigger.next_after(found[-1])) is not None:
        found.append(slot)
    return [f"{slot.astimezone(UTC) + timedelta(hours=8):%m-%d %H:%M}" for _, slot in pairwise(found)]


def test_a_slot_on_a_holiday_is_no_slot_and_a_make_up_day_has_one() -> None:
    trigger = Cron("0 9 * * *", tz="Asia/Shanghai", days="CN")
    assert slots(trigger, datetime(2026, 9, 30, 4, tzinfo=UTC), 3) == [
        "10-08 09:00",
        "10-09 09:00",
        "10-10 09:00",
    ]
    assert str(trigger).endswith(", workdays (CN), Asia/Shanghai")


def test_the_first_of_the_month_moves_to_the_working_day_after_it() -> None:
    trigger = Cron("0 9 1 * *", tz="Asia/Shanghai", days="CN", shift=Shift.NEXT)
    assert slots(trigger, datetime(2026, 9, 2, tzinfo=UTC), 2) == ["10-08 09:00", "11-02 09:00"]
    before = Cron("0 9 1 * *", tz="Asia/Shanghai", days="CN", shift=Shift.PREVIOUS)
    assert slots(before, datetime(2026, 9, 2, tzinfo=UTC), 2) == ["09-30 09:00", "10-30 09:00"]


def test_it_is_stored_and_read_back_and_nothing_changes_without_days() -> None:
    trigger = Cron("0 9 1 * *", tz="Asia/Shanghai", days="CN", shift=Shift.NEXT)
    assert trigger.to_json() == {
        "kind": "cron",
        "expr": "0 9 1 * *",
        "tz": "Asia/Shanghai",
        "days": "CN",
        "shift": "next",
    }
    assert trigger_from_json(trigger.to_json()) == trigger
    assert Cron("0 9 * * *", tz="UTC").to_json() == {"kind": "cron", "expr": "0 9 * * *", "tz": "UTC"}


def test_an_unknown_set_is_refused_with_the_nearest() -> None:
    with pytest.raises(UnknownDays, match="did you mean CN"):
        Cron("0 9 * * *", tz="UTC", days="CHN").first(datetime(2026, 11, 17, tzinfo=UTC))
    with pytest.raises(BadTrigger, match="name of a day set"):
        Cron("0 9 * * *", days="a b")
    with pytest.raises(BadTrigger, match="needs days"):
        Cron("0 9 * * *", shift=Shift.NEXT)
    with pytest.raises(BadTrigger, match="shift is"):
        trigger_from_json({"kind": "cron", "expr": "0 9 * * *", "tz": "UTC", "days": "CN", "shift": "up"})


def calendar(*events: str) -> str:
    inside = "".join(f"BEGIN:VEVENT\r\n{event}\r\nEND:VEVENT\r\n" for event in events)
    return f"BEGIN:VCALENDAR\r\n{inside}END:VCALENDAR\r\n"


COMPANY = (
    "DTSTART;VALUE=DATE:20261221\r\nDTEND;VALUE=DATE:20261224\r\nSUMMARY:Company\r\n  holidays\\, all of them"
)
TODAY = date(2026, 11, 17)


def read(*events: str, name: str = "school") -> DaySet:
    return from_ics(name, calendar(*events), today=TODAY)


def test_the_all_day_events_of_a_calendar_file_are_days_off() -> None:
    school = read(COMPANY)
    assert sorted(school.off) == [date(2026, 12, 21), date(2026, 12, 22), date(2026, 12, 23)]
    assert school.off[date(2026, 12, 21)] == "Company holidays, all of them"
    assert school.known_until == date(2026, 12, 31)
    assert not school.works(date(2026, 12, 21))
    assert school.works(date(2026, 12, 24))


def test_alarms_lower_case_lengths_and_cancelled_events_are_read_as_they_are_meant() -> None:
    alarm = "BEGIN:VALARM\r\nDTSTART:20260101T090000\r\nSUMMARY:ring\r\nEND:VALARM\r\n"
    school = read(
        f"{alarm}dtstart;value=date:20261201\r\nDURATION:P1W\r\nsummary:Trip",
        "DTSTART;VALUE=DATE:20261210\r\nSTATUS:CANCELLED",
        "DTSTART;VALUE=DATE:20261211",
    )
    assert sorted(school.off) == [*(date(2026, 12, day) for day in range(1, 8)), date(2026, 12, 11)]
    assert school.off[date(2026, 12, 7)] == "Trip"
    assert school.off[date(2026, 12, 11)] == "without a title"


@pytest.mark.parametrize(
    ("event", "words"),
    [
        ("DTSTART:20261221T090000Z\r\nSUMMARY:Exam", "'Exam' has a time of day"),
        ("DTSTART;TZID=Europe/Berlin:20261221T090000", "has a time of day"),
        ("DTSTART;VALUE=DATE:20261221\r\nDTEND:20261221T100000", "has a time of day"),
        ("DTSTART;VALUE=DATE:20261331", "there is no such day"),
        ("DTSTART;VALUE=DATE:00010101", "lies in 1, not between"),
        ("DTSTART;VALUE=DATE:20261221\r\nDTEND;VALUE=DATE:20261221", "lasts 0 days"),
        ("DTSTART;VALUE=DATE:20000101\r\nDTEND;VALUE=DATE:20991231", "lasts 36,524 days"),
        ("DTSTART;VALUE=DATE:20261221\r\nDURATION:PT8H", "not in days"),
        ("DTSTART;VALUE=DATE:20261225\r\nRRULE:FREQ=YEARLY\r\nSUMMARY:Christmas", "'Christmas' repeats"),
        ("SUMMARY:Party", "'Party' has no DTSTART"),
    ],
)
def test_an_event_that_is_no_whole_day_is_refused_by_its_title(event: str, words: str) -> None:
    with pytest.raises(BadDays, match=words):
        read(COMPANY, event)


@pytest.mark.parametrize(
    ("name", "text", "words"),
    [
        ("school", "", "no all-day event"),
        ("a b", calendar(COMPANY), "has a name of"),
        ("cn", calendar(COMPANY), "CN comes with Segue"),
        ("school", "x" * 1_000_001, "may have 1,000,000 characters"),
        ("school", "BEGIN:VEVENT\nSUMMARY:Torn\n", "ends in the middle of the event 'Torn'"),
        ("school", "BEGIN:VEVENT\n" * 70_000, "ends in the middle"),
        ("school", calendar(*["DTSTART:20260101\nDURATION:P4000D"] * 2_000), "at most 5,000 days"),
    ],
)
def test_a_file_that_is_no_set_of_days_is_refused(name: str, text: str, words: str) -> None:
    with pytest.raises(BadDays, match=words):
        from_ics(name, text, today=TODAY)


def test_a_set_without_a_working_day_in_the_next_year_is_refused() -> None:
    with pytest.raises(NeverWorks, match="no working day"):
        read("DTSTART;VALUE=DATE:20260101\r\nDTEND;VALUE=DATE:20280101")
    assert read("DTSTART;VALUE=DATE:20260101\r\nDTEND;VALUE=DATE:20271001").longest_break == 638


def test_a_set_is_stored_in_a_few_entries_and_read_back() -> None:
    school = read(COMPANY, "DTSTART;VALUE=DATE:20261224\r\nSUMMARY:Eve")
    assert school.text.count("2026-12-") == 3  # the last day, and two stretches
    assert stored_day_set(school.text) == school
    assert school.version == stored_day_set(school.text).version != read(COMPANY).version


def test_a_stored_trigger_carries_the_set_of_its_account_and_a_request_does_not() -> None:
    school = read(COMPANY)
    trigger = Cron("0 9 * * *", tz="UTC", days="school", own_days=school)
    assert trigger.next_after(datetime(2026, 12, 20, tzinfo=UTC)) == datetime(2026, 12, 24, 9, tzinfo=UTC)
    assert "own_days" not in trigger.to_json()
    stored = trigger_from_stored(stored_json(trigger))
    assert isinstance(stored, Cron)
    assert stored.own_days == school
    with pytest.raises(BadTrigger, match="no field 'own_days'"):
        trigger_from_json(stored_json(trigger))


def test_a_slot_is_found_after_a_break_of_three_months() -> None:
    summer = read("DTSTART;VALUE=DATE:20270601\r\nDTEND;VALUE=DATE:20270901\r\nSUMMARY:Summer")
    trigger = Cron("0 9 1 6 *", tz="UTC", days="school", shift=Shift.NEXT, own_days=summer)
    first = datetime(2027, 9, 1, 9, tzinfo=UTC)
    assert trigger.next_after(datetime(2027, 8, 20, tzinfo=UTC)) == first
    assert trigger.latest_at_or_before(first, datetime(2027, 8, 20, tzinfo=UTC)) == first


@pytest.mark.parametrize(
    "words",
    [
        "every workday at 9",
        "on business days at 9",
        "jeden Arbeitstag um 9",
        "chaque jour ouvré à 9h",
        "cada día laborable a las 9",
        "каждый рабочий день в 9",
        "每个工作日9点",
    ],
)
def test_words_about_working_days_mean_the_set_and_without_one_monday_to_friday(words: str) -> None:
    when = read_schedule(words, now=datetime(2026, 11, 16, tzinfo=UTC), zone="UTC")
    assert trigger_of(when, days="CN") == Cron("0 9 * * *", tz="UTC", days="CN")
    assert trigger_of(when) == Cron("0 9 * * 1-5", tz="UTC")


@pytest.mark.parametrize("words", ["every weekday at 9", "jeden Wochentag um 9", "0 9 * * 1-5"])
def test_other_words_do_not_mean_the_set(words: str) -> None:
    when = read_schedule(words, now=datetime(2026, 11, 16, tzinfo=UTC), zone="UTC")
    assert trigger_of(when, days="CN") == Cron("0 9 * * 1-5", tz="UTC")


def test_a_left_out_weekday_and_times_without_a_common_minute_keep_their_meaning() -> None:
    now = datetime(2026, 11, 16, tzinfo=UTC)
    except_friday = read_schedule("every workday except friday at 9", now=now, zone="UTC")
    assert trigger_of(except_friday, days="CN") == Cron("0 9 * * 0,1,2,3,4,6", tz="UTC", days="CN")
    two_times = read_schedule("every workday at 8:00 and 17:30", now=now, zone="UTC")
    with pytest.raises(BadTrigger, match="make a schedule for each time"):
        trigger_of(two_times, days="CN")


def test_a_set_says_that_it_ends_in_its_last_thirty_days_and_after_them() -> None:
    china = day_set("CN")
    assert china.notice(date(2026, 12, 1)) is None
    soon, over = china.notice(date(2026, 12, 2)), china.notice(date(2027, 1, 1))
    assert soon is not None
    assert over is not None
    assert soon == china.notice(date(2026, 12, 31))
    assert soon.startswith("The calendar CN ends on 31 Dec 2026.")
    assert over.startswith("The calendar CN ended on 31 Dec 2026.")
    assert "import a newer file" in str(read(COMPANY).notice(date(2026, 12, 31)))
