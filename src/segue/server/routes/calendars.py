"""Routes of calendars: the day sets of an account, and the calendar of a session."""

from enum import Enum
from hashlib import sha256
from typing import Annotated, TypeAlias

from fastapi import APIRouter, Path, Query, Request, Response

from segue.errors import BadCalendar
from segue.server.auth import require_admin
from segue.server.error_responses import responses
from segue.server.request_context import AuthenticatedRequest, AuthenticatedRoute, app_state
from segue.server.routes.files import uploaded
from segue.server.routes.sessions import KeyInPath
from segue.server.schemas import calendars, common
from segue.times.icalendar.content_lines import LARGEST_FILE

router = APIRouter(route_class=AuthenticatedRoute, responses=responses(400, 401, 403, 422))
public = APIRouter(tags=["Calendar"])

_DAYS: list[str | Enum] = ["Days"]
_CALENDAR: list[str | Enum] = ["Calendar"]
_MEDIA_TYPE = "text/calendar; charset=utf-8"
_FILE = {
    "text/calendar": {"schema": {"type": "string"}},
    "multipart/form-data": {
        "schema": {
            "type": "object",
            "properties": {"file": {"type": "string", "format": "binary"}},
            "required": ["file"],
        }
    },
}

Name: TypeAlias = Annotated[
    str, Path(description="The name of a day set.", min_length=1, max_length=50, pattern=r"^[^\x00]+$")
]


@router.get("/days", summary="List day sets", tags=_DAYS)
async def list_days(request: AuthenticatedRequest) -> calendars.DaySetsOut:
    """List the sets that come with Segue, and then those of the account."""
    found = await request.kernel.days.list(owner=request.owner)
    return calendars.DaySetsOut(days=[calendars.day_set_out(each) for each in found])


@router.post("/days", summary="Import a day set", tags=_DAYS, status_code=201, responses=responses(413))
async def import_days(body: calendars.ImportDays, request: AuthenticatedRequest) -> calendars.DaySetOut:
    """Store the all-day events of a calendar file as days off. A set of that name is replaced, and the next
    run of each job that uses it moves. Requires a key with the role admin."""
    require_admin(request.caller)
    return calendars.day_set_out(await request.kernel.days.add(body.name, body.ics, owner=request.owner))


@router.get("/days/{name}", summary="Get a day set", tags=_DAYS, responses=responses(404))
async def get_days(
    name: Name,
    request: AuthenticatedRequest,
    year: Annotated[int | None, Query(ge=1970, le=2200, description="Only the days of this year.")] = None,
) -> calendars.DaySetDetailsOut:
    """Return a set with its days off and its working days at weekends."""
    return calendars.details_out(await request.kernel.days.get(name, owner=request.owner), year)


@router.delete(
    "/days/{name}",
    summary="Delete a day set",
    tags=_DAYS,
    response_model_exclude_none=True,
    responses=responses(404, 409),
)
async def delete_days(name: Name, request: AuthenticatedRequest) -> common.Deleted:
    """Delete a set of the account. 409 `in_use` with `jobs` while active or paused jobs use it. Requires a
    key with the role admin."""
    require_admin(request.caller)
    await request.kernel.days.delete(name, owner=request.owner)
    return common.Deleted(deleted=True)


@router.get("/sessions/{key}/calendar", summary="Get the calendar", tags=_CALENDAR, responses=responses(404))
async def get_calendar(key: KeyInPath, request: AuthenticatedRequest) -> calendars.CalendarOut:
    """Say whether the session's calendar has an address. The address itself cannot be read again."""
    shared_at = await request.kernel.calendar.shared_at(key, owner=request.owner)
    return calendars.calendar_out(shared_at)


@router.post(
    "/sessions/{key}/calendar",
    summary="Share the calendar",
    tags=_CALENDAR,
    status_code=201,
    responses=responses(404),
)
async def share_calendar(key: KeyInPath, request: AuthenticatedRequest) -> calendars.CalendarAddressOut:
    """Make a private address at which a calendar program reads what is coming in this session.

    It is shown once, because only a hash of its token is stored. An address that the session had is void.
    """
    token = await request.kernel.calendar.share(key, owner=request.owner)
    path = f"{request.scope.get('root_path', '')}/calendar/{token}.ics"
    return calendars.CalendarAddressOut(url=str(request.url.replace(path=path, query="")))


@router.delete(
    "/sessions/{key}/calendar",
    summary="Revoke the calendar's address",
    tags=_CALENDAR,
    response_model_exclude_none=True,
    responses=responses(404),
)
async def revoke_calendar(key: KeyInPath, request: AuthenticatedRequest) -> common.Deleted:
    """Take the address back. 404 if there is none."""
    await request.kernel.calendar.revoke(key, owner=request.owner)
    return common.Deleted(deleted=True)


@router.post(
    "/sessions/{key}/calendar/import",
    summary="Import events",
    tags=_CALENDAR,
    responses=responses(404, 413),
    openapi_extra={"requestBody": {"required": True, "content": _FILE}},
)
async def import_calendar(
    key: KeyInPath,
    request: AuthenticatedRequest,
    make: Annotated[bool, Query(description="Make the jobs. Otherwise they are only shown.")] = False,
) -> calendars.ImportedEventsOut:
    """Show the jobs that the timed events of a calendar file would be, or make them with `make=true`.

    The body is the file, or a form with one file, of at most 1,000,000 bytes. An event that was imported
    before is skipped, so a file can be imported again.
    """
    session = await request.kernel.sessions.get(key, owner=request.owner)
    _, content = await uploaded(request, LARGEST_FILE)
    imported = await request.kernel.calendar.import_events(session, _text(content), make=make)
    return calendars.imported_out(imported, session.key, request.kernel.sessions.zone_in(session))


@public.get(
    "/calendar/{token}.ics",
    summary="Read a shared calendar",
    response_class=Response,
    responses={
        200: {"description": "What is coming in a session (RFC 5545).", "content": {"text/calendar": {}}},
        304: {"description": "It is as it was."},
        **responses(404, 422),
    },
)
async def read_calendar(
    token: Annotated[str, Path(description="The token of the address, which is the key to it.")],
    request: Request,
) -> Response:
    """Needs no key: the address itself is secret."""
    content = (await app_state(request).kernel.calendar.read(token)).encode("utf-8", "replace")
    etag = f'"{sha256(content).hexdigest()[:32]}"'
    headers = {"ETag": etag, "Cache-Control": "private, no-cache"}
    if etag in request.headers.get("if-none-match", ""):
        return Response(status_code=304, headers=headers)
    return Response(content, media_type=_MEDIA_TYPE, headers=headers)


def _text(content: bytes) -> str:
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise BadCalendar("the calendar file is not UTF-8 text; export it again as UTF-8") from None


router.routes.extend(public.routes)
