"""Remembering: how a session is put away, what became of it, and what is known of its user."""

from collections.abc import Sequence
from dataclasses import replace

from segue.errors import BadSetting, NotFound
from segue.kernel.api.base import OPERATOR, ApiBase
from segue.kernel.live.bell import Name
from segue.kernel.transactions import archive as commit
from segue.kernel.transactions import learn
from segue.kernel.transactions.archive import ArchiveMade, Result
from segue.kernel.transactions.learn import Undone
from segue.memory.model_context import Context, assemble
from segue.memory.reader import MemoryReader
from segue.model.action import View
from segue.model.auto_commit import MOST_KEPT
from segue.model.memory import KNOWN, Archive, FoundMemory, Index, Memory, MemoryKind, Task
from segue.model.records import NEWEST, Asker, Place, Session
from segue.model.text_checks import check_text
from segue.model.transcript import Message, message_of

_LONGEST_MEMORY = 2_000
_LONGEST_QUERY = 2_000
_MOST_MEMBERS = 100_000


class MemoryApi(ApiBase):
    shelf: MemoryReader

    async def commit(
        self, key: str, *, keep_recent_count: int | None = None, owner: Asker = OPERATOR
    ) -> Result:
        """Put away what has settled, all but the newest messages that are kept: a `Committed` with `task_id` and
        `archive_n`, or a `Skipped` with its reason.
        """
        if keep_recent_count is not None and not 0 <= keep_recent_count <= MOST_KEPT:
            raise BadSetting(f"keep_recent_count is from 0 to {MOST_KEPT:,}, got {keep_recent_count!r}")
        session = await self.session(key, owner=owner)
        now = self.clock.ms()
        done = await self.store.commit(
            commit.commit, session.id, now, task_id=self.ids(now), keep=keep_recent_count
        )
        if isinstance(done, ArchiveMade):
            self.hub.publish(done.events)
            self.bell.ring(Name.ARCHIVIST)
        return done

    async def archives(
        self, key: str, *, owner: Asker = OPERATOR, limit: int = 100, before: int | None = None
    ) -> list[Archive]:
        """The archives of a session, newest first; those numbered below `before`."""
        return await self.shelf.archives(
            (await self.session(key, owner=owner)).id, limit=limit, before=before
        )

    async def archive(self, key: str, n: int, *, owner: Asker = OPERATOR) -> Archive:
        """One of them: its stretch of the log, its state and its summary."""
        return await self.shelf.archive((await self.session(key, owner=owner)).id, n)

    async def archived(self, key: str, n: int, *, owner: Asker = OPERATOR) -> list[Message]:
        """Its messages, in the order of the log."""
        archive = await self.archive(key, n, owner=owner)
        log = await self.shelf.log(archive.session_id, after=archive.first_seq - 1, until=archive.last_seq)
        return [message for event in log if (message := message_of(event))]

    async def undo(self, key: str, n: int, *, owner: Asker = OPERATOR) -> Undone:
        """Take back what it taught memory. What was changed since stays."""
        archive = await self.archive(key, n, owner=owner)
        return await self.store.commit(learn.undo, archive, self.clock.ms())

    async def task(self, task_id: str, *, owner: Asker = OPERATOR) -> Task:
        """One of them."""
        task = await self.shelf.task(task_id)
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
        """The tasks that learn from archives, newest first."""
        return await self.shelf.tasks(owner, limit=limit, before=before, state=state, session_key=session_key)

    async def cancel_task(self, task_id: str, *, owner: Asker = OPERATOR) -> Task:
        """One that waits is cancelled at once, one that runs when it next looks."""
        await self.task(task_id, owner=owner)
        await self.store.commit(learn.cancel, task_id, self.clock.ms())
        return await self.shelf.task(task_id)

    async def memories(
        self, *, owner: Asker = OPERATOR, limit: int = 100, before: Place = NEWEST
    ) -> list[Memory]:
        """What is known of a user, the newest first."""
        return await self.shelf.memories(owner.own, limit=limit, before=before)

    async def memory(self, memory_id: str, *, owner: Asker = OPERATOR) -> Memory:
        """One memory."""
        return await self.shelf.memory(memory_id, owner)

    async def recollect(self, query: str, *, owner: Asker = OPERATOR, limit: int = 10) -> list[FoundMemory]:
        """Memories and archived passages that share words with the query, the best first, each with its score."""
        check_text(query, "a query", longest=_LONGEST_QUERY)
        return await self.shelf.search(owner.own, query, limit=limit)

    async def change_memory(
        self,
        memory_id: str,
        *,
        content: str | None = None,
        kind: MemoryKind | str | None = None,
        topic: str | None = None,
        owner: Asker = OPERATOR,
    ) -> Memory:
        """Correct a memory. What a person says is certain."""
        memory = await self.shelf.memory(memory_id, owner)
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
            updated_at=self.clock.ms(),
        )
        await self.store.commit(learn.change, changed)
        return changed

    async def forget(self, memory_id: str, *, owner: Asker = OPERATOR) -> None:
        """Forget it."""
        memory = await self.shelf.memory(memory_id, owner)
        await self.store.commit(learn.forget, memory, self.clock.ms())

    async def fold(self, duplicates: Sequence[Memory]) -> int:
        """Forget memories that others say again; the dream calls it."""
        return await self.store.commit(learn.consolidate, duplicates, self.clock.ms())

    async def context(
        self,
        key: str,
        *,
        asked: str = "",
        token_budget: int = 128_000,
        view: View = View.FULL,
        owner: Asker = OPERATOR,
    ) -> Context:
        """What a model would be given of a session if this were asked in it now, with token counts."""
        session: Session = await self.session(key, owner=owner)
        return await assemble(self.shelf, session, asked=asked, token_budget=token_budget, view=view)

    async def auto_commit_index(self, *, limit: int = _MOST_MEMBERS) -> Index:
        """The sessions of all owners that wait for a silence to be committed (`members`, each with `owner`,
        `key` and `since`), and when somebody last joined them or was committed (`changed_at`, None if nobody
        ever was). It does not move with the messages of those who wait already; a session that is deleted, or
        whose policy is taken away, leaves no moment behind.
        """
        members = await self.shelf.awaiting_commit(limit) if self.settings.idle_commits else []
        moments = [each.since for each in members]
        if (left := await self.shelf.last_put_away()) is not None:
            moments.append(left)
        # One whose commit failed is armed for longer than its silence.
        changed_at = min(max(moments), self.clock.ms()) if moments else None
        return Index(members=members, changed_at=changed_at)
