"""Talking: turns, how to stop one, and the transcript."""

from typing import Annotated

from fastapi import APIRouter, Path, Query, Response

from segue.server.error_responses import responses
from segue.server.idempotency import IdempotencyKey, named
from segue.server.markdown_pool import html_of
from segue.server.paging import LARGEST_SEQ, Cursor, Limit, cursor_of_seq, seq_of, that_fit
from segue.server.request_context import AuthenticatedRequest, Guarded
from segue.server.routes.sessions import KeyInPath
from segue.server.schemas import common, views
from segue.server.schemas.memory import policy_of

router = APIRouter(route_class=Guarded, tags=["Talking"], responses=responses(400, 401, 403, 422))

LONGEST_WAIT = 600


@router.post(
    "/sessions/{key}/turns",
    summary="Say something",
    status_code=202,
    response_model=common.TurnAccepted,
    responses={
        200: {"description": "The turn has ended within `wait`.", "model": common.TurnOut},
        **responses(404, 409, 413),
    },
)
async def say(
    key: KeyInPath,
    body: common.NewTurn,
    asked: AuthenticatedRequest,
    idempotency_key: IdempotencyKey = None,
    wait: Annotated[
        float, Query(ge=0, le=LONGEST_WAIT, description="Seconds to wait for the turn's end.")
    ] = 0,
) -> common.TurnAccepted | common.TurnOut | Response:
    """A user's message, which will be a turn of its session. A missing session is made.

    A client that stops waiting, or hangs up, stops nothing. A server that shuts down meanwhile answers 202:
    the message is stored, and the turn runs when a server is there again.
    """
    await asked.may_open(key)
    admitted = await asked.kernel.receive(
        key,
        body.content,
        owner=asked.owner,
        when_busy=body.when_busy,
        request=await named(asked, idempotency_key),
    )
    if wait:
        try:
            async with asked.house.waiting(wait):
                ended = await asked.kernel.wait(admitted)
        except TimeoutError:
            pass
        else:
            shown = views.turn(ended, key).model_copy(update={"turn_id": admitted.turn_id})
            return Response(shown.model_dump_json(), media_type="application/json")
    return common.TurnAccepted(turn_id=admitted.turn_id, state="queued", position=admitted.position)


@router.get("/turns/{turn_id}", summary="Look at a turn", responses=responses(404))
async def get_turn(
    turn_id: Annotated[str, Path(max_length=200, pattern=r"^[^\x00]+$")], asked: AuthenticatedRequest
) -> common.TurnOut:
    turn = await asked.kernel.turn(turn_id, owner=asked.owner)
    session = await asked.kernel.store.session_by_id(turn.via_id)
    return views.turn(turn, session.key)


@router.post("/sessions/{key}/stop", summary="Stop the running turn", responses=responses(404))
async def stop(key: KeyInPath, asked: AuthenticatedRequest) -> common.Stopped:
    """Ask the running turn to stop, in whichever process it runs. What it has said stays."""
    turn_id = await asked.kernel.stop(key, owner=asked.owner)
    return common.Stopped(stopped=turn_id is not None, turn_id=turn_id)


@router.get("/sessions/{key}/messages", summary="Read the transcript", responses=responses(404))
async def list_messages(
    key: KeyInPath,
    asked: AuthenticatedRequest,
    after: Annotated[int, Query(ge=0, le=LARGEST_SEQ, description="Only those with a higher seq.")] = 0,
    limit: Limit = 100,
    cursor: Cursor = None,
) -> common.MessagesOut:
    """Oldest first, by `seq`: the number of the event that brought it."""
    session = await asked.kernel.session(key, owner=asked.owner)
    found = await asked.kernel.messages(key, owner=asked.owner, after=seq_of(cursor, after), limit=limit + 1)
    shown = found[: that_fit((len(message.content) for message in found), limit)]
    html = await html_of(message.content for message in shown)
    return common.MessagesOut(
        messages=[
            views.message(
                message, session.id, html=html[message.content], archived_seq=session.live.archived_seq
            )
            for message in shown
        ],
        next_cursor=cursor_of_seq(shown[-1].seq) if len(found) > len(shown) else None,
    )


@router.post("/sessions/{key}/messages", summary="Store a message", responses=responses(404, 409, 413))
async def write_message(
    key: KeyInPath,
    body: common.WriteMessage,
    asked: AuthenticatedRequest,
    idempotency_key: IdempotencyKey = None,
) -> common.MessageWritten:
    """Without running the agent. A missing session is made."""
    await asked.may_open(key)
    written = await asked.kernel.write_all(
        key,
        [(body.role, body.content)],
        owner=asked.owner,
        auto_commit_policy=policy_of(body),
        request=await named(asked, idempotency_key),
    )
    return common.MessageWritten(
        session_key=key, message_count=written.message_count, pending_tokens=written.pending_tokens
    )


@router.post(
    "/sessions/{key}/messages/batch", summary="Store many messages", responses=responses(404, 409, 413)
)
async def write_messages(
    key: KeyInPath,
    body: common.WriteMessages,
    asked: AuthenticatedRequest,
    idempotency_key: IdempotencyKey = None,
) -> common.MessagesWritten:
    """All of them or none, in their order, without running the agent. A missing session is made."""
    await asked.may_open(key)
    words = [(message.role, message.content) for message in body.messages]
    written = await asked.kernel.write_all(
        key,
        words,
        owner=asked.owner,
        auto_commit_policy=policy_of(body),
        request=await named(asked, idempotency_key),
    )
    return common.MessagesWritten(
        session_key=key,
        message_count=written.message_count,
        pending_tokens=written.pending_tokens,
        added=written.added,
    )
