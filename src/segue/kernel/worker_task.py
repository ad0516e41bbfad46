"""Worker task: runs the workers beside their caller, until it is stopped."""

import asyncio
import logging
from collections.abc import Coroutine
from contextlib import suppress
from typing import Any

_log = logging.getLogger(__name__)


class WorkerTask:
    """A task that is started and stopped by different tasks of a program, so that no task group can own it.

    Its owner must await `stop`.
    """

    def __init__(self, work: Coroutine[Any, Any, None]) -> None:
        self._task = asyncio.get_running_loop().create_task(work)
        self._task.add_done_callback(_log_failure)

    async def stop(self) -> None:
        """Cancel the task and wait for its end. Raises the error with which it failed before."""
        self._task.cancel()
        with suppress(asyncio.CancelledError):
            await asyncio.shield(asyncio.wait([self._task]))
        if not self._task.cancelled():
            self._task.result()


def _log_failure(task: "asyncio.Task[None]") -> None:
    if not task.cancelled() and (error := task.exception()) is not None:
        _log.error("background workers stopped", exc_info=error)
