"""Routes of sessions: open, list, get, change, delete."""

from typing import Annotated, TypeAlias

from fastapi import APIRouter, Path, Query, Response

from segue.errors import BadSetting, SessionHasJobs, UnknownDays
from segue.kernel.api.quiet import NO_PUSH
from segue.model.cost.budget import Budget
from segue.model.records import Job
from segue.model.text_checks import MAX_KEY
from segue.server.error_responses import Refused, naming, responses
from segue.server.paging import Cursor, Limit, decode_cursor, encode_cursor
from segue.server.request_context import AuthenticatedRequest, AuthenticatedRoute, IdempotencyKey
from segue.server.schemas import common, quiet, views
from segue.server.schemas.memory import policy_of
from segue.server.schemas.push import MarkRead, Unread

router = APIRouter(route_class=AuthenticatedRoute, tags=["Sessions"], responses=responses(400, 401, 403, 422))

ZoneInQuery: TypeAlias = Annotated[
    str | None,
    Query(
        max_length=100,
        description="The IANA zone whose days are counted. Default: that of the session.",
        examples=["Europe/Berlin"],
    ),
]
KeyInPath: TypeAlias = Annotated[
    str,
    Path(
        description="The session's key, percent-encoded.",
        pattern=common.KEY_PATTERN,
        max_length=MAX_KEY,
        examples=["websocket:3f2a"],
    ),
]


@router.post(
    "/sessions",
    summary="Open a session",
    status_code=201,
    response_model=common.SessionOut,
    responses={
        200: {"description": "The session already exists and is unchanged.", "model": common.SessionOut},
        **responses(404, 409, 413),
    },
)
async def open_session(
    body: common.OpenSession,
    response: Response,
    request: AuthenticatedRequest,
    idempotency_key: IdempotencyKey = None,
) -> common.SessionOut:
    """Create a session, or return the existing one with that key. Messages create a session too."""
    key = _key(body, request.kernel.ids(request.kernel.clock.ms()))
    await request.may_open(key)
    with naming({BadSetting: "timezone"}):
        opened = await request.kernel.sessions.open(
            key,
            owner=request.owner,
            chat_type=body.chat_type,
            title=body.title,
            timezone=body.timezone,
            when_busy=body.when_busy,
            metadata=body.metadata,
            auto_commit_policy=policy_of(body),
            request=await request.idempotency(idempotency_key),
        )
    if not opened.created:
        response.status_code = 200
    return views.session(await request.kernel.sessions.overview_of(opened.session.id))


@router.get("/sessions", summary="List sessions")
async def list_sessions(
    request: AuthenticatedRequest,
    limit: Limit = 100,
    cursor: Cursor = None,
    pending_recall: Annotated[bool, Query(description="Return only sessions with a pending recall.")] = False,
) -> common.SessionsOut:
    """List the caller's sessions, or for an admin those of the whole account; most recent activity first."""
    found = await request.kernel.sessions.overviews(
        owner=request.owner, limit=limit + 1, before=decode_cursor(cursor), pending_recall=pending_recall
    )
    page = found[:limit]
    return common.SessionsOut(
        sessions=[views.session(overview) for overview in page],
        next_cursor=encode_cursor(page[-1].page_start) if len(found) > limit else None,
    )


@router.get("/sessions/{key}", summary="Get a session", responses=responses(404))
async def get_session(key: KeyInPath, request: AuthenticatedRequest) -> common.SessionOut:
    return views.session(await request.kernel.sessions.overview(key, owner=request.owner))


@router.patch("/sessions/{key}", summary="Change a session", responses=responses(404, 413))
async def change_session(
    key: KeyInPath, body: common.ChangeSession, request: AuthenticatedRequest
) -> common.ChangedSessionOut:
    changes = quiet.given(body.model_dump(exclude_unset=True, by_alias=True))
    if "metadata" in changes:
        changes["metadata"] = changes["metadata"] or {}
    if body.budget is not None:
        changes["budget"] = Budget.from_json(body.budget.to_json())
    sessions = request.kernel.sessions
    with naming({UnknownDays: "days"}):
        changed = await sessions.update(key, owner=request.owner, **changes)
    shown = views.session(await sessions.overview_of(changed.id))
    unsent = changes.get("digest") is not None and not sessions.has_push(changed)
    return common.ChangedSessionOut(**shown.model_dump(by_alias=True), notice=NO_PUSH if unsent else None)


@router.post("/sessions/{key}/held/send", summary="Send what waits", responses=responses(404))
async def send_held(key: KeyInPath, request: AuthenticatedRequest) -> common.HeldSentOut:
    """Send the answers that wait for the end of quiet hours or for a digest now, as one message."""
    return common.HeldSentOut(sent=await request.kernel.sessions.send_held(key, owner=request.owner))


@router.post("/sessions/{key}/read", summary="Mark messages as read", responses=responses(404, 413))
async def mark_read(key: KeyInPath, body: MarkRead, request: AuthenticatedRequest) -> Unread:
    """Mark the messages up to `seq` as read, on all devices of the session's owner.

    An admin who looks at the session of another user marks nothing.
    """
    unread = await request.kernel.sessions.mark_read(key, body.seq, owner=request.owner)
    return Unread(unread=unread)


@router.delete(
    "/sessions/{key}",
    summary="Delete a session",
    response_model_exclude_none=True,
    responses=responses(404),
)
async def delete_session(
    key: KeyInPath,
    request: AuthenticatedRequest,
    delete_automations: Annotated[
        bool,
        Query(description="Delete its automations too. Else a session with automations is not deleted."),
    ] = False,
) -> common.Deleted:
    """Delete a session with its messages, turns and jobs. A running turn is abandoned."""
    try:
        await request.kernel.sessions.delete(key, with_jobs=delete_automations, owner=request.owner)
    except SessionHasJobs as blocked:
        jobs = [views.blocking(job) for job in blocked.jobs if isinstance(job, Job)]
        return common.Deleted(deleted=False, blocked_by_automations=True, automations=jobs)
    return common.Deleted(deleted=True)


def _key(body: common.OpenSession, new_id: str) -> str:
    if body.key is None:
        return f"{body.channel or 'websocket'}:{body.chat_id or new_id}"
    if body.channel is not None or body.chat_id is not None:
        raise Refused(422, "invalid", "key: give a key, or a channel and a chat_id, not both")
    return body.key
