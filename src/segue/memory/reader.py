"""Memory reader: reads archives, tasks and memories from the store as records. Transactions write them."""

from collections.abc import AsyncIterator
from operator import itemgetter

from segue.errors import NotFound
from segue.memory.embedding import Embedder
from segue.memory.ranked_search import MemoryQuery, RankedSearch
from segue.model.memory import Archive, AwaitingCommit, FoundMemory, Memory, Task
from segue.model.records import NEWEST, Asker, Event, Owner, PageStart
from segue.store import queries
from segue.store.reads import Reads, owned_by, page
from segue.store.rows import core as rows
from segue.store.rows import memory as memory_rows
from segue.store.store import Store

_ALL = 1 << 62
_NEWEST_TASK = "~"
"""After any id."""


class MemoryReader(Reads):
    def __init__(self, store: Store, embedder: Embedder | None = None) -> None:
        super().__init__(store.database)
        self._store = store
        self.embedder = embedder

    async def archives(self, session_id: str, *, limit: int, before: int | None = None) -> list[Archive]:
        before = _ALL if before is None else before
        query = queries.archives.newest_first
        return await self._all(memory_rows.archive, query, session_id=session_id, before=before, limit=limit)

    async def archive(self, session_id: str, n: int) -> Archive:
        what, query = f"archive {n} of this session", queries.archives.by_n
        return await self._one(what, memory_rows.archive, query, session_id=session_id, n=n)

    async def summed_up(self, session_id: str, *, before: int = _ALL) -> Archive | None:
        """The newest archive that has a summary. The summary covers the archives before it too."""
        query = queries.archives.with_summary
        return await self._first(memory_rows.archive, query, session_id=session_id, before=before)

    async def log(self, session_id: str, *, after: int, until: int = _ALL, limit: int = _ALL) -> list[Event]:
        """The messages, and the starts and ends of turns, in the order of the log."""
        return await self._all(
            rows.event_with_replacement,
            queries.events.between,
            session_id=session_id,
            after=after,
            until=until,
            limit=limit,
        )

    async def newest(self, session_id: str, *, after: int, before: int | None, limit: int) -> list[Event]:
        """The newest events of `log`."""
        before = _ALL if before is None else before
        return await self._store.newest_events(session_id, after=after, before=before, limit=limit)

    async def task(self, task_id: str) -> Task:
        return await self._one(f"task {task_id}", memory_rows.task, queries.tasks.by_id, id=task_id)

    async def tasks(
        self, asker: Asker, *, limit: int, before: str | None = None, state: str = "", session_key: str = ""
    ) -> list[Task]:
        of_user, of_all = queries.tasks.newest_first, queries.tasks.newest_in_account
        return await self._all(
            memory_rows.task,
            of_user if isinstance(asker, Owner) else of_all,
            **owned_by(asker.own),
            before_id=before or _NEWEST_TASK,
            state=state,
            session_key=session_key,
            limit=limit,
        )

    async def memories(self, owner: Owner, *, limit: int, before: PageStart = NEWEST) -> list[Memory]:
        """The owner's memories, newest first, without passages, which only search returns."""
        query = queries.memories.newest_first
        return await self._all(memory_rows.memory, query, **owned_by(owner), **page(before), limit=limit)

    async def owners(self) -> AsyncIterator[Owner]:
        """The owners that have memories, with one query each."""
        query, owner = queries.memories.next_owner, Owner("", "")
        while (found := await self._first(rows.owner, query, **owned_by(owner))) is not None:
            yield (owner := found)

    async def memory(self, memory_id: str, asker: Asker) -> Memory:
        what = f"memory {memory_id}"
        memory = await self._one(what, memory_rows.memory, queries.memories.by_id, id=memory_id)
        if not asker.reaches(memory.owner):
            raise NotFound(f"there is no {what}")
        return memory

    async def search(self, owner: Owner, query: MemoryQuery, *, limit: int) -> list[FoundMemory]:
        """Memories and archived passages of the owner that match the query, best first."""
        return await RankedSearch(self.database, owner, self.embedder).search(query, limit=limit)

    async def without_vector(self, model: str, *, after: str, limit: int) -> list[Memory]:
        """Memories and passages of all owners that have no vector of this model, ordered by id."""
        query = queries.memories.without_vector
        return await self._all(memory_rows.memory, query, model=model, after_id=after, limit=limit)

    async def awaiting_commit(self, limit: int) -> list[AwaitingCommit]:
        """The sessions that wait for a silence: policy on, a timeout set, and something to archive."""
        found = await self.database.read(queries.sessions.awaiting_commit, {"limit": limit})
        waiting = []
        for row in found:
            policy = rows.auto_commit_policy(row["auto_commit_policy"])
            if policy is not None and policy.enabled and policy.idle_timeout_seconds is not None:
                since = row["commit_at"] - policy.idle_timeout_seconds * 1000
                waiting.append(AwaitingCommit(owner=rows.owner(row), key=row["key"], since=since))
        return waiting

    async def last_put_away(self) -> int | None:
        """When a session of any owner was last archived; None if no task is left to tell."""
        return await self._first(itemgetter("created_at"), queries.tasks.newest)

    async def due_commits(self, now: int, limit: int) -> list[str]:
        return await self._all(itemgetter("id"), queries.sessions.due_to_commit, now=now, limit=limit)

    async def next_look(self) -> int | None:
        """The next moment at which a session may be due to be archived, or a task may be done."""
        commit = await self._first(itemgetter("commit_at"), queries.sessions.next_commit)
        moments = [moment for moment in (commit, await self.next_task()) if moment is not None]
        return min(moments, default=None)

    async def next_task(self) -> int | None:
        """The earliest moment at which a waiting task may be done."""
        return await self._first(itemgetter("not_before"), queries.tasks.next_due)

    async def expired_tasks(self, limit: int) -> list[Task]:
        return await self._all(
            memory_rows.task,
            queries.tasks.expired,
            lease_now=self._store.lease_now(),
            horizon=self._store.horizon(),
            limit=limit,
        )
