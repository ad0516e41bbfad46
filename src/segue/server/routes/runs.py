"""Runs: every firing of a job, and how it ended."""

from typing import Annotated

from fastapi import APIRouter, Path

from segue.server.error_responses import responses
from segue.server.paging import Cursor, Limit, cursor_of, place_of
from segue.server.request_context import AuthenticatedRequest, Guarded
from segue.server.routes.sessions import KeyInPath
from segue.server.schemas import common, views

router = APIRouter(route_class=Guarded, tags=["Runs"], responses=responses(400, 401, 403, 404, 422))


@router.get("/sessions/{key}/runs", summary="List a session's runs")
async def list_runs(
    key: KeyInPath, asked: AuthenticatedRequest, limit: Limit = 100, cursor: Cursor = None
) -> common.RunsOut:
    """Newest first, those that were skipped or missed among them."""
    found = await asked.kernel.runs(key, owner=asked.owner, limit=limit + 1, before=place_of(cursor))
    shown = found[:limit]
    return common.RunsOut(
        runs=[views.run(run, key) for run in shown],
        next_cursor=cursor_of(shown[-1].place) if len(found) > limit else None,
    )


@router.get("/runs/{run_id}", summary="Look at a run")
async def get_run(
    run_id: Annotated[str, Path(max_length=400, pattern=r"^[^\x00]+$")], asked: AuthenticatedRequest
) -> common.RunOut:
    run = await asked.kernel.record(run_id, owner=asked.owner)
    session = await asked.kernel.store.session_by_id(run.session_id)
    return views.run(run, session.key)
