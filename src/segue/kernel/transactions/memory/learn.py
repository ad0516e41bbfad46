"""Learning: stores the summary and the memories of an archive, and undoes them.

A task has two steps, the summary and the memories. Each is one transaction under the task's fence, and the
second ends the task. So a retried task repeats no step, and a failed step leaves nothing.
"""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Any, TypeAlias

from segue.errors import Conflict, LeaseLost, NotFound
from segue.memory.embedding import StoredVector
from segue.memory.search import weights
from segue.model.memory import Archive, ArchiveState, Memory, MemoryKind, Task, TaskState
from segue.model.records import Owner
from segue.record import record
from segue.store import queries
from segue.store.database import Params, Transaction
from segue.store.rows import core as rows
from segue.store.rows import memory as memory_rows

_LEASED_AT_ONCE = 4

Vectors: TypeAlias = Mapping[str, StoredVector]
"""The vectors of texts, by the text."""


@record
class Undone:
    """How many changes were undone, and how many stay because their memory was changed since."""

    restored: int
    kept: int


def lease(*, holder: str, lease_ms: int, lease_now: int | None, now: int) -> Transaction[list[Task]]:
    """Lease tasks that wait. Those of one session run in the order of its archives."""
    leased = yield (
        queries.tasks.lease,
        {
            "holder": holder,
            "lease_ms": lease_ms,
            "lease_now": lease_now,
            "now": now,
            "limit": _LEASED_AT_ONCE,
        },
    )
    return [memory_rows.task(row) for row in leased]


def sum_up(task: Task, summary: str, now: int) -> Transaction[bool]:
    """The first step: store the summary. False: the task was asked to stop."""
    go_on = yield from _reach(task, "summed_up", now)
    yield queries.archives.sum_up, {"session_id": task.session_id, "n": task.archive_n, "summary": summary}
    return go_on


def learn(
    task: Task,
    lessons: Sequence[Memory],
    passages: Sequence[Memory],
    now: int,
    *,
    extractor: str,
    vectors: Vectors = MappingProxyType({}),
) -> Transaction[None]:
    """The second step: store the memories and end the task. A newer memory replaces an older of its topic."""
    if not (yield from _reach(task, "learned", now)):
        yield from give_up(task, "cancelled by request", now, state=TaskState.CANCELLED)
        return
    learned: Counter[str] = Counter()
    index = 0
    for lesson in lessons:
        before = yield from _on_topic(lesson.owner, lesson.topic)
        after = _replacement(before, lesson)
        if after is None:
            continue
        yield from keep(after)
        yield from keep_vector(after, vectors)
        yield queries.memories.record_change, _change(task, index, before, after, now)
        index += 1
        learned[str(after.kind)] += 1
    for passage in passages:
        yield from keep(passage)
        yield from keep_vector(passage, vectors)
    result: dict[str, Any] = {
        "session_key": task.session_key,
        "archive_id": str(task.archive_n),
        "extractor": extractor,
        "memories": index,
        "memories_extracted": dict(learned),
    }
    yield from _finish(task, ArchiveState.DONE, TaskState.COMPLETED, now, result=result)


def give_up(task: Task, error: str, now: int, *, state: TaskState = TaskState.FAILED) -> Transaction[None]:
    """End a task without memories. The archive keeps its messages, and the next archive is not held up."""
    yield from _finish(task, ArchiveState.FAILED, state, now, error=error)


def requeue(task: Task, not_before: int, error: str, now: int) -> Transaction[None]:
    back: Params = {
        "id": task.id,
        "fence": task.fence,
        "not_before": not_before,
        "error": error,
        "now": now,
    }
    taken = yield queries.tasks.requeue, back
    if not taken:
        raise LeaseLost(f"task {task.id} is no longer held")


def cancel(task_id: str, now: int) -> Transaction[None]:
    """Cancel a waiting task; a running one ends at its next step. Raises `NotFound` and `Conflict`."""
    found = yield queries.tasks.by_id, {"id": task_id}
    if not found:
        raise NotFound(f"there is no task {task_id}")
    task = memory_rows.task(found[0])
    taken = yield queries.tasks.cancel, {"id": task_id, "now": now}
    if not taken:
        raise Conflict(f"task {task_id} is {task.state} and cannot be cancelled any more")
    if taken[0]["state"] == TaskState.CANCELLED:
        yield (
            queries.archives.finish,
            _archive_end(task, ArchiveState.FAILED, now, error="cancelled by request"),
        )


def undo(archive: Archive, now: int) -> Transaction[Undone]:
    """Undo the changes that an archive made to memories, except to those changed since."""
    taken = yield queries.archives.undo, {"session_id": archive.session_id, "n": archive.n, "now": now}
    if not taken:
        raise Conflict(f"archive {archive.n} was undone already, or is not learned from yet")
    changes = yield queries.memories.changes_of, {"session_id": archive.session_id, "archive_n": archive.n}
    restored = kept = 0
    for row in changes:
        found = yield queries.memories.by_id, {"id": row["memory_id"]}
        after = memory_rows.memory_again(rows.from_text(row["after"]))
        if not found or memory_rows.memory(found[0]) != after:
            kept += 1
            continue
        restored += 1
        if row["before"]:
            yield from keep(memory_rows.memory_again(rows.from_text(row["before"])))
        else:
            yield from forget(after, now)
    return Undone(restored=restored, kept=kept)


def keep(memory: Memory) -> Transaction[None]:
    """Store a memory and the terms it is found by."""
    yield queries.memories.keep, memory_rows.memory_params(memory)
    yield queries.memories.drop_terms, {"memory_id": memory.id}
    yield queries.memories.drop_vector, {"memory_id": memory.id}
    if terms := term_params(memory):
        yield queries.memories.add_term, terms


def keep_vector(memory: Memory, vectors: Vectors) -> Transaction[None]:
    """Store the vector of a memory's text, if there is one."""
    if (vector := vectors.get(searched_text(memory))) is not None:
        owned: Params = {"account": memory.owner.account, "user_id": memory.owner.user}
        columns: Params = {"model": vector.model, "bits": vector.bits, "vector": vector.vector}
        yield queries.memories.keep_vector, {"memory_id": memory.id, **owned, **columns}


def keep_vectors(memories: Sequence[Memory], vectors: Vectors) -> Transaction[int]:
    """Store the vectors of memories that still have the text that was embedded. Returns how many."""
    kept = 0
    for memory in memories:
        found = yield queries.memories.by_id, {"id": memory.id}
        if found and memory_rows.memory(found[0]).content == memory.content:
            yield from keep_vector(memory, vectors)
            kept += 1
    return kept


def term_params(memory: Memory) -> list[Params]:
    """The rows of the terms that a memory is found by."""
    key = {"account": memory.owner.account, "user_id": memory.owner.user, "memory_id": memory.id}
    return [
        {**key, "term": term, "weight": weight} for term, weight in weights(searched_text(memory)).items()
    ]


def searched_text(memory: Memory) -> str:
    """The text that a memory is found by: of a passage without the names of the roles."""
    if memory.kind is not MemoryKind.PASSAGE:
        return memory.content
    return re.sub(r"^(?:user|assistant): ", "", memory.content, flags=re.MULTILINE)


def forget(memory: Memory, now: int) -> Transaction[bool]:
    gone = yield queries.memories.forget, {"id": memory.id, "now": now}
    yield queries.memories.drop_terms, {"memory_id": memory.id}
    yield queries.memories.drop_vector, {"memory_id": memory.id}
    return bool(gone)


def change(memory: Memory) -> Transaction[None]:
    """Change a memory on a user's request. `Conflict`: another memory has its topic."""
    existing = yield from _on_topic(memory.owner, memory.topic)
    if existing is not None and existing.id != memory.id:
        raise Conflict(f"memory {existing.id} is about {memory.topic!r} already; change that one")
    yield from keep(memory)


def consolidate(duplicates: Sequence[Memory], now: int) -> Transaction[int]:
    gone = 0
    for memory in duplicates:
        gone += yield from forget(memory, now)
    return gone


def _reach(task: Task, stage: str, now: int) -> Transaction[bool]:
    reached = yield queries.tasks.reach, {"id": task.id, "fence": task.fence, "stage": stage, "now": now}
    if not reached:
        raise LeaseLost(f"task {task.id} is no longer held")
    return bool(reached[0]["state"] == TaskState.RUNNING)


def _on_topic(owner: Owner, topic: str) -> Transaction[Memory | None]:
    params = {"account": owner.account, "user_id": owner.user, "topic": topic}
    found = yield queries.memories.by_topic, params
    return memory_rows.memory(found[0]) if found else None


def _replacement(existing: Memory | None, lesson: Memory) -> Memory | None:
    """What to store for a lesson. None: the memory has the same content, or is newer."""
    if existing is None:
        return lesson
    if existing.content == lesson.content or existing.updated_at > lesson.updated_at:
        return None
    return replace(lesson, id=existing.id, created_at=existing.created_at)


def _change(task: Task, index: int, before: Memory | None, after: Memory, now: int) -> dict[str, Any]:
    return {
        "session_id": task.session_id,
        "archive_n": task.archive_n,
        "place": index,
        "memory_id": after.id,
        "before": None if before is None else rows.to_text(memory_rows.memory_params(before)),
        "after": rows.to_text(memory_rows.memory_params(after)),
        "at": now,
    }


def _finish(
    task: Task,
    archive: ArchiveState,
    state: TaskState,
    now: int,
    *,
    result: dict[str, Any] | None = None,
    error: str | None = None,
) -> Transaction[None]:
    learned = result["memories"] if result else 0
    yield queries.archives.finish, _archive_end(task, archive, now, error=error, learned=learned)
    ended: Params = {
        "id": task.id,
        "fence": task.fence,
        "state": str(state),
        "result": rows.to_text(result),
        "error": error,
        "now": now,
    }
    taken = yield queries.tasks.finish, ended
    if not taken:
        raise LeaseLost(f"task {task.id} is no longer held")


def _archive_end(
    task: Task, state: ArchiveState, now: int, *, error: str | None = None, learned: int = 0
) -> dict[str, Any]:
    return {
        "session_id": task.session_id,
        "n": task.archive_n,
        "state": str(state),
        "error": error,
        "learned": learned,
        "now": now,
    }
