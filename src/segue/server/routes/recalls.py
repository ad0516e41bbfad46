"""Recalls: what an agent has set for itself, for people to see, cancel, skip and set."""

from fastapi import APIRouter

from segue.server.error_responses import responses
from segue.server.idempotency import IdempotencyKey, named
from segue.server.paging import Cursor, Limit, cursor_of, place_of
from segue.server.request_context import AuthenticatedRequest, Guarded
from segue.server.routes.sessions import KeyInPath
from segue.server.schemas import common, views
from segue.server.schemas.recalls import PendingRecall, RecallCancelled, RecallsOut, SetRecall

router = APIRouter(route_class=Guarded, tags=["Recall"], responses=responses(400, 401, 403, 404, 422))


@router.get("/sessions/{key}/recall", summary="Look at the recall")
async def get_recall(key: KeyInPath, asked: AuthenticatedRequest) -> PendingRecall:
    """The pending one, also while it waits for a busy session; else the one that runs; else null."""
    current = await asked.kernel.recall(key, owner=asked.owner)
    return PendingRecall(recall=None if current is None else views.recall(current, key))


@router.post("/sessions/{key}/recall", summary="Set a recall", status_code=201, responses=responses(409, 413))
async def set_recall(
    key: KeyInPath, body: SetRecall, asked: AuthenticatedRequest, idempotency_key: IdempotencyKey = None
) -> common.RecallOut:
    """As the agent does with `schedule_recall`. A session has one pending recall at most."""
    made = await asked.kernel.set_recall(
        key,
        body.additional_context_message,
        call_type=body.call_type,
        when=body.when,
        timezone=body.timezone,
        timezone_offset=body.timezone_offset,
        interval_seconds=body.interval_seconds,
        comment=body.internal_comment,
        owner=asked.owner,
        request=await named(asked, idempotency_key),
    )
    return views.recall(made, key)


@router.delete("/sessions/{key}/recall", summary="Cancel the recall", responses=responses(409))
async def cancel_recall(key: KeyInPath, asked: AuthenticatedRequest) -> RecallCancelled:
    """The pending one, or one that has come due and still waits for the conversation to be free."""
    await asked.kernel.cancel_recall(key, owner=asked.owner)
    return RecallCancelled(cancelled=True)


@router.post("/sessions/{key}/recall/skip", summary="Skip a time", responses=responses(409))
async def skip_recall(key: KeyInPath, asked: AuthenticatedRequest) -> PendingRecall:
    """A recurring recall fires an interval later than it would have."""
    return PendingRecall(recall=views.recall(await asked.kernel.skip_recall(key, owner=asked.owner), key))


@router.get("/sessions/{key}/recalls", summary="List recalls")
async def list_recalls(
    key: KeyInPath, asked: AuthenticatedRequest, limit: Limit = 100, cursor: Cursor = None
) -> RecallsOut:
    """All that were set in the session, newest first, whatever became of them."""
    found = await asked.kernel.recalls(key, owner=asked.owner, limit=limit + 1, before=place_of(cursor))
    shown = found[:limit]
    return RecallsOut(
        recalls=[views.recall(recall, key) for recall in shown],
        next_cursor=cursor_of(shown[-1].place) if len(found) > limit else None,
    )
