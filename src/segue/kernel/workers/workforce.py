"""Workforce: creates the workers of a process, runs them, and stops them in order."""

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

_RETRY_MS = 1000


class Worker(Protocol):
    async def run(self) -> None: ...


class ChannelListener:
    """Receives messages from a channel."""

    def __init__(self, channel: Channel, take: Reception) -> None:
        self._channel = channel
        self._take = take

    async def run(self) -> None:
        await self._channel.receive(self._take)


class Workforce:
    """Workers hand over through rows and the bell, or a seat; no worker depends on another."""

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
        self._stopped = asyncio.Event()
        self._database_gone: DatabaseGone | None = None
        self.turns = RunningTurns()
        context = WorkerContext(
            store=store,
            clock=clock,
            bell=bell,
            hub=hub,
            ids=ids,
            rng=rng,
            turns=self.turns,
            crash_suspects=CrashSuspects(clock),
            agent=agent,
            functions=functions,
            evaluate_response=evaluate_response,
            stored=None if by_name is None else stored_names(by_name.values()),
            holder=name,
            lease_ms=lease_ms,
        )
        self.user_runner = Runner(context, Pool.USER, settings.user_runners)
        self.runner = Runner(context, Pool.SCHEDULE, settings.runners)
        self.timer = _timer(context, settings, self.runner)
        self.keeper = Keeper(
            store, clock, bell, hub, self.turns, holder=name, lease_ms=lease_ms, outbox=context.outbox
        )
        self.courier = _courier(context, by_name, settings)
        self.reaper = _reaper(context, self.courier)
        self.archivist = _archivist(context, extractor, settings)
        self.pruner = Pruner(store, clock, bell, retention_days=settings.retention_days)

    async def run(self, listening: Iterable[Worker] = ()) -> None:
        """Run until cancelled. Then no new work starts, and running work gets the grace period to end.

        Raises `DatabaseGone` if the database was removed; then there is no grace, as nothing can be stored.
        """
        async with asyncio.TaskGroup() as group:
            workers: tuple[Worker, ...] = (self.timer, self.reaper, self.pruner, *listening)
            loops = [group.create_task(self._keep_running(worker)) for worker in workers]
            keeper = group.create_task(self._keep_running(self.keeper))
            runners = [group.create_task(runner.run()) for runner in (self.user_runner, self.runner)]
            archivist = group.create_task(self._keep_running(self.archivist))
            courier = group.create_task(self.courier.run())
            try:
                await self._stopped.wait()
                self._grace = 0
            finally:
                for task in loops:
                    task.cancel()
                self.user_runner.close()
                self.runner.close()
                self.archivist.close()
                await self._wait_or_cancel([*runners, archivist])
                self.courier.close()  # after the runners, so that the last answers can be sent
                await self._wait_or_cancel([courier])
                keeper.cancel()
        if self._database_gone is not None:
            raise self._database_gone

    async def _keep_running(self, worker: Worker) -> None:
        """Restart a worker that failed, after a pause: an outage or a bad row must not end it."""
        while True:
            try:
                return await worker.run()
            except DatabaseGone as error:
                self._database_gone = error
                self._stopped.set()
                return None
            except StoreUnavailable as error:
                _log.warning("store unreachable, retrying: %s: %s", type(worker).__name__, error)
            except Exception:
                _log.exception("worker failed, restarting: %s", type(worker).__name__)
            await self._clock.wait(asyncio.Event(), self._clock.ms() + _RETRY_MS)

    async def _wait_or_cancel(self, closed: list[asyncio.Task[None]]) -> None:
        _, slow = await asyncio.wait(closed, timeout=self._grace)
        for task in slow:
            task.cancel()
        await asyncio.wait(closed)


def _timer(context: WorkerContext, settings: Settings, runner: Runner) -> Timer:
    return Timer(
        context.store,
        context.clock,
        context.bell,
        context.hub,
        context.ids,
        runner,
        patience_ms=round(settings.patience_seconds * 1000),
        runs_per_job=settings.runs_per_job,
        zone=settings.timezone or "UTC",
        unified=settings.unified_session,
    )


def _courier(context: WorkerContext, channels: Mapping[str, Channel] | None, settings: Settings) -> Courier:
    return Courier(
        context.store,
        context.clock,
        context.bell,
        context.hub,
        channels,
        holder=context.holder,
        lease_ms=context.lease_ms,
        send_seconds=settings.send_timeout_seconds,
        unified=settings.unified_session,
    )


def _reaper(context: WorkerContext, courier: Courier) -> Reaper:
    return Reaper(
        context.store,
        context.clock,
        context.bell,
        context.hub,
        holder=context.holder,
        lease_ms=context.lease_ms,
        outbox=context.outbox,
        deliveries=courier.reclaim_expired,
    )


def _archivist(context: WorkerContext, extractor: Extractor, settings: Settings) -> Archivist:
    return Archivist(
        context.store,
        context.clock,
        context.bell,
        context.hub,
        context.ids,
        context.rng,
        holder=context.holder,
        extractor=extractor,
        idle_commits=settings.idle_commits,
        check_ms=round(settings.commit_check_seconds * 1000),
    )
