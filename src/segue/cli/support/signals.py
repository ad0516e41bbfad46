"""Being told to stop: once to end in order, twice to end at once."""

import asyncio
import logging
import signal
from collections.abc import Iterator
from contextlib import contextmanager

from segue.cli.support.event_loop import freeze_loaded_objects
from segue.errors import DatabaseGone
from segue.kernel.kernel import Kernel

_log = logging.getLogger(__name__)

_SIGNALS = (signal.SIGTERM, signal.SIGINT)


class StopSignals:
    """What the signals said."""

    def __init__(self) -> None:
        self.to_stop = asyncio.Event()
        self.to_hurry = asyncio.Event()

    def tell(self) -> None:
        (self.to_hurry if self.to_stop.is_set() else self.to_stop).set()


@contextmanager
def stop_signals() -> Iterator[StopSignals]:
    """SIGTERM and SIGINT are words to us while this is open, and no longer the end of the process."""
    loop = asyncio.get_running_loop()
    told = StopSignals()
    before = {each: signal.signal(each, lambda *_: loop.call_soon_threadsafe(told.tell)) for each in _SIGNALS}
    try:
        yield told
    finally:
        for each, handler in before.items():
            signal.signal(each, handler)


async def work_until_stopped(
    kernel: Kernel, told: StopSignals, *, listen: bool = False
) -> DatabaseGone | None:
    """Run the workers; `listen` to the channels, as one process of all does.

    Told to stop, they take no new work and see their turns through within the grace; told to hurry, what
    still runs is handed back at once. Returned is what ended them before they were told, if anything did.
    """
    freeze_loaded_objects()
    async with asyncio.TaskGroup() as group:
        workers = group.create_task(_work(kernel, listen))
        told_to_stop = group.create_task(told.to_stop.wait())
        await asyncio.wait([workers, told_to_stop], return_when=asyncio.FIRST_COMPLETED)
        if workers.done():
            told_to_stop.cancel()
            return workers.result()
        _log.info("stopping: no new work is taken, %d turns are under way", len(kernel.workers.turns))
        workers.cancel()
        hurry = group.create_task(_cancel_when(told.to_hurry, workers))
        await asyncio.wait([workers])
        hurry.cancel()
    return None


async def _work(kernel: Kernel, listen: bool) -> DatabaseGone | None:
    try:
        await kernel.run(listen=listen)
    except DatabaseGone as gone:
        return gone
    return None


async def _cancel_when(event: asyncio.Event, task: asyncio.Task[DatabaseGone | None]) -> None:
    await event.wait()
    task.cancel()
