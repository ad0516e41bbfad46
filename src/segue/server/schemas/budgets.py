"""Schemas of budgets, and conversions from them."""

from collections.abc import Sequence
from typing import Literal, cast

from pydantic import BaseModel, ConfigDict, Field

from segue.kernel.api.cost.budgets import BudgetNow, SessionBudget
from segue.model.cost.budget import BudgetUnit
from segue.model.cost.past_runs import MICROS
from segue.server.schemas.automations import BudgetIn
from segue.server.schemas.body import Body
from segue.server.schemas.common import Moment


class SetBudget(Body):
    budget: BudgetIn | None = Field(description="Null removes the budget.")

    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={"examples": [{"budget": {"usd": 5, "per": "month", "over": "ask"}}]},
    )


class RaiseBudget(Body):
    job_id: str | None = Field(
        None,
        min_length=1,
        max_length=200,
        description="The job whose budget is raised. Default: the session's.",
    )

    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [{"job_id": None}]})


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
        JobBudgetOut(job_id=job.id, name=job.name, **_amounts(now).model_dump()) for job, now in found.jobs
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
