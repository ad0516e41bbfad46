"""Routes of recalls: wake-ups that an agent sets for itself, and that users see, set, skip and cancel."""

from fastapi import APIRouter

from segue.server.error_responses import responses
from segue.server.paging import Cursor, Limit, decode_cursor, encode_cursor
from segue.server.request_context import AuthenticatedRequest, AuthenticatedRoute, IdempotencyKey
from segue.server.routes.sessions import KeyInPath
from segue.server.schemas import common, views
from segue.server.schemas.recalls import PendingRecall, RecallCancelled, RecallsOut, SetRecall

router = APIRouter(
    route_class=AuthenticatedRoute, tags=["Recall"], responses=responses(400, 401, 403, 404, 422)
)


@router.get("/sessions/{key}/recall", summary="Get the recall")
async def get_recall(key: KeyInPath, request: AuthenticatedRequest) -> PendingRecall:
    """Return the pending recall (also while it waits for a busy session), or the running one, or null."""
    current = await request.kernel.recalls.get(key, owner=request.owner)
    return PendingRecall(recall=None if current is None else views.recall(current, key))


@router.post("/sessions/{key}/recall", summary="Set a recall", status_code=201, responses=responses(409, 413))
async def set_recall(
    key: KeyInPath, body: SetRecall, request: AuthenticatedRequest, idempotency_key: IdempotencyKey = None
) -> common.RecallOut:
    """Set a recall as the agent does with `schedule_recall`. A session has at most one pending recall."""
    made = await request.kernel.recalls.add(
        key,
        body.additional_context_message,
        call_type=body.call_type,
        when=body.when,
        timezone=body.timezone,
        timezone_offset=body.timezone_offset,
        interval_seconds=body.interval_seconds,
        comment=body.internal_comment,
        owner=request.owner,
        request=await request.idempotency(idempotency_key),
    )
    return views.recall(made, key)


@router.delete("/sessions/{key}/recall", summary="Cancel the recall", responses=responses(409))
async def cancel_recall(key: KeyInPath, request: AuthenticatedRequest) -> RecallCancelled:
    """Cancel the pending recall, or one that is due and waits for a busy session."""
    await request.kernel.recalls.cancel(key, owner=request.owner)
    return RecallCancelled(cancelled=True)


@router.post(
    "/sessions/{key}/recall/skip", summary="Skip the next time of a recall", responses=responses(409)
)
async def skip_recall(key: KeyInPath, request: AuthenticatedRequest) -> PendingRecall:
    """Skip the next time of a recurring recall. It fires one interval later."""
    return PendingRecall(
        recall=views.recall(await request.kernel.recalls.skip(key, owner=request.owner), key)
    )


@router.get("/sessions/{key}/recalls", summary="List recalls")
async def list_recalls(
    key: KeyInPath, request: AuthenticatedRequest, limit: Limit = 100, cursor: Cursor = None
) -> RecallsOut:
    """List all recalls of the session in any status, newest first."""
    found = await request.kernel.recalls.list(
        key, owner=request.owner, limit=limit + 1, before=decode_cursor(cursor)
    )
    page = found[:limit]
    return RecallsOut(
        recalls=[views.recall(recall, key) for recall in page],
        next_cursor=encode_cursor(page[-1].page_start) if len(found) > limit else None,
    )
