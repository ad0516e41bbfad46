from datetime import UTC, datetime, timedelta, timezone
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from segue.errors import BadTrigger
from segue.times.trigger import At, Cron, Every, Idle, Phase, Trigger, resolve, trigger_from_json

NOON = datetime(2025, 11, 20, 12, tzinfo=UTC)
SECOND = timedelta(seconds=1)
MINUTE = timedelta(minutes=1)
HOUR = timedelta(hours=1)
DAY = timedelta(days=1)


def test_at_has_one_slot() -> None:
    at = At(NOON)
    assert at.next_after(NOON - SECOND) == NOON
    assert at.next_after(NOON) is None
    assert at.latest_at_or_before(NOON, NOON - SECOND) == NOON
    assert at.latest_at_or_before(NOON + DAY, NOON) is None
    assert at.count_between(NOON - SECOND, NOON) == 1
    assert at.count_between(NOON, NOON + DAY) == 0


def test_at_in_the_past_has_no_first_slot_but_at_now_has() -> None:
    assert At(NOON).first(NOON) == NOON
    assert At(NOON).first(NOON + SECOND) is None


def test_at_is_kept_in_utc_and_in_whole_milliseconds() -> None:
    berlin = datetime(2025, 11, 20, 13, 0, 0, 123_999, tzinfo=ZoneInfo("Europe/Berlin"))
    moment = At(berlin).moment
    assert moment == NOON.replace(microsecond=123_000)
    assert moment.tzinfo is UTC


def test_a_naive_datetime_is_placed_by_tz() -> None:
    assert At(datetime(2025, 11, 20, 13), tz="Europe/Berlin").moment == NOON  # noqa: DTZ001


def test_at_takes_words_and_resolves_them_when_the_job_is_made() -> None:
    at = At("tomorrow at 08:00")
    with pytest.raises(BadTrigger, match="still words"):
        at.next_after(NOON)
    assert at.resolved(NOON, "Europe/Berlin").moment == datetime(2025, 11, 21, 7, tzinfo=UTC)
    assert At(NOON).resolved(NOON) == At(NOON)


def test_the_zone_of_at_goes_before_the_zone_of_the_session() -> None:
    at = At("tomorrow at 08:00", tz="Asia/Tokyo")
    assert at.resolved(NOON, "Europe/Berlin").moment == datetime(2025, 11, 20, 23, tzinfo=UTC)


def test_every_keeps_its_phase_however_late_the_question_comes() -> None:
    every = Every(3600, start=NOON)
    assert every.next_after(NOON) == NOON + HOUR
    assert every.next_after(NOON + HOUR - SECOND) == NOON + HOUR
    assert every.next_after(NOON + 5 * HOUR + 59 * MINUTE) == NOON + 6 * HOUR


def test_the_start_of_every_is_a_slot_when_it_lies_ahead() -> None:
    every = Every(HOUR, start=NOON)
    assert every.first(NOON - DAY) == NOON
    assert every.count_between(NOON - DAY, NOON) == 1
    assert every.latest_at_or_before(NOON, NOON - DAY) == NOON


def test_every_without_a_start_begins_an_interval_after_now() -> None:
    assert Every(HOUR).first(NOON) == NOON + HOUR
    assert Every(HOUR).anchored(NOON) == Every(HOUR, start=NOON)
    assert Every(HOUR, start=NOON).anchored(NOON + DAY).start == NOON
    with pytest.raises(BadTrigger, match="no start yet"):
        Every(HOUR).next_after(NOON)


def test_a_relative_every_counts_from_the_question() -> None:
    every = Every(HOUR, phase=Phase.RELATIVE)
    assert every.next_after(NOON + 7 * MINUTE) == NOON + HOUR + 7 * MINUTE
    assert every.anchored(NOON) == every
    assert Every(HOUR, start=NOON, phase=Phase.RELATIVE).first(NOON - DAY) == NOON


def test_a_relative_every_has_one_slot_at_a_time() -> None:
    every = Every(HOUR, phase=Phase.RELATIVE)
    assert every.count_between(NOON, NOON + 30 * DAY) == 1
    assert every.latest_at_or_before(NOON + 30 * DAY, NOON) == NOON + HOUR
    assert every.count_between(NOON, NOON + MINUTE) == 0


def test_intervals_add_in_utc_across_a_clock_change() -> None:
    every = Every(DAY, start=datetime(2025, 3, 29, 9, tzinfo=ZoneInfo("Europe/Berlin")))
    assert every.next_after(datetime(2025, 3, 29, 12, tzinfo=UTC)) == datetime(2025, 3, 30, 8, tzinfo=UTC)


def test_idle_counts_from_the_last_message() -> None:
    idle = Idle(1800)
    assert idle.next_after(NOON) == NOON + 30 * MINUTE
    assert idle.first(NOON) == NOON + 30 * MINUTE
    assert idle.latest_at_or_before(NOON + HOUR, NOON) == NOON + 30 * MINUTE
    assert idle.count_between(NOON, NOON + MINUTE) == 0


def test_a_cron_line_is_wall_time_in_its_zone() -> None:
    cron = Cron("0 9 * * 1-5", tz="Europe/Berlin")
    assert cron.first(NOON) == datetime(2025, 11, 21, 8, tzinfo=UTC)
    assert cron.next_after(datetime(2025, 11, 21, 8, tzinfo=UTC)) == datetime(2025, 11, 24, 8, tzinfo=UTC)


def test_a_cron_line_takes_its_zone_when_the_job_is_made() -> None:
    cron = Cron("0 9 * * *")
    with pytest.raises(BadTrigger, match="no zone yet"):
        cron.next_after(NOON)
    assert cron.resolved("Asia/Tokyo").tz == "Asia/Tokyo"
    assert Cron("0 9 * * *", tz="UTC").resolved("Asia/Tokyo").tz == "UTC"


def test_a_cron_line_may_be_written_with_any_white_space() -> None:
    assert Cron(" 0\t9  * * mon-fri\n").expr == "0 9 * * mon-fri"


@pytest.mark.parametrize(
    ("expr", "expected"),
    [
        ("0 0 L * *", "2025-11-30"),
        ("0 0 LW * *", "2025-11-28"),
        ("0 0 * * 5L", "2025-11-28"),
        ("0 0 * * MON#2", "2025-12-08"),
        ("0 0 1 * 1", "2025-11-24"),
        ("0 0 */2 * 1", "2025-12-01"),
        ("0 0 1 JAN *", "2026-01-01"),
        ("0 0 * * 7", "2025-11-23"),
        ("0 0 * 2 MON#5", "2044-02-29"),
    ],
)
def test_days_of_a_cron_line(expr: str, expected: str) -> None:
    assert Cron(expr, tz="UTC").next_after(NOON) == datetime.fromisoformat(expected).replace(tzinfo=UTC)


def test_a_cron_line_may_be_a_name() -> None:
    assert Cron("@daily", tz="UTC") == Cron("0 0 * * *", tz="UTC")
    assert Cron(" @Weekly").expr == "0 0 * * 0"


def test_a_line_that_its_zone_never_shows_has_no_slot() -> None:
    """02:xx on the last Sunday of March is the hour that Berlin jumps over, every year."""
    assert Cron("*/30 2 * 3 7L", tz="Europe/Berlin").first(NOON) is None


def test_resolve_fills_in_everything_that_was_left_open() -> None:
    assert resolve(At("in 2 hours"), now=NOON, zone="UTC") == At(NOON + 2 * HOUR, tz="UTC")
    assert resolve(Every(60), now=NOON, zone="UTC") == Every(60, start=NOON)
    assert resolve(Cron("0 9 * * *"), now=NOON, zone="UTC") == Cron("0 9 * * *", tz="UTC")
    assert resolve(Idle(60), now=NOON, zone="UTC") == Idle(60)


@pytest.mark.parametrize(
    ("trigger", "words"),
    [
        (At(NOON), "2025-11-20 12:00 UTC"),
        (At(NOON, tz="Europe/Berlin"), "2025-11-20 13:00 Europe/Berlin"),
        (At("tomorrow at 08:00"), "tomorrow at 08:00"),
        (Every(7200), "every 2 h"),
        (Every(5400.5), "every 1 h 30 min 500 ms"),
        (Every(60, phase=Phase.RELATIVE), "1 min after the last run"),
        (Cron("0 9 * * 1-5", tz="Europe/Berlin"), "at 09:00 on Monday through Friday, Europe/Berlin"),
        (Idle(1800), "after 30 min of silence"),
    ],
)
def test_a_trigger_reads_as_words(trigger: Trigger, words: str) -> None:
    assert str(trigger) == words


@pytest.mark.parametrize(
    ("trigger", "shape"),
    [
        (At(NOON), {"kind": "at", "at": "2025-11-20T12:00:00+00:00"}),
        (At("friday", tz="UTC"), {"kind": "at", "at": "friday", "tz": "UTC"}),
        (Every(90), {"kind": "every", "every_seconds": 90, "phase": "fixed"}),
        (
            Every(1.5, start=NOON, phase=Phase.RELATIVE),
            {
                "kind": "every",
                "every_seconds": 1.5,
                "phase": "relative",
                "start": "2025-11-20T12:00:00+00:00",
            },
        ),
        (Cron("0 9 * * *", tz="UTC"), {"kind": "cron", "expr": "0 9 * * *", "tz": "UTC"}),
        (Idle(60), {"kind": "idle", "idle_seconds": 60}),
    ],
)
def test_a_trigger_goes_through_json(trigger: Trigger, shape: dict[str, Any]) -> None:
    assert trigger.to_json() == shape
    assert trigger_from_json(shape) == trigger


def test_the_short_shapes_of_the_api_are_read() -> None:
    assert trigger_from_json({"kind": "every", "every_seconds": 60}) == Every(60)
    assert trigger_from_json({"kind": "cron", "expr": "0 9 * * *"}) == Cron("0 9 * * *")
    assert trigger_from_json({"kind": "at", "at": "2025-11-20T13:00:00+01:00"}) == At(NOON)


@pytest.mark.parametrize(
    "moment",
    [datetime.max.replace(tzinfo=UTC), datetime(9000, 1, 1, tzinfo=UTC), datetime.min.replace(tzinfo=UTC)],
)
def test_a_question_from_beyond_the_limits_is_answered(moment: datetime) -> None:
    early = moment.year == 1
    for trigger in (Every(60, start=NOON), Cron("0 9 * * *", tz="UTC"), Idle(60)):
        assert (trigger.next_after(moment) is not None) == early
    for trigger in (Every(60, start=NOON), Cron("0 9 * * *", tz="UTC")):
        assert trigger.next_after(datetime(8999, 12, 31, 23, 59, 59, tzinfo=UTC)) is None


@pytest.mark.parametrize("trigger", [Every(60, start=NOON), Cron("0 9 * * *", tz="UTC"), Idle(60)])
def test_a_question_without_a_zone_is_refused(trigger: Every | Cron | Idle) -> None:
    with pytest.raises(BadTrigger, match="needs a zone"):
        trigger.next_after(datetime(2025, 11, 20))  # noqa: DTZ001


@pytest.mark.parametrize(
    "seconds",
    [
        0,
        -1,
        0.999,
        float("nan"),
        float("inf"),
        1e300,
        pytest.param(10**5000, id="enormous"),
        315_360_001,
        True,
        "60",
        None,
        -DAY,
    ],
)
def test_an_interval_that_no_job_can_have_is_refused(seconds: Any) -> None:
    for make in (Every, Idle):
        with pytest.raises(BadTrigger, match="seconds"):
            make(seconds)


@pytest.mark.parametrize(
    "at",
    [
        datetime(9999, 12, 31, tzinfo=UTC),
        datetime.max.replace(tzinfo=timezone(-12 * HOUR)),
        datetime.min.replace(tzinfo=timezone(12 * HOUR)),
        datetime(1969, 12, 31, tzinfo=UTC),
        datetime(2025, 1, 1),  # noqa: DTZ001
        0,
        None,
        "",
        pytest.param("x" * 1_000_000, id="endless"),
    ],
)
def test_a_moment_that_no_job_can_have_is_refused(at: Any) -> None:
    with pytest.raises(BadTrigger):
        At(at)
    with pytest.raises(BadTrigger):
        Every(60, start=at) if at is not None else trigger_from_json({"kind": "at", "at": at})


@pytest.mark.parametrize(
    ("expr", "complaint"),
    [
        ("", "five fields.*got 0"),
        ("* * * *", "five fields.*got 4"),
        ("0 * * * * *", "five fields.*got 6"),
        ("@sometimes", "five fields.*got 1"),
        ("60 * * * *", "bad minute"),
        ("* 24 * * *", "bad hour"),
        ("* * 0 * *", "bad day-of-month"),
        ("* * * 13 *", "bad month"),
        ("* * * * 8", "bad day-of-week"),
        ("*/0 * * * *", "bad minute"),
        ("\0 * * * *", "bad minute"),
        ("\ud800 * * * *", "bad minute"),
        ("٣ * * * *", "bad minute"),
        pytest.param(f"{'9' * 400} * * * *", "bad minute", id="many digits"),
        ("* * 31 2 *", "never fires"),
        ("0 9 31 2 *", "never fires"),
        ("0 9 30 feb *", "never fires"),
        ("0 9 31 4,6,9,11 *", "never fires"),
        ("0 0 */31 2 1#5", "never fires"),
        pytest.param("x" * 1_000_000, "at most 500 characters", id="endless"),
        (None, "a cron line is a string"),
        (5, "a cron line is a string"),
    ],
)
def test_a_cron_line_that_cannot_be_is_refused_with_the_reason(expr: Any, complaint: str) -> None:
    with pytest.raises(BadTrigger, match=complaint) as refused:
        Cron(expr, tz="UTC")
    assert len(str(refused.value)) < 200


@pytest.mark.parametrize(
    "tz",
    [
        "Mars/Olympus",
        "",
        "Europe",
        "../etc/passwd",
        "/etc/localtime",
        "\0",
        "\ud800",
        pytest.param("x" * 1_000_000, id="endless"),
        5,
        NOON,
    ],
)
def test_an_unknown_zone_is_refused_with_an_example(tz: Any) -> None:
    with pytest.raises(BadTrigger, match="Europe/Berlin"):
        Cron("0 9 * * *", tz=tz)
    with pytest.raises(BadTrigger, match="Europe/Berlin"):
        At(NOON, tz=tz)


@pytest.mark.parametrize(
    "shape",
    [
        {},
        {"kind": "sometimes"},
        {"kind": "at"},
        {"kind": "at", "at": 5},
        {"kind": "every", "every_seconds": 60, "every_minutes": 1},
        {"kind": "every", "every_seconds": 60, "start": "2025-11-20T12:00:00"},
        {"kind": "every", "every_seconds": 60, "start": 5},
        {"kind": "every", "every_seconds": 60, "phase": "sideways"},
        {"kind": "every", "every_seconds": [60]},
        {"kind": "cron", "expr": ["0 9 * * *"]},
        {"kind": "idle", "idle_seconds": 60, "tz": "UTC"},
        {"kind": ["at"], "at": "friday"},
        None,
        [],
        "every 2h",
    ],
)
def test_a_shape_that_is_no_schedule_is_refused(shape: Any) -> None:
    with pytest.raises(BadTrigger):
        trigger_from_json(shape)
