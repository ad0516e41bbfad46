"""Memory reader: reads archives, tasks and memories from the store as records. Transactions write them."""

from collections.abc import AsyncIterator

from segue.errors import NotFound
from segue.memory.embedding import Embedder
from segue.memory.ranked_search import MemoryQuery, RankedSearch
from segue.model.memory import Archive, AwaitingCommit, FoundMemory, Memory, Task
from segue.model.records import NEWEST, Asker, Event, Owner, PageStart
from segue.store import queries
from segue.store.database import Params, Value
from segue.store.rows import core as rows
from segue.store.rows import memory as memory_rows
from segue.store.store import Store

_ALL = 1 << 62
_NEWEST_TASK = "~"
"""After any id."""


class MemoryReader:
    def __init__(self, store: Store, embedder: Embedder | None = None) -> None:
        self._store = store
        self.embedder = embedder
        self._database = store.database

    async def archives(self, session_id: str, *, limit: int, before: int | None = None) -> list[Archive]:
        params: Params = {
            "session_id": session_id,
            "before": _ALL if before is None else before,
            "limit": limit,
        }
        found = await self._database.read(queries.archives.newest_first, params)
        return [memory_rows.archive(row) for row in found]

    async def archive(self, session_id: str, n: int) -> Archive:
        found = await self._database.read(queries.archives.by_n, {"session_id": session_id, "n": n})
        if not found:
            raise NotFound(f"there is no archive {n} of this session")
        return memory_rows.archive(found[0])

    async def summed_up(self, session_id: str, *, before: int = _ALL) -> Archive | None:
        """The newest archive that has a summary. The summary covers the archives before it too."""
        params: Params = {"session_id": session_id, "before": before}
        found = await self._database.read(queries.archives.with_summary, params)
        return memory_rows.archive(found[0]) if found else None

    async def log(self, session_id: str, *, after: int, until: int = _ALL, limit: int = _ALL) -> list[Event]:
        """The messages, and the starts and ends of turns, in the order of the log."""
        params: Params = {"session_id": session_id, "after": after, "until": until, "limit": limit}
        found = await self._database.read(queries.events.between, params)
        return [rows.event_with_replacement(row) for row in found]

    async def newest(self, session_id: str, *, after: int, before: int | None, limit: int) -> list[Event]:
        """The newest events of `log`."""
        found = await self._store.newest_events(
            session_id, before=_ALL if before is None else before, limit=limit
        )
        return [event for event in found if event.seq > after]

    async def task(self, task_id: str) -> Task:
        found = await self._database.read(queries.tasks.by_id, {"id": task_id})
        if not found:
            raise NotFound(f"there is no task {task_id}")
        return memory_rows.task(found[0])

    async def tasks(
        self, asker: Asker, *, limit: int, before: str | None = None, state: str = "", session_key: str = ""
    ) -> list[Task]:
        params: dict[str, Value] = {
            "account": asker.account,
            "before_id": before or _NEWEST_TASK,
            "state": state,
            "session_key": session_key,
            "limit": limit,
        }
        query = queries.tasks.newest_in_account
        if isinstance(asker, Owner):
            query, params = queries.tasks.newest_first, {**params, "user_id": asker.user}
        return [memory_rows.task(row) for row in await self._database.read(query, params)]

    async def memories(self, owner: Owner, *, limit: int, before: PageStart = NEWEST) -> list[Memory]:
        """The owner's memories, newest first, without passages, which only search returns."""
        params: Params = {
            "account": owner.account,
            "user_id": owner.user,
            "before": before.at,
            "before_id": before.id,
            "limit": limit,
        }
        return [
            memory_rows.memory(row)
            for row in await self._database.read(queries.memories.newest_first, params)
        ]

    async def owners(self) -> AsyncIterator[Owner]:
        """The owners that have memories, with one query each."""
        last = Owner("", "")
        while True:
            params: Params = {"account": last.account, "user_id": last.user}
            found = await self._database.read(queries.memories.next_owner, params)
            if not found:
                return
            last = Owner(found[0]["account"], found[0]["user_id"])
            yield last

    async def memory(self, memory_id: str, asker: Asker) -> Memory:
        found = await self._database.read(queries.memories.by_id, {"id": memory_id})
        if not found or not asker.reaches(memory_rows.memory(found[0]).owner):
            raise NotFound(f"there is no memory {memory_id}")
        return memory_rows.memory(found[0])

    async def search(self, owner: Owner, query: MemoryQuery, *, limit: int) -> list[FoundMemory]:
        """Memories and archived passages of the owner that match the query, best first."""
        return await RankedSearch(self._database, owner, self.embedder).search(query, limit=limit)

    async def without_vector(self, model: str, *, after: str, limit: int) -> list[Memory]:
        """Memories and passages of all owners that have no vector of this model, ordered by id."""
        params: Params = {"model": model, "after_id": after, "limit": limit}
        found = await self._database.read(queries.memories.without_vector, params)
        return [memory_rows.memory(row) for row in found]

    async def awaiting_commit(self, limit: int) -> list[AwaitingCommit]:
        """The sessions that wait for a silence: policy on, a timeout set, and something to archive."""
        found = await self._database.read(queries.sessions.awaiting_commit, {"limit": limit})
        waiting = []
        for row in found:
            policy = rows.auto_commit_policy(row["auto_commit_policy"])
            if policy is not None and policy.enabled and policy.idle_timeout_seconds is not None:
                owner = Owner(row["account"], row["user_id"])
                since = row["commit_at"] - policy.idle_timeout_seconds * 1000
                waiting.append(AwaitingCommit(owner=owner, key=row["key"], since=since))
        return waiting

    async def last_put_away(self) -> int | None:
        """When a session of any owner was last archived; None if no task is left to tell."""
        found = await self._database.read(queries.tasks.newest, {})
        return found[0]["created_at"] if found else None

    async def due_commits(self, now: int, limit: int) -> list[str]:
        found = await self._database.read(queries.sessions.due_to_commit, {"now": now, "limit": limit})
        return [row["id"] for row in found]

    async def next_look(self) -> int | None:
        """The next moment at which a session may be due to be archived, or a task may be done."""
        commit = (await self._database.read(queries.sessions.next_commit, {}))[0]["commit_at"]
        moments = [moment for moment in (commit, await self.next_task()) if moment is not None]
        return min(moments, default=None)

    async def next_task(self) -> int | None:
        """The earliest moment at which a waiting task may be done."""
        moment: int | None = (await self._database.read(queries.tasks.next_due, {}))[0]["not_before"]
        return moment

    async def expired_tasks(self, limit: int) -> list[Task]:
        params: Params = {
            "lease_now": self._store.lease_now(),
            "horizon": self._store.horizon(),
            "limit": limit,
        }
        return [memory_rows.task(row) for row in await self._database.read(queries.tasks.expired, params)]
