"""Memory: commits and their tasks, archives, what is known, and what a model would be given."""

from typing import Annotated, Literal

from fastapi import APIRouter, Path, Query, Response

from segue.model.text_checks import MAX_KEY
from segue.server.auth import require_admin
from segue.server.error_responses import responses
from segue.server.markdown_pool import html_of
from segue.server.paging import LARGEST_SEQ, Cursor, Limit, cursor_of, cursor_of_seq, place_of, seq_of
from segue.server.request_context import AuthenticatedRequest, Guarded
from segue.server.routes.sessions import KeyInPath
from segue.server.schemas import memory as shapes

router = APIRouter(route_class=Guarded, tags=["Memory"], responses=responses(400, 401, 403, 422))

IdInPath = Annotated[str, Path(max_length=200, pattern=r"^[^\x00]+$")]
NumberInPath = Annotated[int, Path(ge=1, le=LARGEST_SEQ)]
Query_ = Annotated[str | None, Query(min_length=1, max_length=2_000, pattern=r"^[^\x00]*\S[^\x00]*$")]
Status = Annotated[
    Literal["pending", "running", "cancelling", "completed", "failed", "cancelled"] | None,
    Query(description="Only those that stand so."),
]


@router.post(
    "/sessions/{key}/commit",
    summary="Put a session away",
    status_code=202,
    response_model=shapes.CommitOut,
    response_model_exclude_none=True,
    responses={
        200: {"description": "There was nothing to put away.", "model": shapes.CommitOut},
        **responses(404, 413),
    },
)
async def commit_session(
    key: KeyInPath,
    response: Response,
    asked: AuthenticatedRequest,
    body: shapes.CommitSession | None = None,
) -> shapes.CommitOut:
    """What has settled becomes an archive, at once. A task then learns from it."""
    keep = body.keep_recent_count if body else None
    done = shapes.committed(await asked.kernel.commit(key, keep_recent_count=keep, owner=asked.owner))
    if not done.archived:
        response.status_code = 200
    return done


@router.get("/tasks", summary="List tasks")
async def list_tasks(
    asked: AuthenticatedRequest,
    limit: Limit = 100,
    cursor: Cursor = None,
    status: Status = None,
    session_key: Annotated[str | None, Query(max_length=MAX_KEY, pattern=r"^[^\x00]+$")] = None,
) -> shapes.TasksOut:
    """The caller's, newest first. Completed ones are kept for a day, others for a week."""
    before = None if cursor is None else place_of(cursor).id
    found = await asked.kernel.tasks(
        owner=asked.owner, state=status or "", session_key=session_key or "", limit=limit + 1, before=before
    )
    shown = found[:limit]
    return shapes.TasksOut(
        tasks=[shapes.task(each) for each in shown],
        next_cursor=cursor_of(shown[-1].place) if len(found) > limit else None,
    )


@router.get("/tasks/{task_id}", summary="Look at a task", responses=responses(404))
async def get_task(task_id: IdInPath, asked: AuthenticatedRequest) -> shapes.TaskOut:
    return shapes.task(await asked.kernel.task(task_id, owner=asked.owner))


@router.post("/tasks/{task_id}/cancel", summary="Cancel a task", responses=responses(404, 409))
async def cancel_task(task_id: IdInPath, asked: AuthenticatedRequest) -> shapes.TaskOut:
    """Its archive stays; nothing is learned from it. One that runs ends when it next looks."""
    return shapes.task(await asked.kernel.cancel_task(task_id, owner=asked.owner))


@router.get("/sessions/{key}/archives", summary="List archives", responses=responses(404))
async def list_archives(
    key: KeyInPath, asked: AuthenticatedRequest, limit: Limit = 100, cursor: Cursor = None
) -> shapes.ArchivesOut:
    """Newest first, without their messages."""
    before = seq_of(cursor, LARGEST_SEQ)
    found = await asked.kernel.archives(key, owner=asked.owner, limit=limit + 1, before=before)
    shown = found[:limit]
    return shapes.ArchivesOut(
        archives=[shapes.archive_short(each) for each in shown],
        next_cursor=cursor_of_seq(shown[-1].n) if len(found) > limit else None,
    )


@router.get("/sessions/{key}/archives/{n}", summary="Read an archive", responses=responses(404))
async def get_archive(key: KeyInPath, n: NumberInPath, asked: AuthenticatedRequest) -> shapes.ArchiveOut:
    """Readable at once, whether or not it has been learned from."""
    there = await asked.kernel.archive(key, n, owner=asked.owner)
    messages = await asked.kernel.archived(key, n, owner=asked.owner)
    html = await html_of(message.content for message in messages)
    return shapes.archive(there, messages, html)


@router.post("/sessions/{key}/archives/{n}/undo", summary="Unlearn an archive", responses=responses(404, 409))
async def undo_archive(key: KeyInPath, n: NumberInPath, asked: AuthenticatedRequest) -> shapes.UndoneOut:
    """Memories are as they were before it. One that was changed since stays as it is."""
    undone = await asked.kernel.undo(key, n, owner=asked.owner)
    return shapes.UndoneOut(undone=True, restored=undone.restored, kept=undone.kept)


@router.get("/sessions/{key}/context", summary="What a model would be given", responses=responses(404))
async def get_context(
    key: KeyInPath,
    asked: AuthenticatedRequest,
    token_budget: Annotated[int, Query(ge=1, le=10_000_000)] = 128_000,
    query: Query_ = None,
) -> shapes.ContextOut:
    """If this were asked now: the newest summary, the messages since, and the memories that fit."""
    session = await asked.kernel.session(key, owner=asked.owner)
    given = await asked.kernel.context(key, asked=query or "", token_budget=token_budget, owner=asked.owner)
    html = await html_of(message.content for message in given.messages)
    return shapes.context(given, html, session.id, session.live.archived_seq)


@router.get("/memories", summary="What is known")
async def list_memories(
    asked: AuthenticatedRequest, limit: Limit = 100, cursor: Cursor = None, query: Query_ = None
) -> shapes.MemoriesOut:
    """The caller's, newest first. With a query: those that fit, the best first, and passages of archives."""
    if query is not None:
        found = await asked.kernel.recollect(query, owner=asked.owner, limit=limit)
        return shapes.MemoriesOut(memories=[shapes.found(each) for each in found], next_cursor=None)
    known = await asked.kernel.memories(owner=asked.owner, limit=limit + 1, before=place_of(cursor))
    shown = known[:limit]
    return shapes.MemoriesOut(
        memories=[shapes.memory(each) for each in shown],
        next_cursor=cursor_of(shown[-1].place) if len(known) > limit else None,
    )


@router.patch("/memories/{memory_id}", summary="Correct a memory", responses=responses(404, 409, 413))
async def change_memory(
    memory_id: IdInPath, body: shapes.ChangeMemory, asked: AuthenticatedRequest
) -> shapes.MemoryOut:
    """What a person says is certain, until they say something else."""
    changed = await asked.kernel.change_memory(
        memory_id, content=body.content, topic=body.topic, kind=body.kind, owner=asked.owner
    )
    return shapes.memory(changed)


@router.delete("/memories/{memory_id}", summary="Forget something", responses=responses(404))
async def forget(memory_id: IdInPath, asked: AuthenticatedRequest) -> shapes.Forgotten:
    await asked.kernel.forget(memory_id, owner=asked.owner)
    return shapes.Forgotten(deleted=True)


@router.get("/system/auto-commit/index", summary="Who waits for a silence", responses=responses(403))
async def auto_commit_index(asked: AuthenticatedRequest) -> shapes.IndexOut:
    """All sessions that will be committed after a silence, by account and user. For the role admin."""
    require_admin(asked.caller)
    return shapes.index(await asked.kernel.auto_commit_index(), asked.kernel.clock.ms())
