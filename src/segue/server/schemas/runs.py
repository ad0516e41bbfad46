"""Schemas of runs, and of what the runs and turns of a session used."""

from collections.abc import Mapping
from typing import Any, Literal

from pydantic import BaseModel, Field, JsonValue

from segue.model.cost.usage_days import SessionUsage, UsageSum
from segue.server.schemas.common import Moment


class PromptRefOut(BaseModel):
    id: str
    version: int
    sha256: str = Field(description="Hash of the rendered prompt.")


class RunOut(BaseModel):
    run_id: str
    job_id: str
    session_key: str
    turn_id: str | None
    state: Literal["queued", "running"] | None = Field(description="Null once the run has an outcome.")
    slot: Moment = Field(description="The time at which the run was due.")
    queued_at: Moment
    started_at: Moment | None
    finished_at: Moment | None
    outcome: str | None
    reason: str | None
    lateness_ms: int
    attempt: int
    missed_count: int
    prompt_ref: PromptRefOut | None
    prompt_vars: dict[str, JsonValue] | None
    rendered_prompt: str | None
    error: str | None
    usage: dict[str, JsonValue] | None
    delivery: Literal["sent", "failed", "unknown"] | None = Field(
        description="Delivery of its answer through a channel; null until decided, or if none is needed."
    )
    delivery_error: str | None = Field(description="Why the answer could not be delivered.")


class RunsOut(BaseModel):
    runs: list[RunOut]
    next_cursor: str | None


class UsageSumOut(BaseModel):
    runs: int = Field(description="Runs of jobs, or turns of users, also those under way.")
    failed: int
    skipped: int = Field(description="Moments that did not run: skipped or cancelled.")
    missed: int
    latest_ms: int = Field(description="The longest time from a slot to its start.")
    input_tokens: int = Field(description="All tokens of the prompts, those from a cache included.")
    cache_read_tokens: int
    output_tokens: int
    cost_usd: float | None = Field(description="The sum of the known prices; null if none is known.")
    without_price: int = Field(description="Runs that are not in `cost_usd`: their price is not known.")


class JobUsageOut(UsageSumOut):
    job_id: str | None = Field(description="Null: the users' own turns.")


class NamedUsageOut(JobUsageOut):
    name: str | None = Field(description="Null for the users' own turns, and for a job that is gone.")


class UsageDayOut(UsageSumOut):
    date: str
    jobs: list[JobUsageOut]


class UsageOut(BaseModel):
    session_key: str
    timezone: str
    start: Moment
    end: Moment
    total: UsageSumOut
    jobs: list[NamedUsageOut] = Field(description="Those that did something on these days.")
    days: list[UsageDayOut] = Field(description="All days, the oldest first.")


def usage_out(found: SessionUsage, session_key: str) -> UsageOut:
    return UsageOut(
        session_key=session_key,
        timezone=found.zone,
        start=found.start.isoformat(),
        end=found.end.isoformat(),
        total=UsageSumOut(**_fields(found.total)),
        jobs=[
            NamedUsageOut(job_id=job_id, name=found.names.get(job_id) if job_id else None, **_fields(each))
            for job_id, each in found.jobs.items()
        ],
        days=[
            UsageDayOut(date=day.day.isoformat(), jobs=_jobs(day.jobs), **_fields(day.total))
            for day in found.days
        ],
    )


def _jobs(jobs: Mapping[str | None, UsageSum]) -> list[JobUsageOut]:
    return [JobUsageOut(job_id=job_id, **_fields(each)) for job_id, each in jobs.items()]


def _fields(each: UsageSum) -> dict[str, Any]:
    values = {name: getattr(each, name) for name in UsageSumOut.model_fields}
    return values | {"cost_usd": None if each.cost_usd is None else round(each.cost_usd, 6)}
