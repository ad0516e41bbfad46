"""LangGraph wire, threads: create, get, search and delete threads, and read their state.

A thread is a session. A thread's id without a colon, such as a UUID, names the session `websocket:ID`; any
other session is the thread whose id is its key.
"""

from typing import Annotated, Any, Literal
from uuid import UUID

from fastapi import APIRouter, Path
from fastapi.responses import JSONResponse, Response
from pydantic import BaseModel, ConfigDict, Field, StrictInt

from segue.errors import NotFound
from segue.kernel.kernel import Kernel
from segue.model.records import Session
from segue.server.error_responses import Refused
from segue.server.request_context import AuthenticatedRequest, IdempotencyKey
from segue.server.schemas.common import Metadata, Problem
from segue.server.wires.conversation import find_session, key_named, name_of, wire_route
from segue.server.wires.langgraph_shapes import Json, ThreadNow, interrupt_out

NEWEST_MESSAGES = 200
"""Of a thread's state: the history is in the session, and a state has the newest part of it."""
_EVENTS = 100

ThreadId = Annotated[str, Path(min_length=1, max_length=200, description="A session's key, or a UUID.")]


def _respond(problem: Problem) -> Response:
    return JSONResponse({"detail": problem.detail, "code": problem.code}, problem.status)


LangGraphRoute = wire_route(_respond)
OPTIONS: dict[str, Any] = {
    "prefix": "/langgraph",
    "route_class": LangGraphRoute,
    "tags": ["Wires: LangGraph"],
    "responses": {
        "4XX": {
            "description": "An error in LangGraph's shape.",
            "content": {
                "application/json": {
                    "schema": {"type": "object", "properties": {"detail": {"type": "string"}}}
                }
            },
        }
    },
}
router = APIRouter(**OPTIONS)


class CreateThread(BaseModel):
    """Other fields of the protocol are accepted and have no effect."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"metadata": {"topic": "tea"}}]})

    thread_id: str | None = Field(None, min_length=1, max_length=200)
    metadata: Metadata = Field(default_factory=dict)
    if_exists: Literal["raise", "do_nothing"] = "raise"


class SearchThreads(BaseModel):
    """Other fields of the protocol are accepted and have no effect."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"limit": 10}]})

    limit: StrictInt = Field(10, ge=1, le=500)
    offset: StrictInt = Field(0, ge=0, le=500)


@router.post("/threads", summary="Create a thread", operation_id="langgraph_create_thread")
async def create_thread(
    body: CreateThread, request: AuthenticatedRequest, idempotency_key: IdempotencyKey = None
) -> Json:
    key = key_named(body.thread_id or _uuid(request.kernel))
    await request.may_open(key)
    once = await request.idempotency(idempotency_key)
    opened = await request.kernel.sessions.open(
        key, owner=request.owner, metadata=body.metadata, request=once
    )
    if not opened.created and body.if_exists == "raise":
        raise Refused(409, "conflict", f"there is a thread {name_of(key)} already")
    return (await thread_now(request.kernel, opened.session)).thread()


@router.get("/threads/{thread_id}", summary="Get a thread", operation_id="langgraph_get_thread")
async def get_thread(thread_id: ThreadId, request: AuthenticatedRequest) -> Json:
    return (await thread_now(request.kernel, await thread_session(request, thread_id))).thread()


@router.post("/threads/search", summary="Search threads", operation_id="langgraph_search_threads")
async def search_threads(body: SearchThreads, request: AuthenticatedRequest) -> list[Json]:
    """List threads, the one with the newest message first."""
    found = await request.kernel.sessions.list(owner=request.owner, limit=body.offset + body.limit)
    return [(await thread_now(request.kernel, session)).thread() for session in found[body.offset :]]


@router.delete(
    "/threads/{thread_id}",
    summary="Delete a thread",
    operation_id="langgraph_delete_thread",
    status_code=204,
    response_model=None,
)
async def delete_thread(thread_id: ThreadId, request: AuthenticatedRequest) -> Response:
    """Delete the session. It is refused (409) while the thread has crons."""
    await request.kernel.sessions.delete(await thread_session(request, thread_id))
    return Response(status_code=204)


@router.get("/threads/{thread_id}/state", summary="Get a thread's state", operation_id="langgraph_get_state")
async def get_state(thread_id: ThreadId, request: AuthenticatedRequest) -> Json:
    return (await thread_now(request.kernel, await thread_session(request, thread_id))).state()


@router.post(
    "/threads/{thread_id}/history", summary="Get a thread's states", operation_id="langgraph_get_history"
)
async def get_history(thread_id: ThreadId, request: AuthenticatedRequest) -> list[Json]:
    """Return the newest state: a session has no older ones."""
    return [await get_state(thread_id, request)]


async def thread_session(request: AuthenticatedRequest, thread_id: str) -> Session:
    """The session of a thread. Raises `NotFound`."""
    try:
        return await find_session(request, thread_id)
    except NotFound:
        raise NotFound(f"there is no thread {thread_id}") from None


async def thread_now(kernel: Kernel, session: Session) -> ThreadNow:
    """Read a session again as a thread."""
    overview = await kernel.sessions.overview_of(session.id)
    now = overview.session
    return ThreadNow(
        session=now,
        messages=await kernel.log.newest(now, limit=NEWEST_MESSAGES),
        updated_at=overview.last_activity_at,
        interrupt=await _open_question(kernel, now),
    )


async def _open_question(kernel: Kernel, session: Session) -> Json | None:
    if not session.waits_at(kernel.clock.ms()):
        return None
    start = max(0, session.last_seq - _EVENTS)
    for event in (await kernel.log.events(session, after=start, limit=_EVENTS))[::-1]:
        if event.type == "waiting":
            return interrupt_out(event.body["question"], event.body["choices"], event.turn_id or "")
    return None


def _uuid(kernel: Kernel) -> str:
    """A new thread's id, in the form that LangGraph's clients expect."""
    return str(UUID(f"{kernel.ids(kernel.clock.ms()):0<32}"[:32]))
