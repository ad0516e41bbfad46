"""Routes of forecasts and budgets: what the jobs of a session will do and cost, and what they may use."""

from typing import Annotated

from fastapi import APIRouter, Query

from segue.model.cost.budget import Budget
from segue.model.cost.forecast import MOST_DAYS
from segue.model.states import JobKind
from segue.server.error_responses import responses
from segue.server.request_context import AuthenticatedRequest, AuthenticatedRoute
from segue.server.routes.sessions import KeyInPath
from segue.server.schemas import budgets
from segue.server.schemas import forecasts as schemas

router = APIRouter(
    route_class=AuthenticatedRoute, tags=["Cost"], responses=responses(400, 401, 403, 404, 422)
)


@router.get("/sessions/{key}/forecast", summary="Forecast the runs of a session")
async def get_forecast(
    key: KeyInPath,
    request: AuthenticatedRequest,
    days: Annotated[int, Query(ge=1, le=MOST_DAYS, description="How many days from now.")] = 30,
) -> schemas.ForecastOut:
    """Play the session's active jobs on a virtual clock: each slot with its verdict and reason, and the
    runs, tokens and cost that are expected from past runs. Nothing is written and no model is asked."""
    kernel = request.kernel
    session = await kernel.sessions.get(key, owner=request.owner)
    found = await kernel.jobs.forecast(session, days=days)
    return schemas.forecast_out(found, session.key, kernel.sessions.zone_in(session))


@router.get("/sessions/{key}/budget", summary="Get the budgets of a session")
async def get_budget(key: KeyInPath, request: AuthenticatedRequest) -> budgets.SessionBudgetOut:
    """Return what the session, and those of its jobs that have a budget, have left in their periods."""
    session = await request.kernel.sessions.get(key, owner=request.owner)
    return budgets.session_budget_out(await request.kernel.sessions.budget(session), session.key)


@router.put("/sessions/{key}/budget", summary="Set the budget of a session")
async def set_budget(
    key: KeyInPath, body: budgets.SetBudget, request: AuthenticatedRequest
) -> budgets.SessionBudgetOut:
    """Set what all scheduled runs of the session may use in a period. A user's own turn is never refused."""
    session = await request.kernel.sessions.get(key, owner=request.owner)
    given = None if body.budget is None else Budget.from_json(body.budget.to_json())
    return budgets.session_budget_out(await request.kernel.sessions.set_budget(session, given), session.key)


@router.post(
    "/sessions/{key}/budget/raise", summary="Raise a budget for its period", responses=responses(409)
)
async def raise_budget(
    key: KeyInPath, request: AuthenticatedRequest, body: budgets.RaiseBudget | None = None
) -> budgets.SessionBudgetOut:
    """Give the budget of the session, or of one of its jobs, as much again until its period ends."""
    kernel = request.kernel
    session = await kernel.sessions.get(key, owner=request.owner)
    if body is None or body.job_id is None:
        return budgets.session_budget_out(await kernel.sessions.raise_budget(session), session.key)
    job = await kernel.jobs.load(body.job_id, kind=JobKind.CRON, owner=request.owner)
    await kernel.jobs.raise_budget(job)
    return budgets.session_budget_out(await kernel.sessions.budget(session), session.key)
