"""AG-UI wire: `POST /agui` runs the agent, `POST /agui/connect` streams the running or the next turn.

The thread's id names the session. A question of the agent is an interrupt, and the answer comes as `resume`
or as the next message. A scheduled turn reaches a client by `connect`.
"""

import json
from collections.abc import AsyncIterator
from contextlib import aclosing
from typing import Any

from fastapi import APIRouter
from fastapi.responses import Response
from pydantic import BaseModel, ConfigDict, Field
from sse_starlette import ServerSentEvent

from segue.server.error_responses import Refused, problem_response, responses
from segue.server.request_context import AuthenticatedRequest, IdempotencyKey
from segue.server.schemas.common import Problem
from segue.server.wires.agui_events import AguiEvents, Json
from segue.server.wires.content import GivenContent, content_of
from segue.server.wires.conversation import (
    Exchange,
    OnDisconnect,
    SessionName,
    admit,
    key_in_header,
    key_named,
    last_user_message,
    session_header,
    sse,
    stream,
    wire_route,
)
from segue.server.wires.resume import After, Wait, turn_after
from segue.server.wires.turn_steps import steps_of

router = APIRouter(
    # The protocol has no shape for errors before the stream.
    route_class=wire_route(problem_response),
    tags=["Wires: AG-UI"],
    responses=responses(400, 401, 403, 404, 409, 413, 422),
)


class ResumeEntry(BaseModel):
    interruptId: str
    status: str
    payload: Any = None


class RunAgentInput(BaseModel):
    """Other fields of the protocol are accepted and have no effect."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {"threadId": "3f2a", "runId": "1", "messages": [{"role": "user", "content": "What is new?"}]}
            ]
        }
    )

    threadId: str = Field(min_length=1, max_length=200)
    runId: str = Field(min_length=1, max_length=200)
    messages: list[Json] = Field(description="Only the last user message is taken.")
    resume: list[ResumeEntry] = []


@router.post("/agui", summary="Run the agent", operation_id="agui_run", response_model=None)
async def run_agent(
    body: RunAgentInput,
    request: AuthenticatedRequest,
    x_segue_session: SessionName = None,
    x_segue_on_disconnect: OnDisconnect = "continue",
    idempotency_key: IdempotencyKey = None,
) -> Response:
    """Send the last user message to the thread's session and stream the events of its turn."""
    exchange = await admit(request, _key(x_segue_session, body), _content(body), idempotency_key)
    return _stream(request, exchange, body, body.runId, x_segue_on_disconnect)


@router.post("/agui/connect", summary="Connect to a thread", operation_id="agui_connect", response_model=None)
async def connect(
    body: RunAgentInput,
    request: AuthenticatedRequest,
    x_segue_session: SessionName = None,
    after: After = None,
    wait: Wait = 0,
) -> Response:
    """Stream the running turn, or the first turn after a cursor, from its start. Without one the stream is
    empty."""
    key = _key(x_segue_session, body)
    session = await request.kernel.sessions.find(key, owner=request.owner)
    exchange = None if session is None else await turn_after(request, session, after, wait)
    if exchange is None:
        return Response(media_type="text/event-stream", headers=session_header(key))
    return _stream(request, exchange, body, exchange.turn.turn_id)


def _stream(
    request: AuthenticatedRequest,
    exchange: Exchange,
    body: RunAgentInput,
    run_id: str,
    on_disconnect: str = "continue",
) -> Response:
    events = AguiEvents(body.threadId, run_id)

    async def frames() -> AsyncIterator[ServerSentEvent]:
        async with aclosing(steps_of(request.kernel, exchange.turn)) as steps:
            async for step in steps:
                for event in events.take(step):
                    yield sse(event)

    return stream(request, exchange, frames(), on_disconnect, failure=_failure)


def _key(header: str | None, body: RunAgentInput) -> str:
    return key_named(body.threadId) if header is None else key_in_header(header)


def _failure(problem: Problem) -> ServerSentEvent:
    return sse({"type": "RUN_ERROR", "message": problem.detail, "code": problem.code})


def _content(body: RunAgentInput) -> GivenContent:
    """The answer to a question, or the last user message."""
    for entry in body.resume:
        if entry.status == "cancelled":
            return GivenContent("cancelled")
        answer = entry.payload
        if answer is None:
            raise Refused(422, "invalid", "resume: give the answer as payload")
        return GivenContent(answer if isinstance(answer, str) else json.dumps(answer, ensure_ascii=False))
    return content_of(last_user_message(body.messages).get("content"))
