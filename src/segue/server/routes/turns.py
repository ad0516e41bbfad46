"""Routes of turns and messages: send a message, stop a turn, read and write the transcript."""

from typing import Annotated, TypeAlias

from fastapi import APIRouter, Path, Query, Response

from segue.kernel.transactions.lane import QueuedTurn
from segue.kernel.transactions.replies import Acted
from segue.model.records import PageStart
from segue.server.error_responses import responses
from segue.server.markdown_pool import html_of
from segue.server.paging import (
    LARGEST_SEQ,
    Cursor,
    Limit,
    decode_cursor,
    decode_seq,
    encode_cursor,
    encode_seq,
    page_length,
)
from segue.server.request_context import AuthenticatedRequest, AuthenticatedRoute, IdempotencyKey
from segue.server.routes.sessions import KeyInPath
from segue.server.schemas import common, views
from segue.server.schemas import turns as turn_schemas
from segue.server.schemas.memory import policy_of

router = APIRouter(route_class=AuthenticatedRoute, tags=["Talking"], responses=responses(400, 401, 403, 422))

LONGEST_WAIT = 600

Wait: TypeAlias = Annotated[
    float, Query(ge=0, le=LONGEST_WAIT, description="Seconds to wait for the end of the turn.")
]
TurnId: TypeAlias = Annotated[str, Path(max_length=200, pattern=r"^[^\x00]+$")]


@router.post(
    "/sessions/{key}/turns",
    summary="Send a message",
    status_code=202,
    response_model=turn_schemas.TurnAccepted,
    responses={
        200: {
            "description": "The turn ended within `wait`, or the message was an order to a job and was done.",
            "model": turn_schemas.TurnOut | turn_schemas.ControlDone,
        },
        **responses(404, 409, 413),
    },
)
async def send_message(
    key: KeyInPath,
    body: common.NewTurn,
    request: AuthenticatedRequest,
    idempotency_key: IdempotencyKey = None,
    wait: Wait = 0,
) -> turn_schemas.TurnAccepted | turn_schemas.TurnOut | turn_schemas.ControlDone | Response:
    """Send a user's message, which starts a turn. Creates the session if it does not exist.

    A message that answers a job is done at once if it is an order such as `stop`: it quotes a message of the
    job (`reply_to`), or, in a private chat, follows one within ten minutes. It starts no turn then.

    The turn continues if the client stops waiting or disconnects. If the server shuts down during the wait,
    it answers 202: the message is stored, and the turn runs when a server is running again.
    """
    await request.may_open(key)
    take = request.kernel.receive if body.as_turn else request.kernel.replies.take
    admitted = await take(
        key,
        body.content,
        parts=body.file_ids,
        reply_to=body.reply_to,
        owner=request.owner,
        when_busy=body.when_busy,
        replaces=body.replaces,
        request=await request.idempotency(idempotency_key),
    )
    if isinstance(admitted, Acted):
        return Response(views.control(admitted).model_dump_json(), media_type="application/json")
    if wait:
        try:
            async with request.app_state.waiting(wait):
                ended = await request.kernel.wait(admitted)
        except TimeoutError:
            pass
        else:
            turn_out = views.turn(ended, key).model_copy(update={"turn_id": admitted.turn_id})
            return Response(turn_out.model_dump_json(), media_type="application/json")
    return turn_schemas.TurnAccepted(turn_id=admitted.turn_id, state="queued", position=admitted.position)


@router.get("/sessions/{key}/turns", summary="List turns", responses=responses(404))
async def list_turns(
    key: KeyInPath,
    request: AuthenticatedRequest,
    running: Annotated[bool, Query(description="Return only the turn that runs now, if any.")] = False,
    limit: Limit = 100,
    cursor: Cursor = None,
) -> turn_schemas.TurnsOut:
    """List the turns that came through a session, newest first, queued and running ones included."""
    if running:
        turn = await request.kernel.turns.running(key, owner=request.owner)
        return turn_schemas.TurnsOut(turns=[] if turn is None else [views.turn(turn, key)], next_cursor=None)
    before = None if cursor is None else decode_cursor(cursor).id
    found = await request.kernel.turns.list(key, owner=request.owner, limit=limit + 1, before=before)
    page = found[:limit]
    return turn_schemas.TurnsOut(
        turns=[views.turn(turn, key) for turn in page],
        next_cursor=encode_cursor(PageStart(page[-1].queued_at, page[-1].id)) if len(found) > limit else None,
    )


@router.get("/turns/{turn_id}", summary="Get a turn", responses=responses(404))
async def get_turn(
    turn_id: TurnId,
    request: AuthenticatedRequest,
    wait: Wait = 0,
) -> turn_schemas.TurnOut:
    """Return a turn; with `wait`, when it has ended, or after that time. A message that joined another turn
    ends with that turn, which is returned then."""
    kernel = request.kernel
    found = asked = await kernel.turns.load(turn_id, owner=request.owner)
    if wait:
        waiting = QueuedTurn(turn_id=turn_id, session_id=asked.turn.session_id)
        try:
            async with request.app_state.waiting(wait):
                ended = await kernel.wait(waiting)
        except TimeoutError:
            pass
        else:
            found = await kernel.turns.load(ended.id, owner=request.owner)
    replaced_by = await kernel.turns.replaced_by(asked)
    return views.turn(found.turn, found.chat.key, replaced_by=replaced_by)


@router.post("/turns/{turn_id}/cancel", summary="Cancel a queued turn", responses=responses(404, 409))
async def cancel_turn(turn_id: TurnId, request: AuthenticatedRequest) -> turn_schemas.TurnOut:
    """Cancel a turn that has not started. 409 if it has started or ended; a running turn is stopped by its
    session."""
    kernel = request.kernel
    await kernel.turns.cancel(turn_id, owner=request.owner)
    cancelled = await kernel.turns.load(turn_id, owner=request.owner)
    return views.turn(cancelled.turn, cancelled.chat.key)


@router.post("/turns/{turn_id}/stop", summary="Stop a turn", responses=responses(404))
async def stop_turn(turn_id: TurnId, request: AuthenticatedRequest) -> turn_schemas.Stopped:
    """Stop a turn: one that runs is asked to stop, one that waits is cancelled. `stopped` is false if it has
    ended."""
    stopped = await request.kernel.turns.stop_turn(turn_id, owner=request.owner)
    return turn_schemas.Stopped(stopped=stopped, turn_id=turn_id if stopped else None)


@router.post("/sessions/{key}/stop", summary="Stop the running turn", responses=responses(404))
async def stop_running_turn(key: KeyInPath, request: AuthenticatedRequest) -> turn_schemas.Stopped:
    """Stop the running turn, in any process. The text that it has produced stays."""
    turn_id = await request.kernel.turns.stop(key, owner=request.owner)
    return turn_schemas.Stopped(stopped=turn_id is not None, turn_id=turn_id)


@router.get("/sessions/{key}/messages", summary="Read the transcript", responses=responses(404))
async def list_messages(
    key: KeyInPath,
    request: AuthenticatedRequest,
    after: Annotated[
        int, Query(ge=0, le=LARGEST_SEQ, description="Return only messages with a higher seq.")
    ] = 0,
    limit: Limit = 100,
    cursor: Cursor = None,
) -> common.MessagesOut:
    """List messages, oldest first, by `seq`: the number of the event in the session's log."""
    session = await request.kernel.sessions.get(key, owner=request.owner)
    found = await request.kernel.messages(session, after=decode_seq(cursor, after), limit=limit + 1)
    page = found[: page_length((len(message.content) for message in found), limit)]
    html = await html_of(message.content for message in page)
    return common.MessagesOut(
        messages=[
            views.message(
                message, session.id, html=html[message.content], archived_seq=session.live.archived_seq
            )
            for message in page
        ],
        next_cursor=encode_seq(page[-1].seq) if len(found) > len(page) else None,
    )


@router.post("/sessions/{key}/messages", summary="Store a message", responses=responses(404, 409, 413))
async def write_message(
    key: KeyInPath,
    body: common.WriteMessage,
    request: AuthenticatedRequest,
    idempotency_key: IdempotencyKey = None,
) -> common.MessageWritten:
    """Store a message without running the agent. Creates the session if it does not exist."""
    await request.may_open(key)
    written = await request.kernel.log.write_all(
        key,
        [(body.role, body.content, body.created_at, body.file_ids)],
        owner=request.owner,
        auto_commit_policy=policy_of(body),
        request=await request.idempotency(idempotency_key),
    )
    return common.MessageWritten(
        session_key=key,
        seq=written.last_seq,
        message_count=written.message_count,
        pending_tokens=written.pending_tokens,
    )


@router.post(
    "/sessions/{key}/messages/batch", summary="Store many messages", responses=responses(404, 409, 413)
)
async def write_messages(
    key: KeyInPath,
    body: common.WriteMessages,
    request: AuthenticatedRequest,
    idempotency_key: IdempotencyKey = None,
) -> common.MessagesWritten:
    """Store all messages or none, in their order, without running the agent. Creates the session if it does
    not exist."""
    await request.may_open(key)
    messages = [(each.role, each.content, each.created_at, each.file_ids) for each in body.messages]
    written = await request.kernel.log.write_all(
        key,
        messages,
        owner=request.owner,
        auto_commit_policy=policy_of(body),
        request=await request.idempotency(idempotency_key),
    )
    return common.MessagesWritten(
        session_key=key,
        seq=written.last_seq,
        message_count=written.message_count,
        pending_tokens=written.pending_tokens,
        added=written.added,
    )
