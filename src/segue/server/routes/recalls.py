"""Recalls: what an agent has set for itself, for people to see, cancel, skip and set."""

from fastapi import APIRouter

from segue.server import schema, views
from segue.server.errors import responses
from segue.server.house import CallerOf, KernelOf
from segue.server.idempotency import Named
from segue.server.paging import Cursor, Limit, cursor_of, place_of
from segue.server.recalls import PendingRecall, RecallCancelled, RecallsOut, SetRecall
from segue.server.routes.sessions import KeyInPath

router = APIRouter(tags=["Recall"], responses=responses(400, 401, 403, 404, 422))


@router.get("/sessions/{key}/recall", summary="Look at the pending recall")
async def get_recall(key: KeyInPath, kernel: KernelOf, caller: CallerOf) -> PendingRecall:
    """Null when none is pending. One that has come due is a turn, and no longer here."""
    pending = await kernel.recall(key, owner=caller.owner)
    return PendingRecall(recall=None if pending is None else views.recall(pending, key))


@router.post("/sessions/{key}/recall", summary="Set a recall", status_code=201, responses=responses(409, 413))
async def set_recall(
    key: KeyInPath, body: SetRecall, kernel: KernelOf, caller: CallerOf, request: Named
) -> schema.RecallOut:
    """As the agent does with `schedule_recall`. A session has one pending recall at most."""
    made = await kernel.set_recall(
        key,
        body.additional_context_message,
        call_type=body.call_type,
        when=body.when,
        timezone_offset=body.timezone_offset,
        interval_seconds=body.interval_seconds,
        comment=body.internal_comment,
        owner=caller.owner,
        request=request,
    )
    return views.recall(made, key)


@router.delete("/sessions/{key}/recall", summary="Cancel the recall", responses=responses(409))
async def cancel_recall(key: KeyInPath, kernel: KernelOf, caller: CallerOf) -> RecallCancelled:
    """The pending one, or one that has come due and still waits for the conversation to be free."""
    await kernel.cancel_recall(key, owner=caller.owner)
    return RecallCancelled(cancelled=True)


@router.post("/sessions/{key}/recall/skip", summary="Skip a time", responses=responses(409))
async def skip_recall(key: KeyInPath, kernel: KernelOf, caller: CallerOf) -> PendingRecall:
    """A recurring recall fires an interval later than it would have."""
    return PendingRecall(recall=views.recall(await kernel.skip_recall(key, owner=caller.owner), key))


@router.get("/sessions/{key}/recalls", summary="List recalls")
async def list_recalls(
    key: KeyInPath, kernel: KernelOf, caller: CallerOf, limit: Limit = 100, cursor: Cursor = None
) -> RecallsOut:
    """All that were set in the session, newest first, whatever became of them."""
    found = await kernel.recalls(key, owner=caller.owner, limit=limit + 1, before=place_of(cursor))
    shown = found[:limit]
    return RecallsOut(
        recalls=[views.recall(recall, key) for recall in shown],
        next_cursor=cursor_of(shown[-1].place) if len(found) > limit else None,
    )
