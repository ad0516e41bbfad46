"""Routes of runs: each slot of a job and its outcome, and what the runs of a session used."""

from typing import Annotated

from fastapi import APIRouter, Path, Query

from segue.model.cost.usage_days import MOST_USAGE_DAYS
from segue.server.error_responses import responses
from segue.server.paging import Cursor, Limit, decode_cursor, encode_cursor
from segue.server.request_context import AuthenticatedRequest, AuthenticatedRoute
from segue.server.routes.sessions import KeyInPath, ZoneInQuery
from segue.server.schemas import runs as schemas
from segue.server.schemas import views

router = APIRouter(
    route_class=AuthenticatedRoute, tags=["Runs"], responses=responses(400, 401, 403, 404, 422)
)


@router.get("/sessions/{key}/runs", summary="List a session's runs")
async def list_session_runs(
    key: KeyInPath, request: AuthenticatedRequest, limit: Limit = 100, cursor: Cursor = None
) -> schemas.RunsOut:
    """List runs, newest first, including skipped and missed ones."""
    found = await request.kernel.runs.list(
        key, owner=request.owner, limit=limit + 1, before=decode_cursor(cursor)
    )
    page = found[:limit]
    return schemas.RunsOut(
        runs=[views.run(run, key) for run in page],
        next_cursor=encode_cursor(page[-1].page_start) if len(found) > limit else None,
    )


@router.get("/sessions/{key}/usage", summary="Get a session's usage")
async def get_usage(
    key: KeyInPath,
    request: AuthenticatedRequest,
    days: Annotated[
        int, Query(ge=1, le=MOST_USAGE_DAYS, description="How many days; today is the last of them.")
    ] = 30,
    timezone: ZoneInQuery = None,
) -> schemas.UsageOut:
    """Sum the runs, tokens and cost of the last days, by day and job. An unknown price is not guessed."""
    found = await request.kernel.runs.usage(key, days=days, timezone=timezone, owner=request.owner)
    return schemas.usage_out(found, key)


@router.get("/runs/{run_id}", summary="Get a run")
async def get_run(
    run_id: Annotated[str, Path(max_length=400, pattern=r"^[^\x00]+$")], request: AuthenticatedRequest
) -> schemas.RunOut:
    run = await request.kernel.runs.get(run_id, owner=request.owner)
    session = await request.kernel.sessions.by_id(run.session_id)
    return views.run(run, session.key)
