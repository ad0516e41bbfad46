"""Routes of forecasts: what the jobs of a session will do, and what that is expected to cost."""

from typing import Annotated

from fastapi import APIRouter, Query

from segue.model.cost.forecast import MOST_DAYS
from segue.server.error_responses import responses
from segue.server.request_context import AuthenticatedRequest, AuthenticatedRoute
from segue.server.routes.sessions import KeyInPath
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
