"""Schemas of forecasts, dry runs and what budgets have left, and conversions to them."""

from collections.abc import Sequence
from typing import Literal, TypeAlias, cast

from pydantic import BaseModel, Field, JsonValue

from segue.kernel.api.cost.budgets import BudgetNow, SessionBudget
from segue.kernel.api.cost.forecasts import Preview
from segue.model.cost.budget import BudgetUnit
from segue.model.cost.forecast import Forecast, JobForecast
from segue.model.cost.forecast_days import forecast_days
from segue.model.cost.past_runs import MICROS, Spread
from segue.model.schedule import local, zone_of
from segue.server.schemas.automations import schedule_out
from segue.server.schemas.common import Moment

Verdict: TypeAlias = Literal["run", "skipped", "missed", "day_off", "depends"]


class SpreadOut(BaseModel):
    """An expected sum: what it is if each run uses the median of past runs, and the 95th percentile."""

    p50: float
    p95: float


class ExpectedOut(BaseModel):
    slots: int
    runs: int
    skipped: int
    missed: int
    days_off: int = Field(description="Moments of cron lines that a day set leaves out. They are no slots.")
    collisions: int = Field(
        description="Runs that are expected to wait for another, by the median length of past runs."
    )
    tokens: SpreadOut | None = Field(description="Null: past runs reported none.")
    cost_usd: SpreadOut | None = Field(description="Null: no price of a past run is known.")
    runs_without_price: int = Field(description="Expected runs that are not in `cost_usd`.")
    past_without_price: int = Field(description="Past runs whose price is not known.")


class JobForecastOut(ExpectedOut):
    job_id: str
    name: str
    past_runs: int = Field(description="How many past runs the amounts are made of, at most 20.")
    run_ms: int = Field(description="The median length of past runs.")
    depends: str | None = Field(description="What the job's runs depend on, if that is not known.")


class ForecastSlotOut(BaseModel):
    job_id: str
    slot: Moment
    verdict: Verdict
    reason: str | None
    note: str | None = Field(description="The effect of a daylight saving change or a day set on this time.")
    count: int = Field(description="How many slots it stands for.")
    collides_with: str | None = Field(
        description="The id of the job behind whose run it is expected to wait."
    )


class ForecastDayOut(BaseModel):
    date: str
    runs: int
    jobs: dict[str, int] = Field(description="The runs by job id; only jobs that run on this day.")


class ForecastOut(BaseModel):
    session_key: str
    start: Moment
    end: Moment
    total: ExpectedOut
    jobs: list[JobForecastOut]
    slots: list[ForecastSlotOut] = Field(description="Empty also if the request says `slots=false`.")
    days: list[ForecastDayOut] = Field(
        description="All days of `timezone`, the first and the last in part. Their runs are those of `jobs`."
    )
    timezone: str
    listed: bool = Field(description="False: there are more than 5,000 slots. They are counted, not listed.")


class DryRunOut(BaseModel):
    """What a request would make. Nothing is stored."""

    dry_run: Literal[True] = True
    name: str
    schedule: dict[str, JsonValue]
    message: str
    policy: dict[str, JsonValue]
    next_runs: list[Moment]
    prompt_tokens: int = Field(description="An estimate for the prompt of a run.")
    context_tokens: int = Field(description="An estimate for what the model is given of the session now.")
    detail: list[str] = Field(description="Warnings.")


def forecast_out(
    found: Forecast,
    session_key: str,
    zone: str | None,
    *,
    days_of: str | None = None,
    with_slots: bool = True,
) -> ForecastOut:
    """`days_of`: the zone whose days are counted; by default that of the session."""
    zones = {each.job.id: zone_of(each.job.trigger, zone) for each in found.jobs}
    return ForecastOut(
        session_key=session_key,
        start=local(found.start, zone).isoformat(),
        end=local(found.end, zone).isoformat(),
        total=ExpectedOut(
            **_counts(found.jobs),
            tokens=_spread(found.tokens),
            cost_usd=_spread(found.usd),
            runs_without_price=found.runs_without_price,
            past_without_price=found.past_without_price,
        ),
        jobs=[_job(each) for each in found.jobs],
        slots=[
            ForecastSlotOut(
                job_id=each.job_id,
                slot=local(each.slot, zones[each.job_id]).isoformat(),
                verdict=cast(Verdict, str(each.verdict)),
                reason=each.reason,
                note=each.note,
                count=each.count,
                collides_with=each.collides_with,
            )
            for each in (found.slots if with_slots else ())
        ],
        days=[
            ForecastDayOut(date=each.day.isoformat(), runs=each.runs, jobs=dict(each.jobs))
            for each in forecast_days(found, days_of or zone or "UTC")
        ],
        timezone=days_of or zone or "UTC",
        listed=found.listed,
    )


def _job(each: JobForecast) -> JobForecastOut:
    return JobForecastOut(
        job_id=each.job.id,
        name=each.job.name,
        past_runs=each.past.runs,
        run_ms=each.past.length_ms,
        depends=each.depends,
        **_counts([each]),
        tokens=_spread(each.tokens),
        cost_usd=_spread(each.usd),
        runs_without_price=each.runs if each.past.usd is None else 0,
        past_without_price=each.past.without_price,
    )


def _counts(jobs: Sequence[JobForecast]) -> dict[str, int]:
    names = ("slots", "runs", "skipped", "missed", "days_off", "collisions")
    return {name: sum(getattr(each, name) for each in jobs) for name in names}


def _spread(spread: Spread | None) -> SpreadOut | None:
    return None if spread is None else SpreadOut(p50=round(spread.p50, 6), p95=round(spread.p95, 6))


def dry_run_out(preview: Preview, zone: str | None) -> DryRunOut:
    job = preview.job
    display_zone = zone_of(job.trigger, zone)
    return DryRunOut(
        name=job.name,
        schedule=schedule_out(job.trigger),
        message=preview.message,
        policy=job.policy.to_json(),
        next_runs=[local(slot, display_zone).isoformat() for slot in preview.next],
        prompt_tokens=preview.prompt_tokens,
        context_tokens=preview.context_tokens,
        detail=list(preview.warnings),
    )


class AmountsOut(BaseModel):
    """A budget in its current period. All amounts are null if there is no budget."""

    unit: Literal["usd", "tokens", "runs"] | None
    limit: float | None
    spent: float | None = Field(description="By runs that have ended, less what was raised.")
    reserved: float | None = Field(description="By runs that have not ended.")
    left: float | None
    per: Literal["day", "week", "month"] | None
    over: Literal["skip", "pause", "ask"] | None
    resets_at: Moment | None


class JobBudgetOut(AmountsOut):
    job_id: str
    name: str


class SessionBudgetOut(AmountsOut):
    session_key: str
    jobs: list[JobBudgetOut] = Field(description="Those of its jobs that have a budget.")


def session_budget_out(found: SessionBudget, session_key: str) -> SessionBudgetOut:
    jobs = [
        JobBudgetOut(job_id=each.job_id, name=each.name, **_amounts(each.now).model_dump())
        for each in found.jobs
    ]
    return SessionBudgetOut(session_key=session_key, jobs=jobs, **_amounts(found.own).model_dump())


def _amounts(now: BudgetNow | None) -> AmountsOut:
    if now is None:
        return AmountsOut(**dict.fromkeys(AmountsOut.model_fields))
    spent, reserved, left = _in_unit(now.budget.unit, (now.spent, now.reserved, now.left))
    return AmountsOut(
        unit=cast(Literal["usd"], str(now.budget.unit)),
        limit=now.budget.limit,
        spent=spent,
        reserved=reserved,
        left=left,
        per=cast(Literal["day"], str(now.budget.per)),
        over=cast(Literal["skip"], str(now.budget.over)),
        resets_at=now.resets_at.isoformat(),
    )


def _in_unit(unit: BudgetUnit, amounts: Sequence[int]) -> list[float]:
    return [amount / MICROS if unit is BudgetUnit.USD else amount for amount in amounts]
