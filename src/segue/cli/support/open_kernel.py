"""Opens a kernel for a command, with or without workers."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from typing import TYPE_CHECKING

from segue.errors import AgentFailed, StoreUnusable
from segue.kernel.kernel import Kernel
from segue.kernel.workers.worker_context import Function
from segue.model.agent import OpenTurn

if TYPE_CHECKING:
    from segue.config import Configuration


@asynccontextmanager
async def kernel_with_workers(configuration: "Configuration") -> AsyncIterator[Kernel]:
    """Open a kernel with the agent, the channels and the functions of the settings. The caller runs it."""
    from segue.agents import make_agent, make_embedder, make_evaluation, make_extractor
    from segue.agents.routines import heartbeat, merge_memories
    from segue.channels import make_channels

    kernel: Kernel
    channels = make_channels(configuration)
    agent = make_agent(configuration)
    extractor = make_extractor(configuration)
    functions: dict[str, Function] = {merge_memories.FUNCTION: merge_memories.merge_memories}
    if configuration.workspace is not None:
        functions[heartbeat.FUNCTION] = heartbeat.Heartbeat(configuration.workspace, agent)
    kernel = Kernel(
        configuration.database_url,
        agent=agent,
        extractor=extractor,
        embedder=make_embedder(configuration),
        evaluate_response=make_evaluation(configuration),
        functions=functions,
        settings=configuration.kernel_settings(),
        channels=channels,
    )
    async with AsyncExitStack() as opened:
        for channel in channels:
            if isinstance(channel, AbstractAsyncContextManager):  # it holds connections to its network
                await opened.enter_async_context(channel)
        for model in (agent, extractor):
            if isinstance(model, AbstractAsyncContextManager):  # it holds connections to its provider
                await opened.enter_async_context(model)
        await opened.enter_async_context(kernel)
        if configuration.traces:
            from segue.telemetry.tracing import exporting, traced

            provider = await opened.enter_async_context(exporting())
            if configuration.model is not None:
                from segue.agents.llm import trace_requests

                trace_requests(provider)
            await opened.enter_async_context(traced(kernel, provider))
        await merge_memories.install(kernel)
        if heartbeat.FUNCTION in functions:
            await heartbeat.install(kernel)
        yield kernel


@asynccontextmanager
async def kernel_without_workers(
    configuration: "Configuration", *, create: bool = False
) -> AsyncIterator[Kernel]:
    """Open a kernel without an agent. Raises StoreUnusable if the database is missing, unless `create`."""
    if not create:
        refuse_missing(configuration)
    async with Kernel(
        configuration.database_url, agent=_no_agent, settings=configuration.kernel_settings()
    ) as kernel:
        yield kernel


def refuse_missing(configuration: "Configuration") -> None:
    from segue.store.open import sqlite_file
    from segue.store.sqlite.file import is_there

    file = sqlite_file(configuration.database_url)
    if file is not None and not is_there(file):
        raise StoreUnusable(
            f"there is no database at {file} yet; `segue db migrate` or `segue serve` creates it"
        )


def run_with_kernel(
    configuration: "Configuration", work: Callable[[Kernel], Awaitable[None]], *, create: bool = False
) -> None:
    """Open a kernel without workers, run `work` and close the kernel."""

    async def open_and_run() -> None:
        async with kernel_without_workers(configuration, create=create) as kernel:
            await work(kernel)

    asyncio.run(open_and_run())


async def _no_agent(turn: OpenTurn) -> str:
    raise AgentFailed("this process runs no turns")
