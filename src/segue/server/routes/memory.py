"""Routes of memory: commits and their tasks, archives, memories, and the model's context."""

from dataclasses import replace
from typing import Annotated, Literal

from fastapi import APIRouter, Path, Query, Response

from segue.model.text_checks import MAX_KEY
from segue.server.auth import LOCAL_OPERATOR
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
)
from segue.server.request_context import AuthenticatedRequest, AuthenticatedRoute, IdempotencyKey
from segue.server.routes.sessions import KeyInPath
from segue.server.schemas import memory as schemas

router = APIRouter(route_class=AuthenticatedRoute, tags=["Memory"], responses=responses(400, 401, 403, 422))

IdInPath = Annotated[str, Path(max_length=200, pattern=r"^[^\x00]+$")]
NumberInPath = Annotated[int, Path(ge=1, le=LARGEST_SEQ)]
SearchQuery = Annotated[str | None, Query(min_length=1, max_length=2_000, pattern=r"^[^\x00]*\S[^\x00]*$")]
Status = Annotated[
    Literal["pending", "running", "cancelling", "completed", "failed", "cancelled"] | None,
    Query(description="Return only tasks with this status."),
]


@router.post(
    "/sessions/{key}/commit",
    summary="Commit a session",
    status_code=202,
    response_model=schemas.CommitOut,
    response_model_exclude_none=True,
    responses={
        200: {"description": "There was nothing to archive.", "model": schemas.CommitOut},
        **responses(404, 409, 413),
    },
)
async def commit_session(
    key: KeyInPath,
    response: Response,
    request: AuthenticatedRequest,
    body: schemas.CommitSession | None = None,
    idempotency_key: IdempotencyKey = None,
) -> schemas.CommitOut:
    """Archive the messages of finished turns at once. A task then extracts memories from the archive."""
    keep = body.keep_recent_count if body else None
    result = schemas.commit_out(
        await request.kernel.memory.commit(
            key,
            keep_recent_count=keep,
            owner=request.owner,
            request=await request.idempotency(idempotency_key),
        )
    )
    if not result.archived:
        response.status_code = 200
    return result


@router.get("/tasks", summary="List tasks")
async def list_tasks(
    request: AuthenticatedRequest,
    limit: Limit = 100,
    cursor: Cursor = None,
    status: Status = None,
    session_key: Annotated[str | None, Query(max_length=MAX_KEY, pattern=r"^[^\x00]+$")] = None,
) -> schemas.TasksOut:
    """List the caller's tasks, newest first. Completed tasks are kept for a day, others for a week."""
    before = None if cursor is None else decode_cursor(cursor).id
    found = await request.kernel.memory.tasks(
        owner=request.owner, state=status or "", session_key=session_key or "", limit=limit + 1, before=before
    )
    page = found[:limit]
    return schemas.TasksOut(
        tasks=[schemas.task(each) for each in page],
        next_cursor=encode_cursor(page[-1].page_start) if len(found) > limit else None,
    )


@router.get("/tasks/{task_id}", summary="Get a task", responses=responses(404))
async def get_task(task_id: IdInPath, request: AuthenticatedRequest) -> schemas.TaskOut:
    return schemas.task(await request.kernel.memory.task(task_id, owner=request.owner))


@router.post("/tasks/{task_id}/cancel", summary="Cancel a task", responses=responses(404, 409))
async def cancel_task(task_id: IdInPath, request: AuthenticatedRequest) -> schemas.TaskOut:
    """Cancel the extraction of memories. The archive stays. A running task ends at its next check."""
    return schemas.task(await request.kernel.memory.cancel_task(task_id, owner=request.owner))


@router.get("/sessions/{key}/archives", summary="List archives", responses=responses(404))
async def list_archives(
    key: KeyInPath, request: AuthenticatedRequest, limit: Limit = 100, cursor: Cursor = None
) -> schemas.ArchivesOut:
    """List archives, newest first, without their messages."""
    before = decode_seq(cursor, LARGEST_SEQ)
    found = await request.kernel.memory.archives(key, owner=request.owner, limit=limit + 1, before=before)
    page = found[:limit]
    return schemas.ArchivesOut(
        archives=[schemas.archive_short(each) for each in page],
        next_cursor=encode_seq(page[-1].n) if len(found) > limit else None,
    )


@router.get("/sessions/{key}/archives/{n}", summary="Read an archive", responses=responses(404))
async def get_archive(key: KeyInPath, n: NumberInPath, request: AuthenticatedRequest) -> schemas.ArchiveOut:
    """Return an archive with its messages. It is readable before memories are extracted from it."""
    session = await request.kernel.sessions.get(key, owner=request.owner)
    archive = await request.kernel.memory.archive(session, n)
    messages = await request.kernel.memory.archived_messages(session, n)
    html = await html_of(message.content for message in messages)
    return schemas.archive(archive, messages, html)


@router.post(
    "/sessions/{key}/archives/{n}/undo", summary="Undo what an archive taught", responses=responses(404, 409)
)
async def undo_archive(key: KeyInPath, n: NumberInPath, request: AuthenticatedRequest) -> schemas.UndoneOut:
    """Restore the memories from before the archive. Memories that were changed later are kept."""
    undone = await request.kernel.memory.undo(key, n, owner=request.owner)
    return schemas.UndoneOut(undone=True, restored=undone.restored, kept=undone.kept)


@router.get("/sessions/{key}/context", summary="Get the model's context", responses=responses(404))
async def get_context(
    key: KeyInPath,
    request: AuthenticatedRequest,
    token_budget: Annotated[int, Query(ge=1, le=10_000_000)] = 128_000,
    query: SearchQuery = None,
) -> schemas.ContextOut:
    """Return what the model would receive for `query` now: the newest summary, the messages since, and
    relevant memories."""
    session = await request.kernel.sessions.get(key, owner=request.owner)
    given = await request.kernel.memory.context(session, asked=query or "", token_budget=token_budget)
    html = await html_of(message.content for message in given.messages)
    return schemas.context(given, html, session.id, session.live.archived_seq)


@router.get("/memories", summary="List or search memories")
async def list_memories(
    request: AuthenticatedRequest, limit: Limit = 100, cursor: Cursor = None, query: SearchQuery = None
) -> schemas.MemoriesOut:
    """List the caller's memories, newest first. With a query: matching memories and passages of archives,
    best first."""
    if query is not None:
        found = await request.kernel.memory.search(query, owner=request.owner, limit=limit)
        return schemas.MemoriesOut(memories=[schemas.found_memory(each) for each in found], next_cursor=None)
    known = await request.kernel.memory.list(
        owner=request.owner, limit=limit + 1, before=decode_cursor(cursor)
    )
    page = known[:limit]
    return schemas.MemoriesOut(
        memories=[schemas.memory(each) for each in page],
        next_cursor=encode_cursor(page[-1].page_start) if len(known) > limit else None,
    )


@router.get("/memories/{memory_id}", summary="Get a memory", responses=responses(404))
async def get_memory(memory_id: IdInPath, request: AuthenticatedRequest) -> schemas.MemoryOut:
    return schemas.memory(await request.kernel.memory.get(memory_id, owner=request.owner))


@router.patch("/memories/{memory_id}", summary="Correct a memory", responses=responses(404, 409, 413))
async def change_memory(
    memory_id: IdInPath, body: schemas.ChangeMemory, request: AuthenticatedRequest
) -> schemas.MemoryOut:
    """Change a memory. Its confidence becomes 1."""
    changed = await request.kernel.memory.update(
        memory_id, content=body.content, topic=body.topic, kind=body.kind, owner=request.owner
    )
    return schemas.memory(changed)


@router.delete("/memories/{memory_id}", summary="Delete a memory", responses=responses(404))
async def delete_memory(memory_id: IdInPath, request: AuthenticatedRequest) -> schemas.MemoryDeleted:
    await request.kernel.memory.delete(memory_id, owner=request.owner)
    return schemas.MemoryDeleted(deleted=True)


@router.get("/system/auto-commit/index", summary="List sessions with an idle timeout")
async def get_auto_commit_index(request: AuthenticatedRequest) -> schemas.IndexOut:
    """List the sessions that are committed after an idle time, by account and user: the caller's own, for an
    admin those of the account, on a server without keys all of them."""
    found = await request.kernel.memory.auto_commit_index()
    if request.caller is not LOCAL_OPERATOR:
        members = [member for member in found.members if request.owner.reaches(member.owner)]
        found = replace(found, members=members)
    return schemas.index(found, request.kernel.clock.ms())
