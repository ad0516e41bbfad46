"""Schemas of forecasts and dry runs, and conversions from them."""

from collections.abc import Sequence
from typing import Literal, TypeAlias, cast

from pydantic import BaseModel, Field, JsonValue

from segue.kernel.api.cost.forecasts import Preview
from segue.model.cost.forecast import Forecast, JobForecast
from segue.model.cost.past_runs import Spread
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


class ForecastOut(BaseModel):
    session_key: str
    start: Moment
    end: Moment
    total: ExpectedOut
    jobs: list[JobForecastOut]
    slots: list[ForecastSlotOut]
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


def forecast_out(found: Forecast, session_key: str, zone: str | None) -> ForecastOut:
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
            for each in found.slots
        ],
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
