"""OpenAI chat completions: `POST /v1/chat/completions`, plain and streamed.

The protocol's `tool_calls` ask the client to run a tool. The agent's tools have run already, so they are not
shown here; `openai_responses` shows them.
"""

from collections.abc import AsyncIterator, Iterator
from contextlib import aclosing
from typing import Any

from fastapi import APIRouter
from fastapi.responses import Response
from pydantic import BaseModel, ConfigDict, Field, StrictBool, StrictInt
from sse_starlette import ServerSentEvent

from segue.server.error_responses import Refused
from segue.server.json_text import TurnResponse
from segue.server.request_context import AuthenticatedRequest, IdempotencyKey
from segue.server.wires.content import content_of
from segue.server.wires.conversation import (
    DONE,
    OnDisconnect,
    SessionName,
    admit,
    key_in_header,
    last_user_message,
    result_of,
    sse,
    stream,
)
from segue.server.wires.openai_common import (
    ERRORS,
    MODEL,
    OpenAiRoute,
    check_answered,
    check_model,
    error_body,
    failure_frame,
)
from segue.server.wires.turn_steps import TextSaid, TurnOver, TurnStep, steps_of

router = APIRouter(route_class=OpenAiRoute, tags=["Wires: OpenAI"], responses=ERRORS)


class StreamOptions(BaseModel):
    include_usage: StrictBool = False


class ChatCompletionBody(BaseModel):
    """Other fields of the protocol are accepted and have no effect."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [{"model": "segue", "messages": [{"role": "user", "content": "What is new?"}]}]
        }
    )

    model: str
    messages: list[dict[str, Any]] = Field(min_length=1, description="Only the last user message is taken.")
    stream: StrictBool | None = None
    stream_options: StreamOptions | None = None
    n: StrictInt | None = None


@router.post(
    "/v1/chat/completions",
    summary="Create a chat completion",
    operation_id="openai_create_chat_completion",
    response_model=None,
)
async def create_chat_completion(
    body: ChatCompletionBody,
    request: AuthenticatedRequest,
    x_segue_session: SessionName = None,
    x_segue_on_disconnect: OnDisconnect = "continue",
    idempotency_key: IdempotencyKey = None,
) -> Response:
    """Send the last user message to a session and return the agent's answer."""
    check_model(body.model)
    if body.n not in (None, 1):
        raise Refused(422, "invalid", f"n: there is one answer to a message, so n is 1, got {body.n}")
    content = content_of(last_user_message(body.messages).get("content"))
    key = None if x_segue_session is None else key_in_header(x_segue_session)
    exchange = await admit(request, key, content, idempotency_key)
    created = request.kernel.clock.ms() // 1000
    if not body.stream:
        _, over = await result_of(request, exchange, x_segue_on_disconnect)
        check_answered(over)
        return TurnResponse(completion(over, created), headers=exchange.headers)
    with_usage = body.stream_options is not None and body.stream_options.include_usage
    chunks = ChatChunks(exchange.turn.turn_id, created, with_usage=with_usage)

    async def frames() -> AsyncIterator[ServerSentEvent]:
        for chunk in chunks.begin():
            yield sse(chunk)
        async with aclosing(steps_of(request.kernel, exchange.turn)) as steps:
            async for step in steps:
                for chunk in chunks.take(step):
                    yield sse(chunk)
        if not chunks.failed:
            yield DONE

    return stream(request, exchange, frames(), x_segue_on_disconnect, failure=failure_frame)


def completion(over: TurnOver, created: int) -> dict[str, Any]:
    message = {"role": "assistant", "content": over.text, "refusal": None}
    return {
        "id": f"chatcmpl-{over.turn_id}",
        "object": "chat.completion",
        "created": created,
        "model": MODEL,
        "choices": [{"index": 0, "message": message, "finish_reason": "stop", "logprobs": None}],
        "usage": _usage(over),
    }


class ChatChunks:
    """Translates the steps of a turn to chunks of a stream."""

    def __init__(self, turn_id: str, created: int, *, with_usage: bool) -> None:
        self._turn_id = turn_id
        self._created = created
        self._with_usage = with_usage
        self.failed = False

    def begin(self) -> Iterator[dict[str, Any]]:
        yield self._chunk({"role": "assistant", "content": ""})

    def take(self, step: TurnStep) -> Iterator[dict[str, Any]]:
        match step:
            case TextSaid(text):
                yield self._chunk({"content": text})
            case TurnOver(failed=True, notice=notice):
                self.failed = True
                yield error_body(502, "turn_failed", notice)
            case TurnOver():
                yield self._chunk({}, finish_reason="stop")
                if self._with_usage:
                    yield {**self._chunk({}), "choices": [], "usage": _usage(step)}

    def _chunk(self, delta: dict[str, Any], finish_reason: str | None = None) -> dict[str, Any]:
        return {
            "id": f"chatcmpl-{self._turn_id}",
            "object": "chat.completion.chunk",
            "created": self._created,
            "model": MODEL,
            "choices": [{"index": 0, "delta": delta, "finish_reason": finish_reason, "logprobs": None}],
        }


def _usage(over: TurnOver) -> dict[str, int]:
    given, made = over.tokens("input_tokens"), over.tokens("output_tokens")
    return {"prompt_tokens": given, "completion_tokens": made, "total_tokens": given + made}
