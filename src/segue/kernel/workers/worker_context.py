"""Worker context: what the workers of a process share, and how they announce and repeat their writes."""

import asyncio
import logging
import random
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, TypeAlias

from segue.errors import AgentFailed, StoreUnavailable, Undecided
from segue.kernel.live.bell import Bell
from segue.kernel.live.hub import Hub
from segue.kernel.live.observers import Observers
from segue.kernel.live.running import CrashSuspects, RunningTurns
from segue.kernel.transactions.deliveries import Outbox
from segue.kernel.transactions.quiet.held import DefaultHours
from segue.kernel.transactions.result import Name, Result
from segue.memory.extraction import Extractor
from segue.memory.reader import MemoryReader
from segue.model.agent import Agent
from segue.model.channel import Channel, stored_names
from segue.model.evaluation import EvaluateResponse
from segue.model.files import MOST_PARTS, File
from segue.model.records import Ids, Job, Turn
from segue.model.schedule import skipped_until
from segue.model.settings import Settings
from segue.model.states import Outcome
from segue.record import record
from segue.store.database import Begin, T
from segue.store.store import Store
from segue.times.clock import Clock

_log = logging.getLogger(__name__)

Function: TypeAlias = Callable[..., Awaitable[Any]]
"""What a `Call` names: `async def(turn, **arguments)`."""


@record
class WorkerTuning:
    """Batch sizes and pauses that are not user settings; only tests change them."""

    due_jobs: int = 250
    """Jobs per step of the timer, so that the first turns of a flood start while later jobs are taken."""
    expired_lanes: int = 100
    """Lanes per step of the reaper."""
    reaper_pause_ms: int = 1000
    """The longest time between two steps of the reaper."""
    keeper_pause_ms: int = 500
    """The longest time between two steps of the keeper, while a turn runs."""
    watched_pause_ms: int = 100
    """The same while another process follows one of the turns."""
    indexed_sessions: int = 50
    """Sessions per step of the indexer."""
    indexed_messages: int = 100
    """Messages of one session per step of the indexer."""
    indexer_pause_ms: int = 100
    """The shortest time between two steps of the indexer."""
    retry_ms: int = 1000
    """Pause of a worker after a step that failed."""
    write_retry_ms: int = 200
    """First pause before a write is repeated; it doubles up to ten times as much."""


@record
class WorkerContext:
    store: Store
    clock: Clock
    bell: Bell
    hub: Hub
    ids: Ids
    rng: random.Random
    turns: RunningTurns
    crash_suspects: CrashSuspects
    agent: Agent
    functions: Mapping[str, Function]
    evaluate_response: EvaluateResponse
    extractor: Extractor
    memory: MemoryReader
    channels: Mapping[str, Channel] | None
    """By name. None: all clients read the log, and storing a message is sending it."""
    settings: Settings
    holder: str
    """The name under which this process holds leases."""
    observers: Observers
    kernel: Any
    """The kernel itself, which each turn gives to its agent."""
    tuning: WorkerTuning = WorkerTuning()

    @property
    def lease_ms(self) -> int:
        return round(self.settings.lease_seconds * 1000)

    def lane_id(self, now: int) -> str | None:
        """In unified mode, an id for a common session, in case it has to be created."""
        return self.ids(now) if self.settings.unified_session else None

    async def skipped_until(self, job: Job, now: int) -> int:
        """Now, or the slot that was skipped ahead of its time: a new schedule does not run before it."""
        if job.last_outcome is not Outcome.SKIPPED:
            return now
        return skipped_until(await self.store.runs_of_job(job.id, 1), now)

    async def files_of_answer(self, turn: Turn, files: tuple[File, ...]) -> tuple[File, ...]:
        """The files as they are stored. Raises `AgentFailed` unless all are of the turn's sessions."""
        if len(files) > MOST_PARTS:
            raise AgentFailed(f"an answer has at most {MOST_PARTS} files")
        *before, new = files
        found, session_id = await self.store.file(new.id)
        if session_id not in (turn.session_id, turn.via_id):
            raise AgentFailed(f"file {new.id} is of another session; add it to this one with kernel.files")
        return (*before, found)

    def outbox(self, now: int) -> Outbox:
        stored = None if self.channels is None else stored_names(self.channels.values())
        hours = DefaultHours(self.settings.quiet, self.settings.timezone or "UTC")
        return Outbox(stored, self.ids(now), hours)

    def announce(self, result: Result[T]) -> T:
        """Publish the events of a committed transaction and wake its workers. Returns its value."""
        self.hub.publish(result.events)
        if result.ready_at is not None:
            self.store.is_ready(result.ready_at)
        self.bell.ring(*sorted(result.wake))  # in one order, so that a simulated run can be repeated
        if any(event.role or event.type == "stream_end" for event in result.events):
            self.bell.ring(Name.INDEXER, Name.PUSHER)
        return result.value

    async def commit_until_stored(self, subject: str, transaction: Begin[T]) -> T:
        """Repeat a write while the store is unreachable. Its fence decides then whether it is still valid.

        `Undecided` is raised, not retried: the connection was lost during COMMIT, so a repeat could write
        twice.
        """
        first = pause = self.tuning.write_retry_ms
        while True:
            try:
                return await self.store.commit(transaction)
            except Undecided:
                raise
            except StoreUnavailable as error:
                if pause == first:
                    _log.warning("store unreachable, retrying: %s: %s", subject, error)
                await self.pause(pause)
                pause = min(2 * pause, 10 * first)

    async def pause(self, milliseconds: int) -> None:
        await self.clock.wait(asyncio.Event(), self.clock.ms() + milliseconds)
