"""The shelf: what is kept of sessions and users, as records. It reads; who writes is a transaction."""

from collections.abc import AsyncIterator

from segue.errors import NotFound
from segue.memory.search import MOST_ROWS, ranked, sought
from segue.model.memory import Archive, AwaitingCommit, FoundMemory, Memory, Task
from segue.model.records import NEWEST, Asker, Event, Owner, Place
from segue.store import queries
from segue.store.database import Params, Value
from segue.store.rows import core as rows
from segue.store.rows import memory as kept_rows
from segue.store.store import Store

_ALL = 1 << 62
_NEWEST_TASK = "~"
"""After any id."""


class MemoryReader:
    def __init__(self, store: Store) -> None:
        self._store = store
        self._database = store.database

    async def archives(self, session_id: str, *, limit: int, before: int | None = None) -> list[Archive]:
        asked: Params = {
            "session_id": session_id,
            "before": _ALL if before is None else before,
            "limit": limit,
        }
        found = await self._database.read(queries.archives.newest_first, asked)
        return [kept_rows.archive(row) for row in found]

    async def archive(self, session_id: str, n: int) -> Archive:
        found = await self._database.read(queries.archives.by_n, {"session_id": session_id, "n": n})
        if not found:
            raise NotFound(f"there is no archive {n} of this session")
        return kept_rows.archive(found[0])

    async def summed_up(self, session_id: str, *, before: int = _ALL) -> Archive | None:
        """The newest archive that has a summary; what came before it is in there."""
        asked: Params = {"session_id": session_id, "before": before}
        found = await self._database.read(queries.archives.with_summary, asked)
        return kept_rows.archive(found[0]) if found else None

    async def log(self, session_id: str, *, after: int, until: int = _ALL, limit: int = _ALL) -> list[Event]:
        """Messages, and where turns begin and end, in the order of the log."""
        asked: Params = {"session_id": session_id, "after": after, "until": until, "limit": limit}
        return [rows.event(row) for row in await self._database.read(queries.events.between, asked)]

    async def newest(self, session_id: str, *, after: int, before: int | None, limit: int) -> list[Event]:
        """As `log`, the newest of it."""
        found = await self._store.newest_events(
            session_id, before=_ALL if before is None else before, limit=limit
        )
        return [event for event in found if event.seq > after]

    async def task(self, task_id: str) -> Task:
        found = await self._database.read(queries.tasks.by_id, {"id": task_id})
        if not found:
            raise NotFound(f"there is no task {task_id}")
        return kept_rows.task(found[0])

    async def tasks(
        self, asker: Asker, *, limit: int, before: str | None = None, state: str = "", session_key: str = ""
    ) -> list[Task]:
        asked: dict[str, Value] = {
            "account": asker.account,
            "before_id": before or _NEWEST_TASK,
            "state": state,
            "session_key": session_key,
            "limit": limit,
        }
        query = queries.tasks.newest_in_account
        if isinstance(asker, Owner):
            query, asked = queries.tasks.newest_first, {**asked, "user_id": asker.user}
        return [kept_rows.task(row) for row in await self._database.read(query, asked)]

    async def memories(self, owner: Owner, *, limit: int, before: Place = NEWEST) -> list[Memory]:
        """What is known, the newest first. Passages are for search alone."""
        asked: Params = {
            "account": owner.account,
            "user_id": owner.user,
            "before": before.at,
            "before_id": before.id,
            "limit": limit,
        }
        return [
            kept_rows.memory(row) for row in await self._database.read(queries.memories.newest_first, asked)
        ]

    async def owners(self) -> AsyncIterator[Owner]:
        """Those of whom something is known, one look-up each."""
        last = Owner("", "")
        while True:
            asked: Params = {"account": last.account, "user_id": last.user}
            found = await self._database.read(queries.memories.next_owner, asked)
            if not found:
                return
            last = Owner(found[0]["account"], found[0]["user_id"])
            yield last

    async def memory(self, memory_id: str, asker: Asker) -> Memory:
        found = await self._database.read(queries.memories.by_id, {"id": memory_id})
        if not found or not asker.reaches(kept_rows.memory(found[0]).owner):
            raise NotFound(f"there is no memory {memory_id}")
        return kept_rows.memory(found[0])

    async def search(self, owner: Owner, query: str, *, limit: int) -> list[FoundMemory]:
        """Memories and archived passages that share terms with the query, the best first."""
        asked = sought(query)
        if not asked:
            return []
        whose: Params = {"account": owner.account, "user_id": owner.user}
        total = (await self._database.read(queries.memories.count, whose))[0]["found"]
        if not total:
            return []
        terms: Params = {**whose, "terms": rows.list_text(sorted(asked)), "limit": MOST_ROWS}
        matches = await self._database.read(queries.memories.matching, terms)
        held: dict[str, dict[str, int]] = {}
        for row in matches:
            held.setdefault(row["memory_id"], {})[row["term"]] = row["weight"]
        best = ranked(asked, held, total)[: limit * 2]
        found = []
        for memory_id, score in best:
            there = await self._database.read(queries.memories.by_id, {"id": memory_id})
            found += [FoundMemory(memory=kept_rows.memory(row), score=score) for row in there]
        return found[:limit]

    async def awaiting_commit(self, limit: int) -> list[AwaitingCommit]:
        """The sessions that wait for a silence: policy on, a timeout set, and something to put away."""
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
        """When a session of anybody was committed last, as far as tasks are kept."""
        found = await self._database.read(queries.tasks.newest, {})
        return found[0]["created_at"] if found else None

    async def due_commits(self, now: int, limit: int) -> list[str]:
        found = await self._database.read(queries.sessions.due_to_commit, {"now": now, "limit": limit})
        return [row["id"] for row in found]

    async def next_look(self) -> int | None:
        """The next moment at which a session may want to be committed, or a task to be done."""
        commit = (await self._database.read(queries.sessions.next_commit, {}))[0]["commit_at"]
        moments = [moment for moment in (commit, await self.next_task()) if moment is not None]
        return min(moments, default=None)

    async def next_task(self) -> int | None:
        """The moment from which on a task that waits may be done."""
        moment: int | None = (await self._database.read(queries.tasks.next_due, {}))[0]["not_before"]
        return moment

    async def expired_tasks(self, limit: int) -> list[Task]:
        judged: Params = {
            "lease_now": self._store.lease_now(),
            "horizon": self._store.horizon(),
            "limit": limit,
        }
        return [kept_rows.task(row) for row in await self._database.read(queries.tasks.expired, judged)]
