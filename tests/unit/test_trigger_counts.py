"""Counting slots and finding the latest give the same as stepping through them, on random schedules."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta

from cronsim import CronSim
from hypothesis import given, settings
from hypothesis import strategies as st

from segue.errors import BadTrigger
from segue.times.trigger import At, Cron, Every, Idle, Trigger, trigger_from_json

ZONES = [
    "UTC",
    "Europe/Berlin",
    "Australia/Lord_Howe",
    "America/St_Johns",
    "America/Sao_Paulo",
    "Pacific/Apia",
]

moments = st.datetimes(datetime(2005, 1, 1), datetime(2030, 1, 1), timezones=st.just(UTC))  # noqa: DTZ001


def field(low: int, high: int) -> st.SearchStrategy[str]:
    number = st.integers(low, high)
    ranges = st.tuples(number, number).map(lambda pair: f"{min(pair)}-{max(pair)}")
    steps = st.builds(lambda head, step: f"{head}/{step}", st.just("*") | ranges, st.integers(1, high))
    one = number.map(str) | ranges | steps
    return st.just("*") | one | st.lists(one, min_size=2, max_size=3).map(",".join)


days = field(1, 31) | st.sampled_from(["L", "LW", "1,L"])
weekdays = field(0, 7) | st.sampled_from(["MON", "5L", "MON#2", "SUN#5", "mon-fri"])
lines = st.tuples(field(0, 59), field(0, 23), days, field(1, 12), weekdays).map(" ".join)


def possible(expr: str, zone: str) -> Cron | None:
    try:
        return Cron(expr, tz=zone)
    except BadTrigger:
        return None


crons = st.builds(possible, lines, st.sampled_from(ZONES)).filter(lambda cron: cron is not None)


def stepped(trigger: Trigger, after: datetime, until: datetime) -> list[datetime]:
    found = []
    slot = trigger.next_after(after)
    while slot is not None and slot <= until:
        found.append(slot)
        slot = trigger.next_after(slot)
    return found


@given(crons, moments, st.timedeltas(timedelta(0), timedelta(days=3)))
@settings(max_examples=200)
def test_a_cron_line_counts_what_it_steps_through(cron: Cron, after: datetime, span: timedelta) -> None:
    until = after + span
    found = stepped(cron, after, until)
    assert cron.count_between(after, until) == len(found)
    assert cron.latest_at_or_before(until, after) == (found[-1] if found else None)
    assert found == sorted(set(found))


@given(crons, moments, st.timedeltas(timedelta(0), timedelta(days=2000)), st.floats(0, 1))
@settings(max_examples=100)
def test_a_long_span_counts_as_its_two_parts(
    cron: Cron, after: datetime, span: timedelta, cut: float
) -> None:
    middle, until = after + span * cut, after + span
    whole = cron.count_between(after, until)
    assert whole == cron.count_between(after, middle) + cron.count_between(middle, until)
    assert (cron.latest_at_or_before(until, after) is None) == (whole == 0)


@given(lines, moments)
@settings(max_examples=200)
def test_where_clocks_never_change_cronsim_says_the_same(expr: str, after: datetime) -> None:
    cron = possible(expr, "UTC")
    if cron is not None:
        theirs = CronSim(expr, after)
        slot: datetime | None = after
        for _ in range(5):
            assert slot is not None
            slot = cron.next_after(slot)
            assert slot == next(theirs, None)


@given(lines)
@settings(max_examples=200)
def test_every_line_has_a_description_in_words(expr: str) -> None:
    cron = possible(expr, "UTC")
    if cron is not None:
        assert str(cron).endswith(", UTC")


@given(
    st.floats(1, 1e6) | st.integers(1, 1_000_000),
    moments,
    moments,
    st.integers(0, 50),
    st.floats(0, 1, exclude_max=True),
)
def test_an_interval_counts_what_it_steps_through(
    seconds: float, start: datetime, after: datetime, steps: int, part: float
) -> None:
    every = Every(seconds, start=start)
    until = after + (steps + part) * every.interval
    found = stepped(every, after, until)
    assert every.count_between(after, until) == len(found)
    assert every.latest_at_or_before(until, after) == (found[-1] if found else None)


@given(st.integers(1, 100_000_000), moments, moments)
def test_a_slot_that_went_through_the_store_is_the_same_slot(ms: int, start: datetime, now: datetime) -> None:
    every = Every(timedelta(seconds=1, milliseconds=ms), start=start)
    slot = every.next_after(now)
    assert slot is not None
    stored = slot.replace(microsecond=slot.microsecond // 1000 * 1000)
    assert stored == slot
    assert every.next_after(stored) == slot + every.interval


anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.binary() | st.datetimes(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=5,
)


@given(anything, anything)
@settings(max_examples=300)
def test_any_value_in_a_trigger_is_kept_or_refused(first: object, second: object) -> None:
    makers: list[Callable[[], Trigger]] = [
        lambda: At(first, tz=second),  # type: ignore[arg-type]
        lambda: Every(first, start=second),  # type: ignore[arg-type]
        lambda: Cron(first, tz=second),  # type: ignore[arg-type]
        lambda: Idle(first),  # type: ignore[arg-type]
        lambda: trigger_from_json({"kind": "every", "every_seconds": first, "start": second}),
        lambda: trigger_from_json({"kind": "at", "at": first, "tz": second}),
        lambda: trigger_from_json(first),  # type: ignore[arg-type]
    ]
    for make in makers:
        try:
            made = make()
        except BadTrigger:
            continue
        assert trigger_from_json(made.to_json()) == made
