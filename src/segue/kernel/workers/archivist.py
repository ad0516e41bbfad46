"""The archivist: sessions whose moment has come are committed, and archives are learned from.

To commit is one short transaction. To learn may take a model's minutes, so it has a task with a lease of its
own and takes no place in the lane: nobody waits for it.

Invariants
  - of a session, archives are learned from in their order; one that fails does not hold up the next
  - whoever lost a task's lease writes nothing: a step is taken once
"""

import asyncio
import logging
import random

from segue.errors import LeaseLost, NotFound
from segue.kernel.live.bell import Bell, Name
from segue.kernel.live.hub import Hub
from segue.kernel.transactions import archive as commit
from segue.kernel.transactions import learn
from segue.kernel.transactions.archive import ArchiveMade
from segue.memory.extraction import Extractor, Lesson, Material
from segue.memory.passages import exchanges
from segue.memory.reader import MemoryReader
from segue.model.memory import Memory, MemoryKind, Task, TaskState
from segue.model.policy import backoff
from segue.model.records import Ids, Owner
from segue.model.redaction import redact
from segue.model.text_checks import clean
from segue.model.transcript import Message, in_context_order
from segue.store.store import Store
from segue.times.clock import Clock

_log = logging.getLogger(__name__)

MOST_AT_ONCE = 200
MOST_TRIES = 3
TIMEOUT_SECONDS = 120.0
_LEASE_MS = 300_000
"""Longer than two steps may take: what is still leased then was lost with its worker."""
_KNOWN = 50
"""Memories that an extractor is told of."""
_MOST_LESSONS = 50
_LONGEST_TOPIC = 200
_LONGEST_LESSON = 2_000
_LONGEST_ERROR = 500


class Archivist:
    def __init__(
        self,
        store: Store,
        clock: Clock,
        bell: Bell,
        hub: Hub,
        ids: Ids,
        rng: random.Random,
        *,
        holder: str,
        extractor: Extractor,
        idle_commits: bool,
        check_ms: int,
    ) -> None:
        self._store = store
        self._shelf = MemoryReader(store)
        self._clock = clock
        self._bell = bell
        self._hub = hub
        self._ids = ids
        self._rng = rng
        self._holder = holder
        self._extractor = extractor
        self._idle_commits = idle_commits
        self._check_ms = check_ms
        self._closing = False

    async def run(self) -> None:
        """Until closed; then what is being learned is seen through."""
        while not self._closing:
            if not await self.step() and not self._closing:
                await self._rest()

    async def _rest(self) -> None:
        now = self._clock.ms()
        until = safety = now + self._check_ms
        soonest = await self._shelf.next_look()
        # What is due and was not taken is somebody else's, or waits for its turn: no use to hurry.
        if soonest is not None and soonest > now:
            until = min(safety, soonest)
        while not await self._bell.wait(Name.ARCHIVIST, until):
            soonest = await self._shelf.next_look()
            until = safety if soonest is None else min(safety, soonest)

    def close(self) -> None:
        """Take nothing more."""
        self._closing = True
        self._bell.ring(Name.ARCHIVIST)

    async def step(self) -> int:
        """Commit what is due and learn from what waits; how much that was."""
        await self._take_back_expired()
        now = self._clock.ms()
        due = await self._shelf.due_commits(now, MOST_AT_ONCE)
        looked = 0
        for session_id in due:
            looked += await self._look(session_id, now)
        task_at = await self._shelf.next_task()
        if task_at is None or task_at > now:
            return looked
        tasks = await self._store.commit(
            learn.lease,
            holder=self._holder,
            lease_ms=_LEASE_MS,
            lease_now=self._store.lease_now(),
            now=now,
        )
        async with asyncio.TaskGroup() as group:
            for task in tasks:
                group.create_task(self._see_through(task))
        return looked + len(tasks)

    async def _look(self, session_id: str, now: int) -> bool:
        """Whether its moment has passed, by a commit or by a pause until the next try."""
        try:
            done = await self._store.commit(
                commit.look, session_id, now, task_id=self._ids(now), idle_enabled=self._idle_commits
            )
        except Exception as error:
            _log.warning("session %s could not be committed", session_id, exc_info=error)
            return await self._record(session_id, _told(error), now)
        if isinstance(done, ArchiveMade):
            self._hub.publish(done.events)
        return True

    async def _record(self, session_id: str, error: str, now: int) -> bool:
        try:
            await self._store.commit(commit.failed, session_id, error, now)
        except Exception as second:
            _log.debug("nor could it be said of session %s", session_id, exc_info=second)
            return False
        return True

    async def _see_through(self, task: Task) -> None:
        try:
            await self._learn(task)
        except asyncio.CancelledError:
            # Nobody else would take it before its lease has run out.
            await self._put_back(task, self._clock.ms(), "its worker was stopped")
            raise
        except LeaseLost as lost:
            _log.warning("task %s was let go: %s", task.id, lost)
        except NotFound as gone:
            _log.warning("task %s has nothing to read: %s", task.id, gone)
        except Exception as error:
            await self._not_learned(task, error)

    async def _learn(self, task: Task) -> None:
        archive = await self._shelf.archive(task.session_id, task.archive_n)
        material = await self._material(task)
        if archive.summary is None:
            async with asyncio.timeout(TIMEOUT_SECONDS):
                summary = await self._extractor.summarise(material)
            await self._store.commit(learn.sum_up, task, summary, self._clock.ms())
        async with asyncio.timeout(TIMEOUT_SECONDS):
            lessons = await self._extractor.learn(material)
        now = self._clock.ms()
        said = {message.seq: message for message in material.spoken}
        memories = [
            self._memory(task, lesson, said[lesson.source_seq], now)
            for lesson in lessons[:_MOST_LESSONS]
            if lesson.source_seq in said and lesson.content.strip() and lesson.topic.strip()
        ]
        passages = [self._passage(task, first, words, now) for first, words in exchanges(material.spoken)]
        await self._store.commit(learn.learn, task, memories, passages, now, extractor=self._extractor.name)

    async def _material(self, task: Task) -> Material:
        archive = await self._shelf.archive(task.session_id, task.archive_n)
        log = await self._shelf.log(task.session_id, after=archive.first_seq - 1, until=archive.last_seq)
        earlier = await self._shelf.summed_up(task.session_id, before=archive.n)
        known = await self._shelf.memories(task.owner, limit=_KNOWN)
        return Material(
            messages=list(in_context_order(log)),
            earlier=earlier.summary if earlier else None,
            known=known,
        )

    async def _not_learned(self, task: Task, error: Exception) -> None:
        now = self._clock.ms()
        reason = _told(error, task.stage)
        _log.warning(
            "archive %d of %s was not learned from", task.archive_n, task.session_key, exc_info=error
        )
        if task.attempt < MOST_TRIES:
            pause = round(backoff(task.attempt, self._rng).total_seconds() * 1000)
            await self._put_back(task, now + min(pause, 8_000), reason)
            return
        try:
            await self._store.commit(learn.give_up, task, reason, now)
        except LeaseLost as lost:
            _log.warning("task %s was let go: %s", task.id, lost)

    async def _put_back(self, task: Task, not_before: int, reason: str) -> None:
        try:
            await self._store.commit(learn.put_back, task, not_before, reason, self._clock.ms())
        except LeaseLost as lost:
            _log.warning("task %s was let go: %s", task.id, lost)

    async def _take_back_expired(self) -> None:
        """Tasks whose worker was lost: tried again, until it has been often enough."""
        for task in await self._shelf.expired_tasks(MOST_AT_ONCE):
            now = self._clock.ms()
            try:
                if task.state is TaskState.CANCELLING:
                    reason = "cancelled by request"
                    await self._store.commit(learn.give_up, task, reason, now, state=TaskState.CANCELLED)
                elif task.attempt >= MOST_TRIES:
                    await self._store.commit(learn.give_up, task, "its worker was lost", now)
                else:
                    await self._store.commit(learn.put_back, task, now, "its worker was lost", now)
            except LeaseLost:
                continue

    def _memory(self, task: Task, lesson: Lesson, source: Message, now: int) -> Memory:
        return Memory(
            id=self._ids(now),
            owner=task.owner,
            kind=lesson.kind,
            topic=lesson.topic.strip()[:_LONGEST_TOPIC],
            content=lesson.content.strip()[:_LONGEST_LESSON],
            confidence=max(0, min(100, lesson.confidence)),
            session_id=task.session_id,
            archive_n=task.archive_n,
            source_seq=lesson.source_seq,
            created_at=source.at,
            updated_at=source.at,
        )

    def _passage(self, task: Task, first: Message, words: str, now: int) -> Memory:
        place = f"{task.session_id}-{first.seq:x}"
        return Memory(
            id=f"passage-{place}",
            owner=Owner(*task.owner),
            kind=MemoryKind.PASSAGE,
            topic=f"passage {place}",
            content=words,
            confidence=100,
            session_id=task.session_id,
            archive_n=task.archive_n,
            source_seq=first.seq,
            created_at=first.at,
            updated_at=first.at,
        )


def _told(error: Exception, *stage: str) -> str:
    """As it may be shown: short, and without keys."""
    words = redact(": ".join((*stage, str(error) or type(error).__name__)))
    return clean(words)[:_LONGEST_ERROR]
