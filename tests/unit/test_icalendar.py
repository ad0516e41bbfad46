"""iCalendar files: what is written is read back by another library, and what is read is never believed."""

from datetime import UTC, datetime, timedelta
from io import StringIO
from itertools import islice
from zoneinfo import ZoneInfo

import pytest
from dateutil.rrule import rrulestr
from dateutil.tz import tzical

from segue.errors import BadCalendar, ZoneNeeded
from segue.times.icalendar.calendar_text import ComingEvent, Series, calendar_text
from segue.times.icalendar.content_lines import events_in, value_of
from segue.times.icalendar.rules import rule_of
from segue.times.icalendar.timed_events import MOST_EVENTS, timed_events
from segue.times.icalendar.zones import vtimezone
from segue.times.trigger import At, Cron, RRule, Trigger

NOW = datetime(2026, 11, 16, 9, tzinfo=UTC)
BERLIN = "Europe/Berlin"


def event(title: str = "Look", description: str = "", series: Series | None = None) -> ComingEvent:
    return ComingEvent(
        uid="1@segue", start=NOW, title=title, description=description, changed=NOW, series=series
    )


@pytest.mark.parametrize(
    "text",
    [
        "x\r\nEND:VEVENT\r\nBEGIN:VALARM",
        "x\nATTACH:file",
        "x\rATTENDEE:mailto:a@b",
        "x\u2028BEGIN:VEVENT",
        "x\x85BEGIN:VEVENT",
        "nul\x00bell\x07esc\x1b[31m",
        "back\\slash; and, comma",
        "日本語のとても長い題名。" * 30,
        "👩‍👩‍👧" * 50,
        "a" * 5_000,
        "",
    ],
)
def test_no_text_can_leave_its_line(text: str) -> None:
    written = calendar_text(text, [event(text, text)])
    assert written.endswith("END:VCALENDAR\r\n")
    lines = written.split("\r\n")
    assert all(len(line.encode()) <= 75 for line in lines)
    assert not any(letter in line for line in lines for letter in "\r\n\0\x07\x1b\u2028\x85")
    names = [line.partition(":")[0].partition(";")[0] for line in lines if not line.startswith(" ")]
    assert [names.count(name) for name in ("BEGIN", "END", "SUMMARY", "ATTACH", "ATTENDEE")] == [
        2,
        2,
        1,
        0,
        0,
    ]
    (read,) = events_in(written)
    assert value_of(read, "UID") == "1@segue"


def test_an_escaped_text_is_the_text_again() -> None:
    (read,) = events_in(calendar_text("", [event("One; two, three\\four")]))
    assert value_of(read, "SUMMARY") == "One\\; two\\, three\\\\four"


EXACT: list[tuple[Trigger, str]] = [
    (Cron("0 9 * * *", BERLIN), "FREQ=DAILY"),
    (Cron("30 17 * * 1-5", BERLIN), "FREQ=WEEKLY;BYDAY=MO,TU,WE,TH,FR"),
    (Cron("0 9 * * SUN", "America/New_York"), "FREQ=WEEKLY;BYDAY=SU"),
    (Cron("0 9 * * 0,7", BERLIN), "FREQ=WEEKLY;BYDAY=SU"),
    (Cron("15 8 1,15,31 * *", BERLIN), "FREQ=MONTHLY;BYMONTHDAY=1,15,31"),
    (Cron("0 12 24 12 *", BERLIN), "FREQ=MONTHLY;BYMONTHDAY=24;BYMONTH=12"),
    (Cron("0 9 * 6-8 1", BERLIN), "FREQ=WEEKLY;BYDAY=MO;BYMONTH=6,7,8"),
    (RRule("FREQ=WEEKLY;INTERVAL=2;BYDAY=FR", "2026-11-20T09:00", BERLIN), "FREQ=WEEKLY;INTERVAL=2;BYDAY=FR"),
    (RRule("FREQ=MONTHLY;BYDAY=-1MO;BYHOUR=8", "2026-01-01T09:00", BERLIN), "FREQ=MONTHLY;BYDAY=-1MO"),
    (
        RRule("FREQ=DAILY;UNTIL=20270401", "2026-01-01T09:00", BERLIN),
        "FREQ=DAILY;UNTIL=20270401T215959Z",
    ),
]


@pytest.mark.parametrize(("trigger", "rule"), EXACT, ids=str)
def test_a_rule_names_the_slots_of_its_trigger(trigger: Cron | RRule, rule: str) -> None:
    slot = trigger.next_after(NOW)
    assert slot is not None
    assert rule_of(trigger, slot) == rule
    zone = ZoneInfo(trigger.tz or "")
    start = slot.astimezone(zone)
    by_dateutil = [each.astimezone(UTC) for each in islice(rrulestr(rule, dtstart=start), 200)]
    slots = [slot]
    while len(slots) < len(by_dateutil):
        slots.append(trigger.next_after(slots[-1]))  # type: ignore[arg-type]
    assert slots == by_dateutil
    assert len(slots) == 200 or trigger.next_after(slots[-1]) is None


@pytest.mark.parametrize(
    "trigger",
    [
        Cron("*/10 * * * *", BERLIN),
        Cron("0 * * * *", "UTC"),
        Cron("0 9,17 * * *", BERLIN),
        Cron("0 9 1 * 1", BERLIN),
        Cron("0 9 L * *", BERLIN),
        Cron("0 9 * * MON#2", BERLIN),
        Cron("0 9 * * *", "Asia/Shanghai", days="CN"),
        Cron("30 2 * * *", BERLIN),
        RRule("FREQ=DAILY;COUNT=5", "2026-12-01T09:00", BERLIN),
        RRule("FREQ=DAILY;BYHOUR=9,17", "2026-12-01T09:00", BERLIN),
        RRule("FREQ=WEEKLY", "2026-12-01T09:00", BERLIN, rdate=["2026-12-02T09:00"]),
        At(NOW),
    ],
    ids=str,
)
def test_what_no_rule_says_exactly_has_none(trigger: Trigger) -> None:
    assert rule_of(trigger, NOW + timedelta(days=1)) is None


@pytest.mark.parametrize(
    "name",
    [BERLIN, "America/New_York", "Australia/Lord_Howe", "Asia/Kolkata", "Europe/Dublin", "Africa/Casablanca"],
)
def test_a_written_zone_has_the_offsets_of_the_zone(name: str) -> None:
    text = "\r\n".join(["BEGIN:VCALENDAR", *vtimezone(ZoneInfo(name), 2026), "END:VCALENDAR"])
    read, wanted = tzical(StringIO(text)).get(name), ZoneInfo(name)
    for hour in range(0, 24 * 365 * 3, 5):
        moment = datetime(2026, 1, 1, tzinfo=UTC) + timedelta(hours=hour)
        assert moment.astimezone(read).utcoffset() == moment.astimezone(wanted).utcoffset(), moment


def test_a_series_is_written_with_its_zone_and_what_is_left_out() -> None:
    series = Series(rule="FREQ=DAILY", tz=BERLIN, excluded=[datetime(2026, 12, 24, 10)])  # noqa: DTZ001
    lines = calendar_text("Home", [event(series=series)]).split("\r\n")
    assert "TZID:Europe/Berlin" in lines
    assert "DTSTART;TZID=Europe/Berlin:20261116T100000" in lines
    assert "RRULE:FREQ=DAILY" in lines
    assert "EXDATE;TZID=Europe/Berlin:20261224T100000" in lines


def file_of(*events: str) -> str:
    return f"BEGIN:VCALENDAR\r\n{''.join(events)}END:VCALENDAR\r\n"


def vevent(*lines: str) -> str:
    return "\r\n".join(["BEGIN:VEVENT", *lines, "END:VEVENT", ""])


WHEN = "DTSTART;TZID=Europe/Berlin:20261120T090000"
READ: list[tuple[tuple[str, ...], Trigger]] = [
    (("DTSTART:20261120T090000Z",), At(datetime(2026, 11, 20, 9, tzinfo=UTC), "UTC")),
    ((WHEN,), At(datetime(2026, 11, 20, 8, tzinfo=UTC), BERLIN)),
    (('DTSTART;TZID="Europe/Berlin":20261120T090000',), At(datetime(2026, 11, 20, 8, tzinfo=UTC), BERLIN)),
    (
        ("DTSTART;TZID=/example.org/2026/Europe/Berlin:20261120T090000",),
        At(datetime(2026, 11, 20, 8, tzinfo=UTC), BERLIN),
    ),
    (("DTSTART:20261120T090000",), At(datetime(2026, 11, 20, 0, tzinfo=UTC), "Asia/Tokyo")),
    ((WHEN, "RRULE:FREQ=WEEKLY"), RRule("FREQ=WEEKLY", "2026-11-20T09:00", BERLIN)),
    (
        (WHEN, "RRULE:FREQ=DAILY;UNTIL=20261201T080000Z"),
        RRule("FREQ=DAILY;UNTIL=20261201T090000", "2026-11-20T09:00", BERLIN),
    ),
    (
        (WHEN, "RRULE:FREQ=DAILY", "EXDATE:20261121T080000Z,20261122T080000Z", "EXDATE;VALUE=DATE:20261123"),
        RRule(
            "FREQ=DAILY",
            "2026-11-20T09:00",
            BERLIN,
            exdate=["2026-11-21T09:00", "2026-11-22T09:00", "2026-11-23T09:00"],
        ),
    ),
    (
        (WHEN, "RDATE;VALUE=PERIOD:20261125T080000Z/PT1H"),
        RRule("FREQ=DAILY;COUNT=1", "2026-11-20T09:00", BERLIN, rdate=["2026-11-25T09:00"]),
    ),
    (
        (WHEN, "BEGIN:VALARM", "DTSTART:20200101T000000Z", "TRIGGER:-PT15M", "END:VALARM"),
        At(datetime(2026, 11, 20, 8, tzinfo=UTC), BERLIN),
    ),
]


@pytest.mark.parametrize(("lines", "trigger"), READ)
def test_an_event_is_read_as_a_trigger(lines: tuple[str, ...], trigger: Trigger) -> None:
    text = file_of(vevent("UID:1", "SUMMARY:Dentist\\, again", "LOCATION:Main St", *lines))
    (read,) = timed_events(text, now=NOW, zone="Asia/Tokyo").events
    assert (read.uid, read.title, read.place, read.trigger) == ("1", "Dentist, again", "Main St", trigger)


LEFT_OUT = [
    (("DTSTART;VALUE=DATE:20261224",), "lasts all day"),
    (("DTSTART:20261101T090000Z",), "it is over"),
    (("DTSTART:20251101T090000Z", "RRULE:FREQ=DAILY;COUNT=3"), "last occurrence is over"),
    ((WHEN, "STATUS:CANCELLED"), "cancelled"),
    (("SUMMARY:x",), "no start"),
    (("DTSTART:20261399T090000Z",), "cannot be read"),
    (("DTSTART:soon",), "cannot be read"),
    (("DTSTART;TZID=W. Europe Standard Time:20261120T090000",), "not an IANA name"),
    (("DTSTART;TZID=../../etc/passwd:20261120T090000",), "not an IANA name"),
    ((WHEN, "RRULE:FREQ=SECONDLY"), "FREQ is"),
    ((WHEN, "RRULE:FREQ=DAILY;UNTIL=20269999T000000Z"), "cannot be read"),
    ((WHEN, "RRULE:FREQ=DAILY;INTERVAL=99999999999999999999"), "not understood"),
    ((WHEN, "RRULE:FREQ=DAILY", "RRULE:FREQ=WEEKLY"), "several rules"),
    ((WHEN, "RRULE:FREQ=DAILY", f"EXDATE:{','.join(['20261121T090000Z'] * 1_001)}"), "1,000"),
    (("DTSTART:00010101T000000Z", "RRULE:FREQ=DAILY"), "1971"),
    (("DTSTART:99990101T000000Z",), "8999"),
]


@pytest.mark.parametrize(("lines", "reason"), LEFT_OUT)
def test_an_event_that_cannot_be_a_job_is_left_out_with_a_reason(lines: tuple[str, ...], reason: str) -> None:
    found = timed_events(file_of(vevent("UID:1", *lines)), now=NOW, zone=None)
    assert found.events == []
    assert reason in found.left_out[0].reason


def test_a_changed_occurrence_is_an_event_of_its_own() -> None:
    series = vevent("UID:1", "SUMMARY:Team", WHEN, "RRULE:FREQ=WEEKLY")
    moved = vevent(
        *("UID:1", "SUMMARY:Team, later", "RECURRENCE-ID;TZID=Europe/Berlin:20261127T090000"),
        "DTSTART;TZID=Europe/Berlin:20261127T110000",
    )
    team, later = timed_events(file_of(series, moved), now=NOW, zone=None).events
    assert team.trigger == RRule("FREQ=WEEKLY", "2026-11-20T09:00", BERLIN, exdate=["2026-11-27T09:00"])
    assert (later.uid, later.trigger) == (
        "1/20261127T090000",
        At(datetime(2026, 11, 27, 10, tzinfo=UTC), BERLIN),
    )


def test_a_time_without_a_zone_needs_one() -> None:
    with pytest.raises(ZoneNeeded, match="'Dentist' needs a time zone"):
        timed_events(file_of(vevent("SUMMARY:Dentist", "DTSTART:20261120T090000")), now=NOW, zone=None)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "no event"),
        ("hello", "no event"),
        (file_of(), "no event"),
        ("BEGIN:VEVENT\n" * 70_000, "in the middle"),
        (file_of(vevent(WHEN) * (MOST_EVENTS + 1)), "1,000 events"),
        (file_of(vevent(WHEN, "RRULE:FREQ=DAILY") * 101), "100 events that repeat"),
        ("x" * 1_000_001, "1,000,000 characters"),
        ("BEGIN:VEVENT\n" + "BEGIN:VALARM\n" * 50_000 + "END:VALARM\n" * 10, "in the middle"),
        ("BEGIN:VEVENT\r\nSUMMARY:a\r\n " + "b\r\n " * 100_000, "in the middle"),
    ],
    ids=lambda value: str(value)[:20],
)
def test_a_file_that_cannot_be_read_is_refused_in_a_sentence(text: str, reason: str) -> None:
    with pytest.raises(BadCalendar, match=reason):
        timed_events(text, now=NOW, zone=None)
