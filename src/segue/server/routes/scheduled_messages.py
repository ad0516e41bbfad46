"""Scheduled messages: words written now and sent then, with no model in between."""

from typing import Annotated, TypeAlias

from fastapi import APIRouter, Path, Query

from segue.model.states import MessageStatus
from segue.server.error_responses import responses
from segue.server.idempotency import IdempotencyKey, named
from segue.server.paging import Cursor, Limit, cursor_of, place_of
from segue.server.request_context import AuthenticatedRequest, Guarded
from segue.server.routes.sessions import KeyInPath
from segue.server.schemas import scheduled_messages as shapes

router = APIRouter(
    route_class=Guarded, tags=["Scheduled messages"], responses=responses(400, 401, 403, 404, 422)
)

MessageId: TypeAlias = Annotated[
    str, Path(description="The message's id.", min_length=1, max_length=200, pattern=r"^[^\x00]+$")
]
WithStatus: TypeAlias = Annotated[shapes.Status | None, Query(description="Only these.")]


@router.post(
    "/sessions/{key}/scheduled-messages",
    summary="Schedule a message",
    status_code=201,
    responses=responses(409, 413, 503),
)
async def schedule_message(
    key: KeyInPath,
    body: shapes.ScheduleMessage,
    asked: AuthenticatedRequest,
    idempotency_key: IdempotencyKey = None,
) -> shapes.PromisedOut:
    """Sent word for word at its time, however busy the session is then. For chats with one person only."""
    made = await asked.kernel.schedule_message(
        key,
        body.send_at,
        body.message_text,
        timezone=body.timezone,
        replace_existing=body.replace_existing,
        owner=asked.owner,
        request=await named(asked, idempotency_key),
    )
    return shapes.promised(made, key)


@router.get("/sessions/{key}/scheduled-messages", summary="List scheduled messages")
async def list_scheduled_messages(
    key: KeyInPath,
    asked: AuthenticatedRequest,
    status: WithStatus = None,
    limit: Limit = 100,
    cursor: Cursor = None,
) -> shapes.ScheduledMessagesOut:
    """The session's, the newest first, whatever became of them."""
    found = await asked.kernel.scheduled_messages(
        key,
        status=None if status is None else MessageStatus(status),
        owner=asked.owner,
        limit=limit + 1,
        before=place_of(cursor),
    )
    shown = found[:limit]
    return shapes.ScheduledMessagesOut(
        messages=[shapes.scheduled_message(message, key) for message in shown],
        next_cursor=cursor_of(shown[-1].place) if len(found) > limit else None,
    )


@router.delete("/scheduled-messages/{id}", summary="Cancel a scheduled message", responses=responses(409))
async def cancel_scheduled_message(id: MessageId, asked: AuthenticatedRequest) -> shapes.ScheduledMessageOut:
    """It is not sent after this. 409 when it is being sent, or over."""
    cancelled = await asked.kernel.cancel_message(id, owner=asked.owner)
    session = await asked.kernel.store.session_by_id(cancelled.session_id)
    return shapes.scheduled_message(cancelled, session.key)


@router.get("/sessions/{key}/deliveries", summary="List deliveries")
async def list_deliveries(
    key: KeyInPath, asked: AuthenticatedRequest, limit: Limit = 100
) -> shapes.DeliveriesOut:
    """What went out, or is to go out, through the session's channel, newest first. How a run ended is one
    thing, whether its answer arrived another; where stored is sent, answers need no delivery."""
    found = await asked.kernel.deliveries(key, owner=asked.owner, limit=limit)
    return shapes.DeliveriesOut(deliveries=[shapes.delivery(each) for each in found])
