"""Workforce: creates the workers of a process, runs them, and stops them in order."""

import asyncio
import logging
from collections.abc import Iterable
from typing import Protocol

from segue.errors import DatabaseGone, StoreUnavailable
from segue.kernel.transactions.lane import Pool
from segue.kernel.workers.archivist import Archivist
from segue.kernel.workers.courier import Courier
from segue.kernel.workers.day_mover import DayMover
from segue.kernel.workers.day_notices import DayNotices
from segue.kernel.workers.indexer import Indexer
from segue.kernel.workers.keeper import Keeper
from segue.kernel.workers.live_preview import LivePreview
from segue.kernel.workers.pruner import Pruner
from segue.kernel.workers.reaper import Reaper
from segue.kernel.workers.runner import Runner
from segue.kernel.workers.timer import Timer
from segue.kernel.workers.worker_context import WorkerContext
from segue.model.channel import Channel, Reception

_log = logging.getLogger(__name__)


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
    """Workers hand over through rows and the bell; no worker depends on another."""

    def __init__(self, context: WorkerContext) -> None:
        self.context = context
        self.turns = context.turns
        self._grace = context.settings.shutdown_grace_seconds
        self._stopped = asyncio.Event()
        self._database_gone: DatabaseGone | None = None
        self.user_runner = Runner(context, Pool.USER, context.settings.user_runners)
        self.runner = Runner(context, Pool.SCHEDULE, context.settings.runners)
        self.timer = Timer(context)
        self.keeper = Keeper(context)
        self.courier = Courier(context)
        self.reaper = Reaper(context, self.courier.reclaim_expired)
        self.archivist = Archivist(context)
        self.indexer = Indexer(context)
        self.pruner = Pruner(context)
        self.day_mover = DayMover(context)
        self.day_notices = DayNotices(context)
        self._previews = [
            LivePreview(context, channel)
            for channel in (context.channels or {}).values()
            if channel.capabilities.edits and not channel.capabilities.stored
        ]

    async def run(self, listening: Iterable[Worker] = ()) -> None:
        """Run until cancelled. Then no new work starts, and running work gets the grace period to end.

        Raises `DatabaseGone` if the database was removed; then there is no grace, as nothing can be stored.
        """
        async with asyncio.TaskGroup() as group:
            by_the_clock = (self.timer, self.reaper, self.indexer, self.pruner)
            of_days = (self.day_mover, self.day_notices)
            workers: tuple[Worker, ...] = (*by_the_clock, *of_days, *self._previews, *listening)
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
            await self.context.pause(self.context.tuning.retry_ms)

    async def _wait_or_cancel(self, closed: list[asyncio.Task[None]]) -> None:
        _, slow = await asyncio.wait(closed, timeout=self._grace)
        for task in slow:
            task.cancel()
        await asyncio.wait(closed)
