"""Lifespan: opens a kernel and runs its workers for as long as an application runs.

A kernel that is already open belongs to the code that opened it: that code runs its workers and closes it.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from typing import TypeVar

from segue.server.request_context import AppState

T = TypeVar("T")


@asynccontextmanager
async def around(state: AppState, lifespan: AbstractAsyncContextManager[T]) -> AsyncIterator[T]:
    """Open the kernel, enter the application's own lifespan, then run the workers; and back in reverse.

    So the application can use the kernel in its own lifespan, and an agent can use what the application opens
    there.
    """
    state.open()
    with state.kernel.observers.added(state.metrics.work):
        if state.kernel.is_open:
            async with lifespan as given, _wires(state):
                yield given
            return
        async with state.kernel, lifespan as given, _wires(state), _workers(state):
            yield given


@asynccontextmanager
async def _wires(state: AppState) -> AsyncIterator[None]:
    async with AsyncExitStack() as opened:
        for running in state.wires:
            await opened.enter_async_context(running())
        yield


@asynccontextmanager
async def _workers(state: AppState) -> AsyncIterator[None]:
    async with asyncio.TaskGroup() as tasks:
        state.workers_running = True
        workers = tasks.create_task(_run_workers(state))
        try:
            yield
        finally:
            workers.cancel()


async def _run_workers(state: AppState) -> None:
    try:
        await state.kernel.run()
    finally:
        state.workers_running = False
