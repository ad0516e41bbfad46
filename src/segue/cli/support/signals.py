"""Stop signals: the first SIGTERM or SIGINT stops gracefully, the second at once."""

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
    """Set by the signals received so far."""

    def __init__(self) -> None:
        self.stop_requested = asyncio.Event()
        self.hurry_requested = asyncio.Event()

    def on_signal(self) -> None:
        (self.hurry_requested if self.stop_requested.is_set() else self.stop_requested).set()


@contextmanager
def stop_signals() -> Iterator[StopSignals]:
    """Catch SIGTERM and SIGINT while the context is open, instead of ending the process."""
    loop = asyncio.get_running_loop()
    signals = StopSignals()
    previous = {
        each: signal.signal(each, lambda *_: loop.call_soon_threadsafe(signals.on_signal))
        for each in _SIGNALS
    }
    try:
        yield signals
    finally:
        for each, handler in previous.items():
            signal.signal(each, handler)


async def work_until_stopped(
    kernel: Kernel, signals: StopSignals, *, listen: bool = False
) -> DatabaseGone | None:
    """Run the workers. With `listen`, receive messages from the channels too; only one process may do that.

    After the first signal the workers start no new turns, and running turns have the grace period to end.
    After the second, running turns are cancelled at once. Returns DatabaseGone if that ended the workers.
    """
    freeze_loaded_objects()
    async with asyncio.TaskGroup() as group:
        workers = group.create_task(_work(kernel, listen))
        stop = group.create_task(signals.stop_requested.wait())
        await asyncio.wait([workers, stop], return_when=asyncio.FIRST_COMPLETED)
        if workers.done():
            stop.cancel()
            return workers.result()
        _log.info("stopping: no new turns start, %d turns are running", len(kernel.workers.turns))
        workers.cancel()
        hurry = group.create_task(_cancel_when(signals.hurry_requested, workers))
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
