"""Forecasts, as a pure function: collisions, days off, counts, and what the runs are expected to use."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

from segue import Ask, At, Budget, Cron, Every, Idle, Policy, Say
from segue.model.cost.budget import Estimate
from segue.model.cost.forecast import Forecast, ForecastVerdict, JobForecast, forecast
from segue.model.cost.past_runs import PastRun, PastRuns, past_runs, quantile
from segue.model.cost.played_budgets import PlayedBudget
from segue.model.records import Job
from segue.model.replies.last_reply import LastReply
from segue.model.schedule import draft
from segue.times.clock import to_ms

NINE = datetime(2026, 11, 16, 9, tzinfo=UTC)
"""A Monday."""
MINUTE = 60_000


def job(job_id: str, trigger: Any, action: Any = Ask("Look."), **policy: Any) -> Job:  # noqa: B008
    trigger = trigger.anchored(NINE) if isinstance(trigger, Every) else trigger
    return draft(
        job_id, trigger, action, to_ms(NINE), account="default", name=job_id, policy=Policy(**policy)
    )


def runs_of(*minutes: float, usd: float | None = None, tokens: int = 0) -> PastRuns:
    usage: dict[str, Any] = {"requests": 1, "input_tokens": tokens}
    usage |= {} if usd is None else {"cost_usd": usd}
    return past_runs([PastRun(round(each * MINUTE), usage) for each in minutes])


def play(*jobs: Job, days: float = 1, **given: Any) -> Forecast:
    return forecast(jobs, NINE, NINE + timedelta(days=days), past=given.pop("past", {}), **given)


def one(found: Forecast, job_id: str) -> JobForecast:
    return next(each for each in found.jobs if each.job.id == job_id)


def test_a_run_that_meets_another_is_expected_to_wait_for_its_median_length() -> None:
    jobs = job("long", Cron("0 12 * * *", tz="UTC")), job("short", Cron("5 12 * * *", tz="UTC"))
    found = play(*jobs, past={"long": runs_of(1, 20, 900)})
    [collided] = [each for each in found.slots if each.collides_with]
    assert (collided.job_id, collided.collides_with) == ("short", "long")
    assert collided.reason == "expected to wait 15 min behind 'long', by the median length of past runs"
    assert found.total("collisions") == 1


def test_a_job_that_skips_a_busy_session_is_foretold_as_skipped() -> None:
    jobs = job("long", Cron("0 12 * * *", tz="UTC")), job("shy", Cron("5 12 * * *", tz="UTC"), busy="skip")
    found = play(*jobs, past={"long": runs_of(20)})
    assert [(each.verdict, each.reason) for each in found.slots if each.job_id == "shy"] == [
        (ForecastVerdict.SKIPPED, "busy: the session was at work")
    ]


def test_a_job_that_is_put_off_runs_when_the_session_is_free() -> None:
    jobs = (
        job("long", Cron("0 12 * * *", tz="UTC")),
        job("calm", Cron("5 12 * * *", tz="UTC"), busy="postpone"),
    )
    found = play(*jobs, past={"long": runs_of(20)})
    [slot] = [each for each in found.slots if each.job_id == "calm"]
    assert (slot.verdict, slot.reason) == (ForecastVerdict.RUN, "put off: busy: the session was at work")


def test_a_job_whose_runs_take_longer_than_its_interval_skips_slots() -> None:
    found = play(job("slow", Every(600)), past={"slow": runs_of(25)})
    assert one(found, "slow").skipped > one(found, "slow").runs / 2


def test_a_written_message_is_in_no_lane() -> None:
    jobs = job("long", Cron("0 12 * * *", tz="UTC")), job("say", At(NINE.replace(hour=12)), Say("Noon."))
    assert play(*jobs, past={"long": runs_of(20)}).total("collisions") == 0


def test_holidays_are_listed_with_their_name_and_are_no_slots() -> None:
    christmas = datetime(2026, 12, 20, tzinfo=UTC)
    trigger = Cron("0 9 * * 1-5", tz="Europe/Berlin", days="DE")
    made = draft("work", trigger, Ask("?"), to_ms(christmas), account="default", name="work")
    found = forecast([made], christmas, christmas + timedelta(days=7), past={})
    off = [each for each in found.slots if each.verdict is ForecastVerdict.DAY_OFF]
    assert [each.slot.day for each in off] == [25]
    assert "holiday in DE" in str(off[0].reason)
    assert (found.total("runs"), found.total("days_off"), found.total("slots")) == (4, 1, 4)


def test_a_change_of_the_clocks_is_noted() -> None:
    march = datetime(2026, 3, 28, 12, tzinfo=UTC)
    trigger = Cron("30 2 * * *", tz="Europe/Berlin")
    made = draft("night", trigger, Ask("?"), to_ms(march), account="default", name="night")
    [first, *_] = forecast([made], march, march + timedelta(days=2), past={}).slots
    assert "jump over 02:30" in str(first.note)


def test_a_job_after_a_silence_depends_on_messages() -> None:
    found = play(job("idle", Idle(3600)), last_message_at=NINE)
    assert {each.verdict for each in found.slots} <= {ForecastVerdict.DEPENDS}
    assert "messages" in str(one(found, "idle").depends)


def test_a_job_with_conditions_depends_on_what_is_said() -> None:
    found = play(job("nag", Every(3600), when=[{"if": "unanswered"}]))
    assert {each.verdict for each in found.slots} == {ForecastVerdict.DEPENDS}
    assert "conditions" in str(one(found, "nag").depends)


def test_a_job_that_asks_whether_to_go_on_depends_on_answers() -> None:
    found = play(job("report", Every(3600), renew_after=3))
    assert {each.verdict for each in found.slots} == {ForecastVerdict.DEPENDS}
    assert "after 3 runs without one it asks" in str(one(found, "report").depends)


def test_a_snoozed_job_runs_once_more_also_if_it_is_over() -> None:
    ten = to_ms(NINE + timedelta(hours=1))
    snooze = LastReply(action="snooze", words="snooze 1h", at=to_ms(NINE), snoozed_to=ten)
    over = replace(job("over", At(NINE + timedelta(minutes=1))), slot=None, next_at=ten, replied=snooze)
    daily = replace(job("daily", Cron("0 12 * * *", tz="UTC"), max_runs=1), next_at=ten, replied=snooze)
    found = play(over, daily)
    times = [(each.job_id, each.slot.hour, each.verdict) for each in found.slots]
    assert times == [("daily", 10, "run"), ("over", 10, "run"), ("daily", 12, "run")]


def test_a_written_message_draws_on_no_budget_and_a_job_without_a_past_on_its_estimate() -> None:
    of_session = PlayedBudget(Budget.from_json({"tokens": 1_000, "per": "day"}), 0, "UTC")
    jobs = (
        job("ask", Cron("0 10,11,12 * * *", tz="UTC")),
        job("say", Cron("30 10,11,12 * * *", tz="UTC"), Say("Drink.")),
    )
    found = play(*jobs, days=0.5, of_session=of_session, first={"ask": Estimate(tokens=400)})
    assert (one(found, "ask").runs, one(found, "ask").skipped, one(found, "say").runs) == (2, 1, 3)
    [refused] = [each.reason for each in found.slots if each.verdict is ForecastVerdict.SKIPPED]
    assert refused == "budget: 800 of 1,000 tokens used today by the session, a run takes about 400"


def test_more_than_five_thousand_slots_are_counted_and_not_listed() -> None:
    found = play(job("often", Every(10)), job("daily", Cron("0 12 * * *", tz="UTC")), days=366)
    assert not found.listed
    assert found.slots == []
    assert (one(found, "often").runs, one(found, "daily").runs) == (366 * 8640, 366)


def test_a_count_ends_with_the_policy() -> None:
    found = play(job("often", Every(10), max_runs=7), job("soon", Every(10)), days=30)
    assert one(found, "often").runs == 7


def test_amounts_are_the_median_and_the_95th_percentile_of_past_runs() -> None:
    past = past_runs(
        [PastRun(1, {"requests": 1, "input_tokens": n, "cost_usd": n / 100}) for n in range(1, 21)]
    )
    found = play(job("daily", Cron("0 12 * * *", tz="UTC")), days=10, past={"daily": past})
    expected = one(found, "daily")
    assert expected.tokens
    assert expected.usd
    assert (expected.runs, expected.tokens.p50, expected.tokens.p95) == (10, 100, 190)
    assert (round(expected.usd.p50, 6), round(expected.usd.p95, 6)) == (1.0, 1.9)


def test_runs_without_a_known_price_are_counted_and_not_guessed() -> None:
    jobs = job("priced", Cron("0 12 * * *", tz="UTC")), job("unknown", Cron("0 13 * * *", tz="UTC"))
    past = {"priced": runs_of(1, 1, usd=0.5), "unknown": runs_of(1, 1, 1, tokens=5)}
    found = play(*jobs, days=2, past=past)
    assert found.usd
    assert found.usd.p50 == 1.0
    assert (found.runs_without_price, found.past_without_price) == (2, 3)


def test_a_quantile_is_one_of_the_values() -> None:
    assert quantile([3, 1, 2], 0.5) == 2
    assert quantile(list(range(1, 21)), 0.95) == 19
    assert quantile([7], 0.95) == 7
