"""OpenAI responses: create, retrieve and cancel; plain, streamed, and in the background.

A response is a turn: its id is `resp_` and the turn's id. The agent's tools have run on the server, so they
are shown as `mcp_call` items of the server `segue`.
"""

from collections.abc import AsyncIterator
from contextlib import aclosing
from typing import Annotated, Any

from fastapi import APIRouter, Query
from fastapi.responses import Response
from pydantic import BaseModel, ConfigDict, StrictBool
from sse_starlette import ServerSentEvent

from segue.errors import NotFound
from segue.kernel.transactions.lane import QueuedTurn
from segue.model.records import Turn
from segue.model.states import TurnState
from segue.server.error_responses import Refused
from segue.server.json_text import TurnResponse
from segue.server.request_context import AuthenticatedRequest, IdempotencyKey
from segue.server.wires.content import content_of
from segue.server.wires.conversation import (
    Exchange,
    OnDisconnect,
    SessionName,
    admit,
    check_id,
    find_session,
    key_in_header,
    last_user_message,
    name_of,
    result_of,
    sse,
    stream,
)
from segue.server.wires.openai_common import ERRORS, OpenAiRoute, check_model, failure_frame
from segue.server.wires.openai_items import ResponseEvents, ResponseHead
from segue.server.wires.turn_steps import steps_of

router = APIRouter(route_class=OpenAiRoute, tags=["Wires: OpenAI"], responses=ERRORS)

_PREFIX = "resp_"
_WAITING = {TurnState.QUEUED: "queued", TurnState.RUNNING: "in_progress"}


class ConversationRef(BaseModel):
    id: str


class ResponseBody(BaseModel):
    """Other fields of the protocol are accepted and have no effect."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"model": "segue", "input": "What is new?"}]})

    model: str
    input: str | list[dict[str, Any]]
    previous_response_id: str | None = None
    conversation: str | ConversationRef | None = None
    stream: StrictBool | None = None
    background: StrictBool | None = None


@router.post(
    "/v1/responses", summary="Create a response", operation_id="openai_create_response", response_model=None
)
async def create_response(
    body: ResponseBody,
    request: AuthenticatedRequest,
    x_segue_session: SessionName = None,
    x_segue_on_disconnect: OnDisconnect = "continue",
    idempotency_key: IdempotencyKey = None,
) -> Response:
    """Send the last user message to a session and return the agent's answer."""
    check_model(body.model)
    said = body.input if isinstance(body.input, str) else last_user_message(body.input).get("content")
    key = await _key(request, body, x_segue_session)
    exchange = await admit(request, key, content_of(said), idempotency_key)
    head = ResponseHead(
        id=_PREFIX + exchange.turn.turn_id,
        created_at=request.kernel.clock.ms() // 1000,
        conversation=name_of(exchange.key),
        previous_response_id=body.previous_response_id,
        background=bool(body.background),
    )
    if body.stream:
        return _stream(request, exchange, head, x_segue_on_disconnect)
    if body.background:
        return TurnResponse(head.response("queued", []), headers=exchange.headers)
    return await _whole(request, exchange, head, x_segue_on_disconnect)


@router.get(
    "/v1/responses/{response_id}",
    summary="Retrieve a response",
    operation_id="openai_retrieve_response",
    response_model=None,
)
async def retrieve_response(
    response_id: str,
    request: AuthenticatedRequest,
    stream: Annotated[bool, Query(description="Stream it from its beginning, also while it runs.")] = False,
    starting_after: Annotated[int | None, Query(description="Not supported.")] = None,
) -> Response:
    """Return a response, or stream it again: for a client that lost its connection."""
    if starting_after is not None:
        raise Refused(
            422, "unsupported", "starting_after: a response is streamed from its beginning; leave it out"
        )
    turn, exchange = await _turn(request, response_id)
    head = _head(turn, exchange)
    if stream:
        return _stream(request, exchange, head)
    if turn.state in _WAITING:
        return TurnResponse(head.response(_WAITING[turn.state], []), headers=exchange.headers)
    return await _whole(request, exchange, head)


@router.post(
    "/v1/responses/{response_id}/cancel",
    summary="Cancel a response",
    operation_id="openai_cancel_response",
    response_model=None,
)
async def cancel_response(response_id: str, request: AuthenticatedRequest) -> Response:
    """Stop the turn if it runs, cancel it if it waits, and return it as it ended."""
    turn, exchange = await _turn(request, response_id)
    await request.kernel.turns.stop_turn(turn.id, owner=request.owner)
    return await _whole(request, exchange, _head(turn, exchange))


async def _whole(
    request: AuthenticatedRequest, exchange: Exchange, head: ResponseHead, on_disconnect: str = "continue"
) -> Response:
    """The response as the stream would end it. A failed turn is a response with an error."""
    steps, _ = await result_of(request, exchange, on_disconnect)
    events = ResponseEvents(head)
    for step in steps:
        for _ in events.take(step):
            pass
    return TurnResponse(events.response, headers=exchange.headers)


def _stream(
    request: AuthenticatedRequest, exchange: Exchange, head: ResponseHead, on_disconnect: str = "continue"
) -> Response:
    events = ResponseEvents(head)

    async def frames() -> AsyncIterator[ServerSentEvent]:
        for event in events.begin():
            yield sse(event, event["type"])
        async with aclosing(steps_of(request.kernel, exchange.turn)) as steps:
            async for step in steps:
                for event in events.take(step):
                    yield sse(event, event["type"])

    return stream(request, exchange, frames(), on_disconnect, failure=failure_frame)


async def _key(request: AuthenticatedRequest, body: ResponseBody, header: str | None) -> str | None:
    """The session of the header, the conversation, or the previous response. None: a new one."""
    if body.conversation is not None and body.previous_response_id is not None:
        raise Refused(422, "invalid", "give either conversation or previous_response_id, not both")
    if header is not None:
        return key_in_header(header)
    if body.conversation is not None:
        given = body.conversation
        return (await find_session(request, given if isinstance(given, str) else given.id)).key
    if body.previous_response_id is not None:
        return (await _turn(request, body.previous_response_id))[1].key
    return None


async def _turn(request: AuthenticatedRequest, response_id: str) -> tuple[Turn, Exchange]:
    """The turn of a response's id. Raises `NotFound`."""
    try:
        turn_id = check_id(response_id.removeprefix(_PREFIX), "response")
        found = await request.kernel.turns.load(turn_id, owner=request.owner)
    except NotFound:
        raise NotFound(f"there is no response {response_id}") from None
    queued = QueuedTurn(turn_id=found.turn.id, session_id=found.turn.session_id)
    return found.turn, Exchange(key=found.chat.key, turn=queued)


def _head(turn: Turn, exchange: Exchange) -> ResponseHead:
    return ResponseHead(
        id=_PREFIX + turn.id, created_at=turn.queued_at // 1000, conversation=name_of(exchange.key)
    )
