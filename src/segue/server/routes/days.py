"""Routes of day sets: the working days that a cron schedule may name."""

from typing import Annotated, TypeAlias

from fastapi import APIRouter, Path, Query

from segue.server.auth import require_admin
from segue.server.error_responses import responses
from segue.server.request_context import AuthenticatedRequest, AuthenticatedRoute
from segue.server.schemas import common, days

router = APIRouter(
    prefix="/days", route_class=AuthenticatedRoute, tags=["Days"], responses=responses(400, 401, 403, 422)
)

Name: TypeAlias = Annotated[
    str, Path(description="The name of a day set.", min_length=1, max_length=50, pattern=r"^[^\x00]+$")
]


@router.get("", summary="List day sets")
async def list_days(request: AuthenticatedRequest) -> days.DaySetsOut:
    """List the sets that come with Segue, and then those of the account."""
    found = await request.kernel.days.list(owner=request.owner)
    return days.DaySetsOut(days=[days.day_set_out(each) for each in found])


@router.post("", summary="Import a day set", status_code=201, responses=responses(413))
async def import_days(body: days.ImportDays, request: AuthenticatedRequest) -> days.DaySetOut:
    """Store the all-day events of a calendar file as days off. A set of that name is replaced, and the next
    run of each job that uses it moves. Requires a key with the role admin."""
    require_admin(request.caller)
    return days.day_set_out(await request.kernel.days.add(body.name, body.ics, owner=request.owner))


@router.get("/{name}", summary="Get a day set", responses=responses(404))
async def get_days(
    name: Name,
    request: AuthenticatedRequest,
    year: Annotated[int | None, Query(ge=1970, le=2200, description="Only the days of this year.")] = None,
) -> days.DaySetDetailsOut:
    """Return a set with its days off and its working days at weekends."""
    return days.details_out(await request.kernel.days.get(name, owner=request.owner), year)


@router.delete(
    "/{name}", summary="Delete a day set", response_model_exclude_none=True, responses=responses(404, 409)
)
async def delete_days(name: Name, request: AuthenticatedRequest) -> common.Deleted:
    """Delete a set of the account. 409 `in_use` with `jobs` while active or paused jobs use it. Requires a
    key with the role admin."""
    require_admin(request.caller)
    await request.kernel.days.delete(name, owner=request.owner)
    return common.Deleted(deleted=True)
