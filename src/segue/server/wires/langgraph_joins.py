"""LangGraph wire, runs that exist: list, get, join, stream and cancel them."""

from typing import Annotated, Literal

from fastapi import APIRouter, Path, Query
from fastapi.responses import JSONResponse, Response

from segue.errors import NotFound
from segue.kernel.transactions.lane import QueuedTurn
from segue.model.records import Session, Turn
from segue.server.error_responses import Refused
from segue.server.request_context import AuthenticatedRequest
from segue.server.wires.conversation import Exchange, check_id, result_of
from segue.server.wires.langgraph_results import run_stream, values_at_end
from segue.server.wires.langgraph_shapes import Json, run_out
from segue.server.wires.langgraph_threads import OPTIONS, ThreadId, thread_session

router = APIRouter(**OPTIONS)

RunId = Annotated[str, Path(min_length=1, max_length=200)]
Modes = Annotated[list[str], Query(description="`values`, `messages`, `messages-tuple`, `updates`.")]


@router.get("/threads/{thread_id}/runs", summary="List runs", operation_id="langgraph_list_runs")
async def list_runs(
    thread_id: ThreadId,
    request: AuthenticatedRequest,
    limit: Annotated[int, Query(ge=1, le=500)] = 10,
    offset: Annotated[int, Query(ge=0, le=500)] = 0,
) -> list[Json]:
    """List the turns of the thread, newest first, scheduled ones included."""
    session = await thread_session(request, thread_id)
    turns = await request.kernel.turns.list(session, limit=offset + limit)
    return [run_out(turn, session) for turn in turns[offset:]]


@router.get("/threads/{thread_id}/runs/{run_id}", summary="Get a run", operation_id="langgraph_get_run")
async def get_run(thread_id: ThreadId, run_id: RunId, request: AuthenticatedRequest) -> Json:
    return run_out(*await _run(request, thread_id, run_id))


@router.get(
    "/threads/{thread_id}/runs/{run_id}/join", summary="Wait for a run", operation_id="langgraph_join_run"
)
async def join_run(thread_id: ThreadId, run_id: RunId, request: AuthenticatedRequest) -> Json:
    """Return the thread's values when the run has ended."""
    return await values_at_end(request, _exchange(*await _run(request, thread_id, run_id)), "continue")


@router.get(
    "/threads/{thread_id}/runs/{run_id}/stream",
    summary="Stream a run",
    operation_id="langgraph_join_stream",
    response_model=None,
)
async def join_stream(
    thread_id: ThreadId,
    run_id: RunId,
    request: AuthenticatedRequest,
    stream_mode: Modes = ["values"],  # noqa: B006 — FastAPI reads it as the default; it is never changed
    cancel_on_disconnect: bool = False,
) -> Response:
    """Stream a run from its start, also if it has ended."""
    exchange = _exchange(*await _run(request, thread_id, run_id))
    return run_stream(request, exchange, stream_mode, "stop" if cancel_on_disconnect else "continue")


@router.post(
    "/threads/{thread_id}/runs/{run_id}/cancel",
    summary="Cancel a run",
    operation_id="langgraph_cancel_run",
    status_code=202,
    response_model=None,
)
async def cancel_run(
    thread_id: ThreadId,
    run_id: RunId,
    request: AuthenticatedRequest,
    wait: bool = False,
    action: Literal["interrupt", "rollback"] = "interrupt",
) -> Response:
    """Stop the turn if it runs, cancel it if it waits. What it has said and done stays."""
    if action == "rollback":
        raise Refused(422, "unsupported", "action: a turn cannot be taken back; use interrupt")
    turn, session = await _run(request, thread_id, run_id)
    await request.kernel.turns.stop_turn(turn.id, owner=request.owner)
    if wait:
        await result_of(request, _exchange(turn, session), "continue")
    return JSONResponse(None, 202)


async def _run(request: AuthenticatedRequest, thread_id: str, run_id: str) -> tuple[Turn, Session]:
    """Raises `NotFound` if there is no such thread, or no such run in it."""
    session = await thread_session(request, thread_id)
    run = await request.kernel.turns.load(check_id(run_id, "run"), owner=request.owner)
    if run.chat.id != session.id:
        raise NotFound(f"there is no run {run_id} in the thread {thread_id}")
    return run.turn, session


def _exchange(turn: Turn, session: Session) -> Exchange:
    return Exchange(key=session.key, turn=QueuedTurn(turn_id=turn.id, session_id=turn.session_id))
