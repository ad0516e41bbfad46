"""AI SDK wire: `POST /ui` answers a chat's message, `GET /ui/{id}/stream` resumes, for `useChat` and `Chat`.

The chat's id names the session. The stream is the UI message stream, version 1: one assistant message for
each turn. A scheduled turn reaches a client by the resume endpoint.
"""

from collections.abc import AsyncIterator
from contextlib import aclosing
from typing import Annotated

from fastapi import APIRouter, Path
from fastapi.responses import PlainTextResponse, Response
from pydantic import BaseModel, ConfigDict, Field
from sse_starlette import ServerSentEvent

from segue.server.request_context import AuthenticatedRequest, IdempotencyKey
from segue.server.schemas.common import Problem
from segue.server.wires.content import GivenContent, content_of
from segue.server.wires.conversation import (
    DONE,
    Exchange,
    OnDisconnect,
    SessionName,
    admit,
    key_in_header,
    key_named,
    last_user_message,
    sse,
    stream,
    wire_route,
)
from segue.server.wires.resume import After, Wait, turn_after
from segue.server.wires.turn_steps import steps_of
from segue.server.wires.ui_chunks import Json, UiChunks

_HEADERS = {"x-vercel-ai-ui-message-stream": "v1"}
_READ = ("text", "file", "image")


def _respond(problem: Problem) -> Response:
    """The client shows the body of a refused request as the error's message."""
    return PlainTextResponse(problem.detail, problem.status)


router = APIRouter(
    route_class=wire_route(_respond),
    tags=["Wires: AI SDK"],
    responses={
        "4XX": {"description": "A sentence.", "content": {"text/plain": {"schema": {"type": "string"}}}}
    },
)


class ChatBody(BaseModel):
    """Other fields of the protocol are accepted and have no effect."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {"id": "3f2a", "messages": [{"role": "user", "parts": [{"type": "text", "text": "Hello"}]}]}
            ]
        }
    )

    id: str = Field(min_length=1, max_length=200)
    messages: list[Json] = Field(min_length=1, description="Only the last user message is taken.")


@router.post("/ui", summary="Send a chat message", operation_id="ui_send", response_model=None)
async def send_message(
    body: ChatBody,
    request: AuthenticatedRequest,
    x_segue_session: SessionName = None,
    x_segue_on_disconnect: OnDisconnect = "continue",
    idempotency_key: IdempotencyKey = None,
) -> Response:
    """Send the last user message to the chat's session and stream the agent's message."""
    key = _key(x_segue_session, body.id)
    exchange = await admit(request, key, _content(last_user_message(body.messages)), idempotency_key)
    return _stream(request, exchange, x_segue_on_disconnect)


@router.get(
    "/ui/{id}/stream",
    summary="Resume a chat",
    operation_id="ui_resume",
    response_model=None,
    responses={204: {"description": "There is no turn to resume."}},
)
async def resume(
    id: Annotated[str, Path(max_length=200)],
    request: AuthenticatedRequest,
    x_segue_session: SessionName = None,
    after: After = None,
    wait: Wait = 0,
) -> Response:
    """Stream the running turn, or the first turn after a cursor, from its start."""
    key = _key(x_segue_session, id)
    session = await request.kernel.sessions.find(key, owner=request.owner)
    exchange = None if session is None else await turn_after(request, session, after, wait)
    return Response(status_code=204) if exchange is None else _stream(request, exchange)


def _stream(request: AuthenticatedRequest, exchange: Exchange, on_disconnect: str = "continue") -> Response:
    chunks = UiChunks()

    async def frames() -> AsyncIterator[ServerSentEvent]:
        async with aclosing(steps_of(request.kernel, exchange.turn)) as steps:
            async for step in steps:
                for chunk in chunks.take(step):
                    yield sse(chunk)
        yield DONE

    return stream(request, exchange, frames(), on_disconnect, failure=_failure, headers=_HEADERS)


def _key(header: str | None, chat_id: str) -> str:
    return key_named(chat_id) if header is None else key_in_header(header)


def _failure(problem: Problem) -> ServerSentEvent:
    return sse({"type": "error", "errorText": problem.detail})


def _content(message: Json) -> GivenContent:
    """The content of a UI message. Parts that only the client uses are left out. Raises Refused."""
    parts = [part for part in message.get("parts") or () if isinstance(part, dict)]
    return content_of([part for part in parts if part.get("type") in _READ])
