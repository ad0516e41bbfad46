"""Usage by day and job, and forecasts by day, as pure functions."""

from datetime import UTC, date, datetime, timedelta
from typing import Any

from segue import Ask, Cron, Every
from segue.model.cost.forecast import forecast
from segue.model.cost.forecast_days import forecast_days
from segue.model.cost.usage_days import SessionUsage, UsageSum, Used, usage_by_day, usage_start
from segue.model.states import Outcome
from segue.times.clock import to_ms
from tests.unit.test_forecast import NINE, job

BERLIN = "Europe/Berlin"
PRICED: dict[str, Any] = {
    "requests": {"m": 1},
    "input_tokens": 1000,
    "cache_read_tokens": 600,
    "output_tokens": 50,
}
"""A usage; with `cost_usd` its price is known."""


def used(
    at: datetime, of: str | None = "a", outcome: Outcome = Outcome.OK, slots: int = 0, **usage: Any
) -> Used:
    started = None if outcome in (Outcome.SKIPPED, Outcome.MISSED) else to_ms(at) + 1500
    return Used(to_ms(at), of, of and of.upper(), outcome, slots, started, usage)


def summed(*found: Used, days: int = 3, now: datetime = NINE, zone: str = BERLIN) -> SessionUsage:
    return usage_by_day(found, usage_start(now, days, zone), now, zone)


def test_days_are_those_of_the_zone_and_all_are_there() -> None:
    late = datetime(2026, 11, 14, 23, 30, tzinfo=UTC)  # 00:30 of the 15th in Berlin
    found = summed(used(late), used(NINE), used(NINE - timedelta(days=9)))
    assert [(day.day, day.total.runs) for day in found.days] == [
        (date(2026, 11, 14), 0),
        (date(2026, 11, 15), 1),
        (date(2026, 11, 16), 1),
    ]
    assert found.names == {"a": "A"}


def test_the_day_on_which_clocks_change_has_its_own_length() -> None:
    now = datetime(2026, 10, 26, 12, tzinfo=UTC)
    last_hour = datetime(2026, 10, 25, 22, 59, tzinfo=UTC)  # 23:59 in Berlin, on a day of 25 hours
    found = summed(used(last_hour), used(last_hour + timedelta(minutes=1)), days=2, now=now)
    assert [day.total.runs for day in found.days] == [1, 1]


def test_an_unknown_price_is_counted_and_not_guessed() -> None:
    found = summed(used(NINE, **PRICED, cost_usd=0.25), used(NINE, **PRICED), used(NINE, "b", **PRICED))
    assert found.jobs["a"] == UsageSum(
        runs=2,
        latest_ms=1500,
        input_tokens=2000,
        cache_read_tokens=1200,
        output_tokens=100,
        cost_usd=0.25,
        without_price=1,
    )
    assert (found.jobs["b"].cost_usd, found.jobs["b"].without_price) == (None, 1)
    assert (found.total.cost_usd, found.total.without_price) == (0.25, 2)


def test_what_did_not_run_is_counted_apart_and_by_its_moments() -> None:
    night = used(NINE, outcome=Outcome.SKIPPED, slots=35)
    missed = used(NINE, outcome=Outcome.MISSED, slots=4)
    total = summed(night, missed, used(NINE, outcome=Outcome.ERROR)).total
    assert (total.runs, total.failed, total.skipped, total.missed) == (1, 1, 36, 4)


def test_users_turns_have_no_job_and_are_never_late() -> None:
    found = summed(used(NINE, None, **PRICED, cost_usd=0.5))
    assert found.jobs[None].cost_usd == 0.5
    assert (found.jobs[None].latest_ms, found.names) == (0, {})


def test_the_days_of_a_forecast_have_its_runs() -> None:
    jobs = (job("daily", Cron("0 9 * * *", tz=BERLIN)), job("often", Every(3600)))
    found = forecast(jobs, NINE, NINE + timedelta(days=30), past={})
    days = forecast_days(found, BERLIN)
    assert len(days) == 31, "the first and the last in part"
    assert sum(day.runs for day in days) == found.total("runs")
    assert (days[0].day, days[0].jobs) == (date(2026, 11, 16), {"often": 13})
    assert days[1].jobs == {"daily": 1, "often": 24}


def test_the_days_of_a_forecast_that_is_only_counted_have_its_runs_too() -> None:
    jobs = (job("daily", Cron("0 9 * * *", tz=BERLIN)), job("always", Every(60)))
    found = forecast(jobs, NINE, NINE + timedelta(days=30), past={})
    days = forecast_days(found, BERLIN)
    assert not found.listed
    assert sum(day.runs for day in days) == found.total("runs")
    assert days[1].jobs == {"daily": 1, "always": 1440}


def test_an_overdue_slot_is_expected_today() -> None:
    late = NINE + timedelta(days=3)
    found = forecast(
        (job("daily", Cron("30 9 * * *", tz="UTC"), Ask("?")),), late, late + timedelta(days=1), past={}
    )
    assert [day.runs for day in forecast_days(found, "UTC")] == [2, 0], "that of yesterday, and that of today"
