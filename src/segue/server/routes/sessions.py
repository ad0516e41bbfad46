"""Sessions: open, list, look, change, delete."""

from typing import Annotated, TypeAlias

from fastapi import APIRouter, Path, Query, Response

from segue.errors import SessionHasJobs
from segue.model.records import Job
from segue.model.text_checks import MAX_KEY
from segue.server.error_responses import Refused, responses
from segue.server.idempotency import IdempotencyKey, named
from segue.server.paging import Cursor, Limit, cursor_of, place_of
from segue.server.request_context import AuthenticatedRequest, Guarded
from segue.server.schemas import common, views
from segue.server.schemas.memory import policy_of

router = APIRouter(route_class=Guarded, tags=["Sessions"], responses=responses(400, 401, 403, 422))

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
        200: {"description": "It was there, and is as it was.", "model": common.SessionOut},
        **responses(404, 409, 413),
    },
)
async def open_session(
    body: common.OpenSession,
    response: Response,
    asked: AuthenticatedRequest,
    idempotency_key: IdempotencyKey = None,
) -> common.SessionOut:
    """Make a session, or get the one of that key as it is. Messages make a missing session by themselves."""
    key = _key(body, asked.kernel.ids(asked.kernel.clock.ms()))
    await asked.may_open(key)
    opened = await asked.kernel.open(
        key,
        owner=asked.owner,
        chat_type=body.chat_type,
        title=body.title,
        timezone=body.timezone,
        metadata=body.metadata,
        auto_commit_policy=policy_of(body),
        request=await named(asked, idempotency_key),
    )
    if not opened.created:
        response.status_code = 200
    return views.session(await asked.kernel.overview_of(opened.session.id))


@router.get("/sessions", summary="List sessions")
async def list_sessions(
    asked: AuthenticatedRequest,
    limit: Limit = 100,
    cursor: Cursor = None,
    pending_recall: Annotated[bool, Query(description="Only those with a pending recall.")] = False,
) -> common.SessionsOut:
    """The caller's sessions, for an admin those of the whole account; the most recently spoken to first."""
    found = await asked.kernel.overviews(
        owner=asked.owner, limit=limit + 1, before=place_of(cursor), pending_recall=pending_recall
    )
    shown = found[:limit]
    return common.SessionsOut(
        sessions=[views.session(overview) for overview in shown],
        next_cursor=cursor_of(shown[-1].place) if len(found) > limit else None,
    )


@router.get("/sessions/{key}", summary="Look at a session", responses=responses(404))
async def get_session(key: KeyInPath, asked: AuthenticatedRequest) -> common.SessionOut:
    return views.session(await asked.kernel.overview(key, owner=asked.owner))


@router.patch("/sessions/{key}", summary="Change a session", responses=responses(404, 413))
async def change_session(
    key: KeyInPath, body: common.ChangeSession, asked: AuthenticatedRequest
) -> common.SessionOut:
    about = body.model_dump(exclude_unset=True)
    if "metadata" in about:
        about["metadata"] = about["metadata"] or {}
    changed = await asked.kernel.change(key, owner=asked.owner, **about)
    return views.session(await asked.kernel.overview_of(changed.id))


@router.delete(
    "/sessions/{key}",
    summary="Delete a session",
    response_model_exclude_none=True,
    responses=responses(404),
)
async def delete_session(
    key: KeyInPath,
    asked: AuthenticatedRequest,
    delete_automations: Annotated[
        bool, Query(description="Its automations go with it, instead of standing in the way.")
    ] = False,
) -> common.Deleted:
    """All of a session: its messages, turns and jobs. What runs in it is over with it."""
    try:
        await asked.kernel.delete(key, with_jobs=delete_automations, owner=asked.owner)
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
