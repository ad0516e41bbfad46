"""Memory: archives sessions, shows archives and tasks, and reads and changes a user's memories."""

from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import asdict, replace
from functools import partial
from typing import Any

from segue.errors import BadSetting, NotFound
from segue.kernel.api.context import OPERATOR, ApiContext, SessionRef
from segue.kernel.transactions.idempotency import Request
from segue.kernel.transactions.memory import archive, learn
from segue.kernel.transactions.memory.archive import ArchiveMade, CommitOutcome, CommitSkipped
from segue.kernel.transactions.memory.learn import Undone
from segue.kernel.transactions.result import Result
from segue.memory.embedding import embedded
from segue.memory.model_context import Context, assemble
from segue.memory.ranked_search import MemoryQuery, memory_query
from segue.model.action import View
from segue.model.auto_commit import MOST_KEPT
from segue.model.memory import KNOWN, Archive, FoundMemory, Index, Memory, MemoryKind, Task
from segue.model.records import NEWEST, Asker, Owner, PageStart, Session
from segue.model.text_checks import check_text
from segue.model.transcript import Message, message_of
from segue.store.database import Transaction

_LONGEST_MEMORY = 2_000
_LONGEST_QUERY = 2_000
_MOST_MEMBERS = 100_000
_EMBEDDED_AT_ONCE = 64


class MemoryApi:
    """Archives of sessions, and what was learned from them: `kernel.memory`."""

    def __init__(self, context: ApiContext) -> None:
        self._context = context

    async def commit(
        self,
        key: SessionRef,
        *,
        keep_recent_count: int | None = None,
        owner: Asker = OPERATOR,
        request: Request | None = None,
    ) -> CommitOutcome:
        """Archives a session's ended turns and messages, except for the newest, which it keeps.

        `keep_recent_count` is the number of messages to keep; by default the policy's. Returns the archive's
        number and the id of the task that learns from it, or the reason why nothing was archived. Raises
        `NotFound`, `BadSetting`.
        """
        if keep_recent_count is not None and not 0 <= keep_recent_count <= MOST_KEPT:
            raise BadSetting(f"keep_recent_count is from 0 to {MOST_KEPT:,}, got {keep_recent_count!r}")
        session = await self._context.session(key, owner)
        now = self._context.clock.ms()
        task_id = self._context.ids(now)
        work = partial(archive.commit, session.id, now, task_id=task_id, keep=keep_recent_count)
        done = await self._context.commit_once(request, work, now, keep=_to_json, again=_from_json)
        return self._context.announce(done)

    async def archives(
        self, key: SessionRef, *, owner: Asker = OPERATOR, limit: int = 100, before: int | None = None
    ) -> list[Archive]:
        """Returns a session's archives, newest first; with `before`, those of lower numbers.

        Raises `NotFound`.
        """
        return await self._context.memory.archives(
            (await self._context.session(key, owner)).id, limit=limit, before=before
        )

    async def archive(self, key: SessionRef, n: int, *, owner: Asker = OPERATOR) -> Archive:
        """Returns one archive: its range of the log, its state and its summary. Raises `NotFound`."""
        return await self._context.memory.archive((await self._context.session(key, owner)).id, n)

    async def archived_messages(self, key: SessionRef, n: int, *, owner: Asker = OPERATOR) -> list[Message]:
        """Returns the messages of an archive, in the order of the log. Raises `NotFound`."""
        archive = await self.archive(key, n, owner=owner)
        log = await self._context.memory.log(
            archive.session_id, after=archive.first_seq - 1, until=archive.last_seq
        )
        return [message for event in log if (message := message_of(event))]

    async def undo(self, key: SessionRef, n: int, *, owner: Asker = OPERATOR) -> Undone:
        """Undoes the changes that an archive made to memory: new memories go, replaced ones come back.

        Memories that were changed since stay. Returns how many were `restored` and `kept`. Raises `NotFound`;
        `Conflict` when the archive was undone before, or nothing was learned from it yet.
        """
        archive = await self.archive(key, n, owner=owner)
        return await self._context.store.commit(learn.undo, archive, self._context.clock.ms())

    async def task(self, task_id: str, *, owner: Asker = OPERATOR) -> Task:
        """Returns the `Task` of an id. Raises `NotFound`."""
        task = await self._context.memory.task(task_id)
        if not owner.reaches(task.owner):
            raise NotFound(f"there is no task {task_id}")
        return task

    async def tasks(
        self,
        *,
        owner: Asker = OPERATOR,
        state: str = "",
        session_key: str = "",
        limit: int = 100,
        before: str | None = None,
    ) -> list[Task]:
        """Returns the tasks that learn from archives, newest first."""
        return await self._context.memory.tasks(
            owner, limit=limit, before=before, state=state, session_key=session_key
        )

    async def cancel_task(self, task_id: str, *, owner: Asker = OPERATOR) -> Task:
        """Cancels a task and returns it; a running task ends at its next check.

        Raises `NotFound`; `Conflict` when the task has ended.
        """
        await self.task(task_id, owner=owner)
        await self._context.store.commit(learn.cancel, task_id, self._context.clock.ms())
        return await self._context.memory.task(task_id)

    async def get(self, memory_id: str, *, owner: Asker = OPERATOR) -> Memory:
        """Returns the `Memory` of an id. Raises `NotFound`."""
        return await self._context.memory.memory(memory_id, owner)

    async def search(self, query: str, *, owner: Asker = OPERATOR, limit: int = 10) -> list[FoundMemory]:
        """Returns memories and archived passages that match the query, with scores, best first.

        Raises `BadText`.
        """
        check_text(query, "a query", longest=_LONGEST_QUERY)
        return await self._context.memory.search(owner.own, self._query(query, None), limit=limit)

    async def embed_missing(self) -> int:
        """Stores a vector for each memory and passage of all owners that has none of the embedder's model.

        For what was archived before an embedder was configured, and for corrected memories. Returns how many
        were stored. Raises `BadSetting` without an embedder, and what the embedder raises.
        """
        embedder = self._context.memory.embedder
        if embedder is None:
            raise BadSetting("no embedder is configured: set SEGUE_EMBEDDING_URL and SEGUE_EMBEDDING_MODEL")
        stored, after = 0, ""
        while True:
            found = await self._context.memory.without_vector(
                embedder.name, after=after, limit=_EMBEDDED_AT_ONCE
            )
            if not found:
                return stored
            vectors = await embedded(embedder, [learn.searched_text(each) for each in found])
            stored += await self._context.store.commit(learn.keep_vectors, found, vectors)
            after = found[-1].id

    async def update(
        self,
        memory_id: str,
        *,
        content: str | None = None,
        kind: MemoryKind | str | None = None,
        topic: str | None = None,
        owner: Asker = OPERATOR,
    ) -> Memory:
        """Corrects a memory and returns it; its confidence becomes 100.

        Raises `NotFound`, `BadText`, `BadSetting`.
        """
        memory = await self._context.memory.memory(memory_id, owner)
        if memory.kind is MemoryKind.PASSAGE:
            raise NotFound(f"there is no memory {memory_id}")
        if kind is not None and kind not in KNOWN:
            raise BadSetting(f"a memory is one of {', '.join(KNOWN)}, got {kind!r}")
        changed = replace(
            memory,
            content=memory.content
            if content is None
            else check_text(content, "a memory", longest=_LONGEST_MEMORY),
            kind=memory.kind if kind is None else MemoryKind(kind),
            topic=memory.topic if topic is None else check_text(topic, "a topic", longest=200),
            confidence=100,
            updated_at=self._context.clock.ms(),
        )
        await self._context.store.commit(learn.change, changed)
        return changed

    async def delete(self, memory_id: str, *, owner: Asker = OPERATOR) -> None:
        """Deletes a memory. Raises `NotFound`."""
        memory = await self._context.memory.memory(memory_id, owner)
        await self._context.store.commit(learn.forget, memory, self._context.clock.ms())

    async def delete_all(self, memories: Sequence[Memory]) -> int:
        """Deletes memories that repeat others, and returns how many were deleted."""
        return await self._context.store.commit(learn.consolidate, memories, self._context.clock.ms())

    async def owners(self) -> AsyncIterator[Owner]:
        """Yields the owners that have memories."""
        async for owner in self._context.memory.owners():
            yield owner

    async def context(
        self,
        key: SessionRef,
        *,
        asked: str = "",
        token_budget: int = 128_000,
        view: View = View.FULL,
        owner: Asker = OPERATOR,
    ) -> Context:
        """Returns what a model would be given of a session if `asked` were asked now, with token counts.

        Raises `NotFound`.
        """
        session: Session = await self._context.session(key, owner)
        return await assemble(
            self._context.memory,
            session,
            asked=self._query(asked, session),
            token_budget=token_budget,
            view=view,
        )

    def _query(self, text: str, session: Session | None) -> MemoryQuery:
        return memory_query(text, self._context.clock.ms(), self._context.zone_in(session))

    async def auto_commit_index(self, *, limit: int = _MOST_MEMBERS) -> Index:
        """Returns the sessions of all owners that will be archived after a silence, and when they changed.

        Each of the `members` has `owner`, `key` and `since`. `changed_at` is the moment when a session last
        joined them or was archived, None if there was none. A message in a session that waits already does
        not change it, nor does a session that is deleted or loses its policy.
        """
        members = (
            await self._context.memory.awaiting_commit(limit) if self._context.settings.idle_commits else []
        )
        moments = [each.since for each in members]
        if (left := await self._context.memory.last_put_away()) is not None:
            moments.append(left)
        # After a failed attempt, a session's next attempt lies later than its silence.
        changed_at = min(max(moments), self._context.clock.ms()) if moments else None
        return Index(members=members, changed_at=changed_at)

    async def list(
        self, *, owner: Asker = OPERATOR, limit: int = 100, before: PageStart = NEWEST
    ) -> list[Memory]:
        """Returns a user's memories, newest first."""
        return await self._context.memory.memories(owner.own, limit=limit, before=before)


def _to_json(done: Result[CommitOutcome]) -> Mapping[str, Any]:
    return asdict(done.value)


def _from_json(data: Mapping[str, Any]) -> Transaction[Result[CommitOutcome]]:
    yield from ()
    return Result(value=CommitSkipped(**data) if "reason" in data else ArchiveMade(**data))
