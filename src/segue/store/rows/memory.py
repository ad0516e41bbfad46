"""Conversion between rows and records of archives, tasks and memories."""

from collections.abc import Mapping
from typing import Any

from segue.model.memory import Archive, ArchiveState, Memory, MemoryKind, Task, TaskState
from segue.model.records import Owner
from segue.store import queries
from segue.store.database import Row, Value
from segue.store.rows.core import fields_of, from_text


def archive(row: Row) -> Archive:
    fields = fields_of(row, queries.archives.columns["archive"])
    return Archive(**{**fields, "state": ArchiveState(fields["state"])})


def task(row: Row) -> Task:
    fields = fields_of(row, queries.tasks.columns["task"])
    owner = Owner(fields.pop("account"), fields.pop("user_id"))
    fields |= {"state": TaskState(fields["state"]), "result": from_text(fields["result"]) or None}
    return Task(**fields, owner=owner)


def memory(row: Row) -> Memory:
    return memory_again(fields_of(row, queries.memories.columns["memory"]))


def memory_params(memory: Memory) -> dict[str, Value]:
    owned: dict[str, Value] = {"account": memory.owner.account, "user_id": memory.owner.user}
    names = [name for name in queries.memories.columns["memory"] if name not in owned]
    return {**owned, **{name: getattr(memory, name) for name in names}, "kind": str(memory.kind)}


def memory_again(params: Mapping[str, Any]) -> Memory:
    """The inverse of `memory_params`: memory changes store these values."""
    owner = Owner(params["account"], params["user_id"])
    fields = {name: value for name, value in params.items() if name not in ("account", "user_id")}
    return Memory(**{**fields, "owner": owner, "kind": MemoryKind(params["kind"])})
