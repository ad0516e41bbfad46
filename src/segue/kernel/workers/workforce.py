"""The workers of one process: made together, run together, stopped in order."""

import asyncio
import logging
import random
from collections.abc import Iterable, Mapping
from typing import Protocol

from segue.errors import DatabaseGone, StoreUnavailable
from segue.kernel.live.bell import Bell
from segue.kernel.live.hub import Hub
from segue.kernel.live.running import RunningTurns
from segue.kernel.transactions.crash_suspects import CrashSuspects
from segue.kernel.transactions.lane import Pool
from segue.kernel.workers.archivist import Archivist
from segue.kernel.workers.courier import Courier
from segue.kernel.workers.keeper import Keeper
from segue.kernel.workers.pruner import Pruner
from segue.kernel.workers.reaper import Reaper
from segue.kernel.workers.runner import Runner
from segue.kernel.workers.timer import Timer
from segue.kernel.workers.worker_context import Function, WorkerContext
from segue.memory.extraction import Extractor
from segue.model.agent import Agent
from segue.model.channel import Channel, Reception, stored_names
from segue.model.evaluation import EvaluateResponse
from segue.model.records import Ids
from segue.model.settings import Settings
from segue.store.store import Store
from segue.times.clock import Clock

_log = logging.getLogger(__name__)

_BREATH_MS = 1000


class Worker(Protocol):
    async def run(self) -> None: ...


class ChannelListener:
    """A channel that brings messages in."""

    def __init__(self, channel: Channel, take: Reception) -> None:
        self._channel = channel
        self._take = take

    async def run(self) -> None:
        await self._channel.receive(self._take)


class Workforce:
    """Hand-over between them is a row and a ring, or a seat; none of them knows another."""

    def __init__(
        self,
        store: Store,
        clock: Clock,
        bell: Bell,
        hub: Hub,
        *,
        name: str,
        agent: Agent,
        functions: Mapping[str, Function],
        evaluate_response: EvaluateResponse,
        channels: Iterable[Channel] | None,
        extractor: Extractor,
        settings: Settings,
        ids: Ids,
        rng: random.Random,
    ) -> None:
        by_name = None if channels is None else {channel.name: channel for channel in channels}
        lease_ms = round(settings.lease_seconds * 1000)
        self._clock = clock
        self._grace = settings.shutdown_grace_seconds
        self._gone = asyncio.Event()
        self._lost: DatabaseGone | None = None
        self.turns = RunningTurns()
        crew = WorkerContext(
            store=store,
            clock=clock,
            bell=bell,
            hub=hub,
            ids=ids,
            rng=rng,
            turns=self.turns,
            trial=CrashSuspects(clock),
            agent=agent,
            functions=functions,
            evaluate_response=evaluate_response,
            stored=None if by_name is None else stored_names(by_name.values()),
            holder=name,
            lease_ms=lease_ms,
        )
        self.user_runner = Runner(crew, Pool.USER, settings.user_runners)
        self.runner = Runner(crew, Pool.SCHEDULE, settings.runners)
        self.timer = _timer(crew, settings, self.runner)
        self.keeper = Keeper(
            store, clock, bell, hub, self.turns, holder=name, lease_ms=lease_ms, outbox=crew.outbox
        )
        self.courier = _courier(crew, by_name, settings)
        self.reaper = _reaper(crew, self.courier)
        self.archivist = _archivist(crew, extractor, settings)
        self.pruner = Pruner(store, clock, bell, retention_days=settings.retention_days)

    async def run(self, listening: Iterable[Worker] = ()) -> None:
        """Until cancelled. Then no new work is taken, and what runs has the grace to end.

        A database that is gone ends it too, with `DatabaseGone` and without a grace: nothing can be stored.
        """
        async with asyncio.TaskGroup() as group:
            workers: tuple[Worker, ...] = (self.timer, self.reaper, self.pruner, *listening)
            steady = [group.create_task(self._steadily(worker)) for worker in workers]
            keeper = group.create_task(self._steadily(self.keeper))
            runners = [group.create_task(runner.run()) for runner in (self.user_runner, self.runner)]
            archivist = group.create_task(self._steadily(self.archivist))
            courier = group.create_task(self.courier.run())
            try:
                await self._gone.wait()
                self._grace = 0
            finally:
                for task in steady:
                    task.cancel()
                self.user_runner.close()
                self.runner.close()
                self.archivist.close()
                await self._let_end([*runners, archivist])
                self.courier.close()  # not before: what the last turns said may still go out
                await self._let_end([courier])
                keeper.cancel()
        if self._lost is not None:
            raise self._lost

    async def _steadily(self, worker: Worker) -> None:
        """A database that is away, or one bad row, costs a breath and never the worker."""
        while True:
            try:
                return await worker.run()
            except DatabaseGone as error:
                self._lost = error
                self._gone.set()
                return None
            except StoreUnavailable as error:
                _log.warning("%s waits for the store: %s", type(worker).__name__, error)
            except Exception:
                _log.exception("%s failed and goes on", type(worker).__name__)
            await self._clock.wait(asyncio.Event(), self._clock.ms() + _BREATH_MS)

    async def _let_end(self, closed: list[asyncio.Task[None]]) -> None:
        _, slow = await asyncio.wait(closed, timeout=self._grace)
        for task in slow:
            task.cancel()
        await asyncio.wait(closed)


def _timer(crew: WorkerContext, settings: Settings, runner: Runner) -> Timer:
    return Timer(
        crew.store,
        crew.clock,
        crew.bell,
        crew.hub,
        crew.ids,
        runner,
        patience_ms=round(settings.patience_seconds * 1000),
        runs_per_job=settings.runs_per_job,
        zone=settings.timezone or "UTC",
        unified=settings.unified_session,
    )


def _courier(crew: WorkerContext, channels: Mapping[str, Channel] | None, settings: Settings) -> Courier:
    return Courier(
        crew.store,
        crew.clock,
        crew.bell,
        crew.hub,
        channels,
        holder=crew.holder,
        lease_ms=crew.lease_ms,
        send_seconds=settings.send_timeout_seconds,
        unified=settings.unified_session,
    )


def _reaper(crew: WorkerContext, courier: Courier) -> Reaper:
    return Reaper(
        crew.store,
        crew.clock,
        crew.bell,
        crew.hub,
        holder=crew.holder,
        lease_ms=crew.lease_ms,
        outbox=crew.outbox,
        deliveries=courier.take_back_expired,
    )


def _archivist(crew: WorkerContext, extractor: Extractor, settings: Settings) -> Archivist:
    return Archivist(
        crew.store,
        crew.clock,
        crew.bell,
        crew.hub,
        crew.ids,
        crew.rng,
        holder=crew.holder,
        extractor=extractor,
        idle_commits=settings.idle_commits,
        check_ms=round(settings.commit_check_seconds * 1000),
    )
