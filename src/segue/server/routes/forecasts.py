"""Routes of forecasts and budgets: what the jobs of a session will do and cost, and what they may use."""

from typing import Annotated

from fastapi import APIRouter, Query

from segue.model.cost.forecast import MOST_DAYS
from segue.model.states import JobKind
from segue.server.error_responses import responses
from segue.server.request_context import AuthenticatedRequest, AuthenticatedRoute
from segue.server.routes.sessions import KeyInPath, ZoneInQuery
from segue.server.schemas import forecasts as schemas
from segue.server.schemas.budgets import RaiseBudget

router = APIRouter(
    route_class=AuthenticatedRoute, tags=["Cost"], responses=responses(400, 401, 403, 404, 422)
)


@router.get("/sessions/{key}/forecast", summary="Forecast the runs of a session")
async def get_forecast(
    key: KeyInPath,
    request: AuthenticatedRequest,
    days: Annotated[int, Query(ge=1, le=MOST_DAYS, description="How many days from now.")] = 30,
    timezone: ZoneInQuery = None,
    slots: Annotated[bool, Query(description="False: `slots` stays empty, which makes it short.")] = True,
) -> schemas.ForecastOut:
    """Play the session's active jobs on a virtual clock: each slot with its verdict and reason, and the
    runs, tokens and cost that are expected from past runs. Nothing is written and no model is asked."""
    kernel = request.kernel
    session = await kernel.sessions.get(key, owner=request.owner)
    found = await kernel.jobs.forecast(session, days=days)
    days_of = kernel.sessions.zone_in(session, timezone)
    zone = kernel.sessions.zone_in(session)
    return schemas.forecast_out(found, session.key, zone, days_of=days_of, with_slots=slots)


@router.get("/sessions/{key}/budget", summary="Get the budgets of a session")
async def get_budget(key: KeyInPath, request: AuthenticatedRequest) -> schemas.SessionBudgetOut:
    """Return what the session, and those of its jobs that have a budget, have left in their periods."""
    session = await request.kernel.sessions.get(key, owner=request.owner)
    return schemas.session_budget_out(await request.kernel.sessions.budget(session), session.key)


@router.post(
    "/sessions/{key}/budget/raise", summary="Raise a budget for its period", responses=responses(409)
)
async def raise_budget(
    key: KeyInPath, request: AuthenticatedRequest, body: RaiseBudget | None = None
) -> schemas.SessionBudgetOut:
    """Give the budget of the session, or of one of its jobs, as much again until its period ends."""
    kernel = request.kernel
    session = await kernel.sessions.get(key, owner=request.owner)
    if body is None or body.job_id is None:
        return schemas.session_budget_out(await kernel.sessions.raise_budget(session), session.key)
    job = await kernel.jobs.load(body.job_id, kind=JobKind.CRON, owner=request.owner)
    await kernel.jobs.raise_budget(job)
    return schemas.session_budget_out(await kernel.sessions.budget(session), session.key)
