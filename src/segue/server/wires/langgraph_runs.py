"""LangGraph wire, new runs: create, wait for and stream them. A run is a turn, with the turn's id."""

from typing import Any, Literal

from fastapi import APIRouter
from fastapi.responses import Response
from pydantic import BaseModel, ConfigDict, Field

from segue.errors import NotFound
from segue.server.error_responses import Refused
from segue.server.request_context import AuthenticatedRequest, IdempotencyKey
from segue.server.wires.conversation import Exchange, admit, key_named
from segue.server.wires.langgraph_results import run_headers, run_stream, values_at_end
from segue.server.wires.langgraph_shapes import ASSISTANT, Json, content_in, run_out
from segue.server.wires.langgraph_threads import OPTIONS, ThreadId, thread_session

router = APIRouter(**OPTIONS)


class CreateRun(BaseModel):
    """Other fields of the protocol are accepted and have no effect."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {
                    "assistant_id": "segue",
                    "input": {"messages": [{"role": "user", "content": "What is new?"}]},
                }
            ]
        }
    )

    assistant_id: str
    input: Any = None
    command: dict[str, Any] | None = None
    stream_mode: str | list[str] = "values"
    multitask_strategy: Literal["reject", "interrupt", "enqueue", "rollback"] | None = None
    if_not_exists: Literal["create", "reject"] = "reject"
    on_disconnect: Literal["cancel", "continue"] = "continue"
    after_seconds: float | None = Field(None, ge=0)

    @property
    def modes(self) -> list[str]:
        return [self.stream_mode] if isinstance(self.stream_mode, str) else self.stream_mode

    @property
    def when_gone(self) -> str:
        return "stop" if self.on_disconnect == "cancel" else "continue"


@router.post("/threads/{thread_id}/runs", summary="Create a run", operation_id="langgraph_create_run")
async def create_run(
    thread_id: ThreadId,
    body: CreateRun,
    request: AuthenticatedRequest,
    response: Response,
    idempotency_key: IdempotencyKey = None,
) -> Json:
    """Send a message to the thread's session and return at once."""
    exchange = await _begin(request, thread_id, body, idempotency_key)
    response.headers.update(run_headers(exchange))
    run = await request.kernel.turns.load(exchange.turn.turn_id, owner=request.owner)
    return run_out(run.turn, run.chat)


@router.post(
    "/threads/{thread_id}/runs/wait",
    summary="Create a run and wait for its end",
    operation_id="langgraph_wait_run",
)
async def wait_for_run(
    thread_id: ThreadId,
    body: CreateRun,
    request: AuthenticatedRequest,
    response: Response,
    idempotency_key: IdempotencyKey = None,
) -> Json:
    """Send a message to the thread's session and return the thread's values when the turn has ended."""
    exchange = await _begin(request, thread_id, body, idempotency_key)
    response.headers.update(run_headers(exchange))
    return await values_at_end(request, exchange, body.when_gone)


@router.post(
    "/threads/{thread_id}/runs/stream",
    summary="Create a run and stream it",
    operation_id="langgraph_stream_run",
    response_model=None,
)
async def stream_run(
    thread_id: ThreadId,
    body: CreateRun,
    request: AuthenticatedRequest,
    idempotency_key: IdempotencyKey = None,
) -> Response:
    """Send a message to the thread's session and stream the events of its turn."""
    exchange = await _begin(request, thread_id, body, idempotency_key)
    return run_stream(request, exchange, body.modes, body.when_gone)


@router.post("/runs", summary="Create a run in a new thread", operation_id="langgraph_create_new_run")
async def create_new_run(
    body: CreateRun,
    request: AuthenticatedRequest,
    response: Response,
    idempotency_key: IdempotencyKey = None,
) -> Json:
    return await create_run("", body, request, response, idempotency_key)


@router.post(
    "/runs/wait", summary="Create a run in a new thread and wait", operation_id="langgraph_wait_new_run"
)
async def wait_for_new_run(
    body: CreateRun,
    request: AuthenticatedRequest,
    response: Response,
    idempotency_key: IdempotencyKey = None,
) -> Json:
    return await wait_for_run("", body, request, response, idempotency_key)


@router.post(
    "/runs/stream",
    summary="Create a run in a new thread and stream it",
    operation_id="langgraph_stream_new_run",
    response_model=None,
)
async def stream_new_run(
    body: CreateRun, request: AuthenticatedRequest, idempotency_key: IdempotencyKey = None
) -> Response:
    return await stream_run("", body, request, idempotency_key)


async def _begin(
    request: AuthenticatedRequest, thread_id: str, body: CreateRun, idempotency_key: str | None
) -> Exchange:
    """Admit the message of a run. An empty thread's id makes a new thread."""
    if body.assistant_id != ASSISTANT:
        raise NotFound(f"there is no assistant {body.assistant_id}; use {ASSISTANT}")
    if body.multitask_strategy == "rollback":
        raise Refused(422, "unsupported", "multitask_strategy: a turn cannot be taken back; use interrupt")
    if body.after_seconds:
        raise Refused(422, "unsupported", "after_seconds: make a cron instead, or an automation")
    key: str | None = None
    if thread_id and body.if_not_exists == "create":
        key = key_named(thread_id)
    elif thread_id:
        key = (await thread_session(request, thread_id)).key
    content = content_in(body.input, body.command)
    return await admit(request, key, content, idempotency_key, when_busy=body.multitask_strategy)
