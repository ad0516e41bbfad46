"""Memory and health of a client: the verbs of `kernel.memory` and `kernel.health`."""

from segue.client import parse
from segue.client.records import (
    RemoteArchive,
    RemoteCommit,
    RemoteContext,
    RemoteFoundMemory,
    RemoteMemory,
    RemoteTask,
)
from segue.client.transport import Transport
from segue.kernel.api.health import HealthStatus
from segue.kernel.transactions.memory.learn import Undone
from segue.model.memory import MemoryKind, TaskState
from segue.model.text_checks import check_key, check_text
from segue.model.transcript import Message


class ClientMemory:
    """Archives of sessions, and what was learned from them: `client.memory`."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    async def commit(self, key: str, *, keep_recent_count: int | None = None) -> RemoteCommit:
        """Archives a session's ended turns and messages, except for the newest, which it keeps."""
        body = {} if keep_recent_count is None else {"keep_recent_count": keep_recent_count}
        return (await self._transport.post("sessions", check_key(key), "commit", body=body)).read(
            parse.commit, key
        )

    async def archives(self, key: str, *, limit: int = 100) -> list[RemoteArchive]:
        """Returns a session's archives, newest first. Raises `NotFound`."""
        return await self._transport.pages(
            *("archives", "sessions", check_key(key), "archives"),
            limit=limit,
            read=lambda data: parse.archive(data, key),
        )

    async def archive(self, key: str, n: int) -> RemoteArchive:
        """Returns one archive: its range of the log, its state and its summary. Raises `NotFound`."""
        return (await self._transport.get("sessions", check_key(key), "archives", n)).read(parse.archive, key)

    async def archived_messages(self, key: str, n: int) -> list[Message]:
        """Returns the messages of an archive, in the order of the log. Raises `NotFound`."""
        answer = await self._transport.get("sessions", check_key(key), "archives", n)
        return [message.read(parse.message) for message in answer.items("messages")]

    async def undo(self, key: str, n: int) -> Undone:
        """Undoes the changes that an archive made to memory. Raises `NotFound`, `Conflict`."""
        answer = await self._transport.post("sessions", check_key(key), "archives", str(n), "undo")
        return Undone(restored=answer.data["restored"], kept=answer.data["kept"])

    async def task(self, task_id: str) -> RemoteTask:
        """Returns a task that learns from an archive. Raises `NotFound`."""
        return (await self._transport.get("tasks", task_id)).read(parse.task)

    async def tasks(
        self, *, state: TaskState | str = "", session_key: str = "", limit: int = 100
    ) -> list[RemoteTask]:
        """Returns the tasks that learn from archives, newest first."""
        return await self._transport.pages(
            "tasks",
            "tasks",
            limit=limit,
            read=parse.task,
            status=str(state) or None,
            session_key=session_key or None,
        )

    async def cancel_task(self, task_id: str) -> RemoteTask:
        """Cancels a task and returns it. Raises `NotFound`; `Conflict` when the task has ended."""
        return (await self._transport.post("tasks", task_id, "cancel")).read(parse.task)

    async def get(self, memory_id: str) -> RemoteMemory:
        """Returns a memory. Raises `NotFound`."""
        return (await self._transport.get("memories", memory_id)).read(parse.memory)

    async def search(self, query: str, *, limit: int = 10) -> list[RemoteFoundMemory]:
        """Returns memories and archived passages that share words with the query, with scores, best first."""
        check_text(query, "a query", longest=2_000)
        return await self._transport.pages(
            "memories", "memories", limit=limit, read=parse.found_memory, query=query
        )

    async def update(
        self,
        memory_id: str,
        *,
        content: str | None = None,
        kind: MemoryKind | str | None = None,
        topic: str | None = None,
    ) -> RemoteMemory:
        """Corrects a memory and returns it; its confidence becomes 100."""
        body = {"content": content, "kind": None if kind is None else str(kind), "topic": topic}
        given = {name: value for name, value in body.items() if value is not None}
        return (await self._transport.patch("memories", memory_id, body=given)).read(parse.memory)

    async def delete(self, memory_id: str) -> None:
        """Deletes a memory. Raises `NotFound`."""
        await self._transport.delete("memories", memory_id)

    async def context(self, key: str, *, asked: str = "", token_budget: int = 128_000) -> RemoteContext:
        """Returns what a model would be given of a session if `asked` were asked now, with token counts."""
        answer = await self._transport.get(
            "sessions", check_key(key), "context", token_budget=token_budget, query=asked or None
        )
        return answer.read(parse.context)

    async def list(self, *, limit: int = 100) -> list[RemoteMemory]:
        """Returns a user's memories, newest first."""
        return await self._transport.pages("memories", "memories", limit=limit, read=parse.memory)


class ClientHealth:
    """Whether the server can read and write, and whether due jobs run: `client.health`."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    async def check(self) -> HealthStatus:
        """Returns the status of the server, also a bad one."""
        return (await self._transport.get("health")).read(parse.health)
