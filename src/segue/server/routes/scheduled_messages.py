"""Routes of scheduled messages, which are sent unchanged at a given time, and of deliveries."""

from typing import Annotated, TypeAlias

from fastapi import APIRouter, Path, Query

from segue.errors import BadText, BadTime
from segue.model.states import MessageStatus
from segue.server.error_responses import naming, responses
from segue.server.paging import Cursor, Limit, decode_cursor, encode_cursor
from segue.server.request_context import AuthenticatedRequest, AuthenticatedRoute, IdempotencyKey
from segue.server.routes.sessions import KeyInPath
from segue.server.schemas import scheduled_messages as schemas

router = APIRouter(
    route_class=AuthenticatedRoute, tags=["Scheduled messages"], responses=responses(400, 401, 403, 404, 422)
)

MessageId: TypeAlias = Annotated[
    str, Path(description="The message's id.", min_length=1, max_length=200, pattern=r"^[^\x00]+$")
]
WithStatus: TypeAlias = Annotated[
    schemas.Status | None, Query(description="Return only messages with this status.")
]


@router.post(
    "/sessions/{key}/scheduled-messages",
    summary="Schedule a message",
    status_code=201,
    responses=responses(409, 413, 503),
)
async def schedule_message(
    key: KeyInPath,
    body: schemas.ScheduleMessage,
    request: AuthenticatedRequest,
    idempotency_key: IdempotencyKey = None,
) -> schemas.MessageScheduledOut:
    """Send a text unchanged at a given time, even if the session is busy then. Only in private chats."""
    with naming({BadTime: "send_at", BadText: "message_text"}):
        made = await request.kernel.scheduled_messages.add(
            key,
            body.send_at,
            body.message_text,
            timezone=body.timezone,
            replace_existing=body.replace_existing,
            owner=request.owner,
            request=await request.idempotency(idempotency_key),
        )
    return schemas.message_scheduled(made, key)


@router.get("/sessions/{key}/scheduled-messages", summary="List scheduled messages")
async def list_scheduled_messages(
    key: KeyInPath,
    request: AuthenticatedRequest,
    status: WithStatus = None,
    limit: Limit = 100,
    cursor: Cursor = None,
) -> schemas.ScheduledMessagesOut:
    """List the scheduled messages of the session in any status, newest first."""
    found = await request.kernel.scheduled_messages.list(
        key,
        status=None if status is None else MessageStatus(status),
        owner=request.owner,
        limit=limit + 1,
        before=decode_cursor(cursor),
    )
    page = found[:limit]
    return schemas.ScheduledMessagesOut(
        messages=[schemas.scheduled_message(message, key) for message in page],
        next_cursor=encode_cursor(page[-1].page_start) if len(found) > limit else None,
    )


@router.get("/scheduled-messages/{id}", summary="Get a scheduled message")
async def get_scheduled_message(id: MessageId, request: AuthenticatedRequest) -> schemas.ScheduledMessageOut:
    message = await request.kernel.scheduled_messages.get(id, owner=request.owner)
    session = await request.kernel.sessions.by_id(message.session_id)
    return schemas.scheduled_message(message, session.key)


@router.delete("/scheduled-messages/{id}", summary="Cancel a scheduled message", responses=responses(409))
async def cancel_scheduled_message(
    id: MessageId, request: AuthenticatedRequest
) -> schemas.ScheduledMessageOut:
    """Cancel a message. 409 if it is being sent, or was sent, cancelled or failed."""
    cancelled = await request.kernel.scheduled_messages.cancel(id, owner=request.owner)
    session = await request.kernel.sessions.by_id(cancelled.session_id)
    return schemas.scheduled_message(cancelled, session.key)


@router.get("/sessions/{key}/deliveries", summary="List deliveries")
async def list_deliveries(
    key: KeyInPath, request: AuthenticatedRequest, limit: Limit = 100
) -> schemas.DeliveriesOut:
    """List messages that were or will be sent through the session's channel, newest first. The delivery of an
    answer is separate from the outcome of its run. Chats without a channel have no deliveries."""
    found = await request.kernel.log.deliveries(key, owner=request.owner, limit=limit)
    return schemas.DeliveriesOut(deliveries=[schemas.delivery(each) for each in found])
