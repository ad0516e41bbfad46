"""Conversion between rows and records of archives, tasks and memories."""

from collections.abc import Mapping
from typing import Any

from segue.model.memory import Archive, ArchiveState, Memory, MemoryKind, Task, TaskState
from segue.model.records import Owner
from segue.store.database import Row, Value
from segue.store.rows.core import from_text


def archive(row: Row) -> Archive:
    return Archive(
        session_id=row["session_id"],
        n=row["n"],
        first_seq=row["first_seq"],
        last_seq=row["last_seq"],
        message_count=row["message_count"],
        tokens=row["tokens"],
        reason=row["reason"],
        task_id=row["task_id"],
        state=ArchiveState(row["state"]),
        summary=row["summary"],
        error=row["error"],
        learned=row["learned"],
        created_at=row["created_at"],
        finished_at=row["finished_at"],
        undone_at=row["undone_at"],
    )


def task(row: Row) -> Task:
    return Task(
        id=row["id"],
        owner=Owner(row["account"], row["user_id"]),
        type=row["type"],
        session_id=row["session_id"],
        session_key=row["session_key"],
        archive_n=row["archive_n"],
        state=TaskState(row["state"]),
        stage=row["stage"],
        attempt=row["attempt"],
        not_before=row["not_before"],
        fence=row["fence"],
        result=from_text(row["result"]) or None,
        error=row["error"],
        created_at=row["created_at"],
        updated_at=row["updated_at"],
    )


def memory(row: Row) -> Memory:
    return Memory(
        id=row["id"],
        owner=Owner(row["account"], row["user_id"]),
        kind=MemoryKind(row["kind"]),
        topic=row["topic"],
        content=row["content"],
        confidence=row["confidence"],
        session_id=row["session_id"],
        archive_n=row["archive_n"],
        source_seq=row["source_seq"],
        created_at=row["created_at"],
        updated_at=row["updated_at"],
    )


def memory_params(memory: Memory) -> dict[str, Value]:
    return {
        "id": memory.id,
        "account": memory.owner.account,
        "user_id": memory.owner.user,
        "kind": str(memory.kind),
        "topic": memory.topic,
        "content": memory.content,
        "confidence": memory.confidence,
        "session_id": memory.session_id,
        "archive_n": memory.archive_n,
        "source_seq": memory.source_seq,
        "created_at": memory.created_at,
        "updated_at": memory.updated_at,
    }


def memory_again(params: Mapping[str, Any]) -> Memory:
    """The inverse of `memory_params`: memory changes store these values."""
    owner = Owner(params["account"], params["user_id"])
    fields = {name: value for name, value in params.items() if name not in ("account", "user_id")}
    return Memory(**{**fields, "owner": owner, "kind": MemoryKind(params["kind"])})
