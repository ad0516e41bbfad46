"""Archivist: archives sessions when their policy says so, and extracts memories from archives.

Archiving is one short transaction. Learning may take a model minutes, so it is a task with its own lease,
outside the lane: no turn waits for it.

Invariants
  - the archives of a session are learned from in their order; one that fails does not hold up the next
  - a worker that lost a task's lease writes nothing, so each step is stored once
"""

import asyncio
import logging
from collections.abc import Mapping, Sequence

from segue.errors import LeaseLost, NotFound
from segue.kernel.transactions.memory import archive, learn
from segue.kernel.transactions.result import Name
from segue.kernel.workers.worker_context import WorkerContext
from segue.memory.embedding import StoredVector, embedded
from segue.memory.extraction import Lesson, Material
from segue.memory.passages import exchanges
from segue.model.memory import Archive, Memory, MemoryKind, Task, TaskState
from segue.model.policy import backoff
from segue.model.records import Owner
from segue.model.redaction import redact
from segue.model.text_checks import clean
from segue.model.transcript import Message, in_context_order

_log = logging.getLogger(__name__)

MOST_AT_ONCE = 200
MOST_TRIES = 3
TIMEOUT_SECONDS = 120.0
_EMBED_SECONDS = 50.0
_LEASE_MS = 300_000
"""Longer than two steps and the embedding may take: a task that is still leased then has lost its worker."""
_KNOWN = 50
"""Known memories that an extractor is given."""
_MOST_LESSONS = 50
_LONGEST_TOPIC = 200
_LONGEST_LESSON = 2_000
_LONGEST_ERROR = 500


class Archivist:
    def __init__(self, context: WorkerContext) -> None:
        self._context = context
        self._store = context.store
        self._reader = context.memory
        self._clock = context.clock
        self._bell = context.bell
        self._extractor = context.extractor
        self._check_ms = round(context.settings.commit_check_seconds * 1000)
        self._closing = False

    async def run(self) -> None:
        """Archive and learn until closed; then finish the tasks in progress."""
        while not self._closing:
            if not await self.step() and not self._closing:
                await self._wait_for_work()

    async def _wait_for_work(self) -> None:
        safety = self._clock.ms() + self._check_ms
        until = min(safety, await self.next_check_at() or safety)
        while not await self._bell.wait(Name.ARCHIVIST, until):
            soonest = await self._reader.next_look()
            until = safety if soonest is None else min(safety, soonest)

    async def next_check_at(self) -> int | None:
        """When a session or a task will be due next; None if none waits."""
        now = self._clock.ms()
        soonest = await self._reader.next_look()
        # What is due and was not done belongs to another archivist, or waits for an earlier task.
        return now + self._check_ms if soonest is not None and soonest <= now else soonest

    def close(self) -> None:
        """Start nothing more."""
        self._closing = True
        self._bell.ring(Name.ARCHIVIST)

    async def step(self) -> int:
        """Archive sessions that are due and run tasks that wait. Returns how many there were."""
        await self._reclaim_expired()
        now = self._clock.ms()
        due = await self._reader.due_commits(now, MOST_AT_ONCE)
        checked = 0
        for session_id in due:
            checked += await self._archive_if_due(session_id, now)
        task_at = await self._reader.next_task()
        if task_at is None or task_at > now:
            return checked
        tasks = await self._store.commit(
            learn.lease,
            holder=self._context.holder,
            lease_ms=_LEASE_MS,
            lease_now=self._store.lease_now(),
            now=now,
        )
        async with asyncio.TaskGroup() as group:
            for task in tasks:
                group.create_task(self._run_task(task))
        return checked + len(tasks)

    async def _archive_if_due(self, session_id: str, now: int) -> bool:
        """Check one session and archive it if due. True: its `commit_at` was moved on."""
        try:
            done = await self._store.commit(
                archive.look,
                session_id,
                now,
                task_id=self._context.ids(now),
                idle_enabled=self._context.settings.idle_commits,
            )
        except Exception as error:
            _log.warning("archiving failed, retrying: session %s", session_id, exc_info=error)
            return await self._record_failure(session_id, _error_text(error), now)
        if done is not None:
            self._context.announce(done)
        return True

    async def _record_failure(self, session_id: str, error: str, now: int) -> bool:
        try:
            await self._store.commit(archive.failed, session_id, error, now)
        except Exception as another:
            _log.debug("archiving error not recorded: session %s", session_id, exc_info=another)
            return False
        return True

    async def _run_task(self, task: Task) -> None:
        try:
            await self._learn(task)
        except asyncio.CancelledError:
            # Requeue it: no other archivist would take it before its lease expires.
            await self._requeue(task, self._clock.ms(), "its worker was stopped")
            raise
        except LeaseLost as lost:
            _log.warning("lease lost, task abandoned: task %s: %s", task.id, lost)
        except NotFound as gone:
            _log.warning("task abandoned, its archive was deleted: task %s: %s", task.id, gone)
        except Exception as error:
            await self._not_learned(task, error)

    async def _learn(self, task: Task) -> None:
        archived = await self._reader.archive(task.session_id, task.archive_n)
        material = await self._material(task, archived)
        if archived.summary is None:
            async with asyncio.timeout(TIMEOUT_SECONDS):
                summary = await self._extractor.summarise(material)
            await self._store.commit(learn.sum_up, task, summary, self._clock.ms())
        async with asyncio.timeout(TIMEOUT_SECONDS):
            lessons = await self._extractor.learn(material)
        now = self._clock.ms()
        by_seq = {message.seq: message for message in material.spoken}
        memories = [
            self._memory(task, lesson, by_seq[lesson.source_seq], now)
            for lesson in lessons[:_MOST_LESSONS]
            if lesson.source_seq in by_seq and lesson.content.strip() and lesson.topic.strip()
        ]
        passages = [self._passage(task, first, text, now) for first, text in exchanges(material.spoken)]
        vectors = await self._vectors([*memories, *passages])
        await self._store.commit(
            learn.learn, task, memories, passages, now, extractor=self._extractor.name, vectors=vectors
        )

    async def _vectors(self, memories: Sequence[Memory]) -> Mapping[str, StoredVector]:
        """The vectors of their texts, if there is an embedder. Without them, search goes by words."""
        if self._reader.embedder is None:
            return {}
        try:
            async with asyncio.timeout(_EMBED_SECONDS):
                return await embedded(self._reader.embedder, [learn.searched_text(each) for each in memories])
        except Exception as error:
            _log.warning(
                "embedding failed, learning without vectors: %s", type(error).__name__, exc_info=error
            )
            return {}

    async def _material(self, task: Task, archived: Archive) -> Material:
        log = await self._reader.log(task.session_id, after=archived.first_seq - 1, until=archived.last_seq)
        earlier = await self._reader.summed_up(task.session_id, before=archived.n)
        known = await self._reader.memories(task.owner, limit=_KNOWN)
        return Material(
            messages=list(in_context_order(log)),
            earlier=earlier.summary if earlier else None,
            known=known,
        )

    async def _not_learned(self, task: Task, error: Exception) -> None:
        now = self._clock.ms()
        reason = _error_text(error, task.stage)
        _log.warning("learning failed: archive %d of %s", task.archive_n, task.session_key, exc_info=error)
        if task.attempt < MOST_TRIES:
            pause = round(backoff(task.attempt, self._context.rng).total_seconds() * 1000)
            await self._requeue(task, now + min(pause, 8_000), reason)
            return
        try:
            await self._store.commit(learn.give_up, task, reason, now)
        except LeaseLost as lost:
            _log.warning("lease lost, task abandoned: task %s: %s", task.id, lost)

    async def _requeue(self, task: Task, not_before: int, reason: str) -> None:
        try:
            await self._store.commit(learn.requeue, task, not_before, reason, self._clock.ms())
        except LeaseLost as lost:
            _log.warning("lease lost, task abandoned: task %s: %s", task.id, lost)

    async def _reclaim_expired(self) -> None:
        """Requeue tasks whose lease expired; those with `MOST_TRIES` attempts fail."""
        for task in await self._reader.expired_tasks(MOST_AT_ONCE):
            now = self._clock.ms()
            try:
                if task.state is TaskState.CANCELLING:
                    reason = "cancelled by request"
                    await self._store.commit(learn.give_up, task, reason, now, state=TaskState.CANCELLED)
                elif task.attempt >= MOST_TRIES:
                    await self._store.commit(learn.give_up, task, "its worker was lost", now)
                else:
                    await self._store.commit(learn.requeue, task, now, "its worker was lost", now)
            except LeaseLost:
                continue

    def _memory(self, task: Task, lesson: Lesson, source: Message, now: int) -> Memory:
        return Memory(
            id=self._context.ids(now),
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

    def _passage(self, task: Task, first: Message, text: str, now: int) -> Memory:
        passage_key = f"{task.session_id}-{first.seq:x}"
        return Memory(
            id=f"passage-{passage_key}",
            owner=Owner(*task.owner),
            kind=MemoryKind.PASSAGE,
            topic=f"passage {passage_key}",
            content=text,
            confidence=100,
            session_id=task.session_id,
            archive_n=task.archive_n,
            source_seq=first.seq,
            created_at=first.at,
            updated_at=first.at,
        )


def _error_text(error: Exception, *stage: str) -> str:
    """An error as it is stored and shown: short, without secrets."""
    text = redact(": ".join((*stage, str(error) or type(error).__name__)))
    return clean(text)[:_LONGEST_ERROR]
