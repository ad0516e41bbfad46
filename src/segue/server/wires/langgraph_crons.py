"""LangGraph wire, crons: create, search and delete. A cron is a cron job of the thread's session."""

from typing import Annotated, Any

from fastapi import APIRouter, Path
from fastapi.responses import Response
from pydantic import BaseModel, ConfigDict, Field, StrictBool, StrictInt

from segue.errors import NotFound
from segue.model.action import Ask
from segue.model.policy import Policy
from segue.model.records import Job, Session
from segue.model.states import JobKind
from segue.server.request_context import AuthenticatedRequest, IdempotencyKey
from segue.server.wires.content import text_only
from segue.server.wires.conversation import check_id, new_key
from segue.server.wires.langgraph_shapes import ASSISTANT, Json, content_in, cron_out
from segue.server.wires.langgraph_threads import OPTIONS, ThreadId, thread_session
from segue.times.trigger import Cron

router = APIRouter(**OPTIONS)

_MOST_SESSIONS = 500
CronId = Annotated[str, Path(min_length=1, max_length=200)]


class CreateCron(BaseModel):
    """Other fields of the protocol are accepted and have no effect."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {
                    "assistant_id": "segue",
                    "schedule": "0 9 * * 1-5",
                    "timezone": "Europe/Berlin",
                    "input": {"messages": [{"role": "user", "content": "What changed since yesterday?"}]},
                }
            ]
        }
    )

    assistant_id: str
    schedule: str = Field(min_length=1, max_length=200, description="A cron expression of five fields.")
    input: Any = None
    timezone: str | None = Field(None, max_length=200, description="Default: UTC.")
    end_time: str | None = Field(None, max_length=200)
    enabled: StrictBool = True
    metadata: dict[str, Any] = {}


class SearchCrons(BaseModel):
    """Other fields of the protocol are accepted and have no effect."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"limit": 10}]})

    assistant_id: str | None = None
    thread_id: str | None = None
    enabled: StrictBool | None = None
    limit: StrictInt = Field(10, ge=1, le=500)
    offset: StrictInt = Field(0, ge=0, le=500)


@router.post("/threads/{thread_id}/runs/crons", summary="Create a cron", operation_id="langgraph_create_cron")
async def create_cron(
    thread_id: ThreadId,
    body: CreateCron,
    request: AuthenticatedRequest,
    idempotency_key: IdempotencyKey = None,
) -> Json:
    """Schedule turns of the agent in the thread's session."""
    return await _create(request, await thread_session(request, thread_id), body, idempotency_key)


@router.post("/runs/crons", summary="Create a cron in a new thread", operation_id="langgraph_create_new_cron")
async def create_new_cron(
    body: CreateCron, request: AuthenticatedRequest, idempotency_key: IdempotencyKey = None
) -> Json:
    """Schedule turns of the agent in a session of their own: all of them, one after the other."""
    return await _create(request, new_key(request.kernel), body, idempotency_key)


@router.post("/runs/crons/search", summary="Search crons", operation_id="langgraph_search_crons")
async def search_crons(body: SearchCrons, request: AuthenticatedRequest) -> list[Json]:
    """List crons of one thread, or of the caller's threads."""
    if body.assistant_id not in (None, ASSISTANT):
        return []
    found: list[Json] = []
    for session in await _sessions(request, body.thread_id):
        jobs = await request.kernel.jobs.list(session, kind=JobKind.CRON, limit=body.offset + body.limit)
        found += [_out(job, session) for job in jobs]
    if body.enabled is not None:
        found = [cron for cron in found if cron["enabled"] is body.enabled]
    return found[body.offset : body.offset + body.limit]


@router.delete(
    "/runs/crons/{cron_id}",
    summary="Delete a cron",
    operation_id="langgraph_delete_cron",
    status_code=204,
    response_model=None,
)
async def delete_cron(cron_id: CronId, request: AuthenticatedRequest) -> Response:
    """Delete the job and cancel a queued run. A running turn continues to its end."""
    try:
        found = await request.kernel.jobs.load(
            check_id(cron_id, "cron"), kind=JobKind.CRON, owner=request.owner
        )
    except NotFound:
        raise NotFound(f"there is no cron {cron_id}") from None
    await request.kernel.jobs.delete(found)
    return Response(status_code=204)


async def _create(
    request: AuthenticatedRequest, session: Session | str, body: CreateCron, idempotency_key: str | None
) -> Json:
    if body.assistant_id != ASSISTANT:
        raise NotFound(f"there is no assistant {body.assistant_id}; use {ASSISTANT}")
    kernel, name = request.kernel, body.metadata.get("name")
    job = await kernel.jobs.add(
        session,
        Cron(body.schedule, tz=body.timezone or "UTC"),
        Ask(text_only(content_in(body.input))),
        name=name if isinstance(name, str) else None,
        policy=Policy().changed({"until": body.end_time}) if body.end_time else None,
        limits=True,
        owner=request.owner,
        request=await request.idempotency(idempotency_key),
    )
    if not body.enabled:
        job = await kernel.jobs.pause(job.id, owner=request.owner, reason="created as not enabled")
    return _out(job, await kernel.sessions.by_id(job.session_id))


async def _sessions(request: AuthenticatedRequest, thread_id: str | None) -> list[Session]:
    if thread_id is not None:
        return [await thread_session(request, thread_id)]
    overviews = await request.kernel.sessions.overviews(owner=request.owner, limit=_MOST_SESSIONS)
    return [overview.session for overview in overviews if overview.cron_jobs]


def _out(job: Job, session: Session) -> Json:
    until = job.policy.to_json().get("until")
    return cron_out(job, session, end_time=until)
