"""Fixtures: a kernel on either database, with a clock, an agent and a channel that the test controls.

Every test ends with the audit: it fails if an invariant is broken, whatever the test is about.
"""

import random
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from typing import Any, Protocol

import pytest
import pytest_asyncio

from segue import Kernel, Stored
from segue.store.database import Database
from segue.store.open import open_database
from segue.store.settings import StoreSettings
from segue.testing import ManualClock, RecordingChannel, ScriptedAgent

__all__ = ["agent", "channel", "clock", "kernel", "open_kernel", "store_settings"]


class OpenKernel(Protocol):
    async def __call__(self, **options: Any) -> Kernel:
        """One more kernel on the test's database; `options` as for `Kernel`."""
        ...


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
def agent() -> ScriptedAgent:
    return ScriptedAgent()


@pytest.fixture
def channel() -> RecordingChannel:
    """The channel of sessions whose key begins with `test:`; those of `web:` are read in the log."""
    return RecordingChannel("test")


@pytest.fixture
def store_settings() -> StoreSettings | None:
    """The settings of the database driver, if they differ from those of production."""
    return None


@pytest_asyncio.fixture(loop_scope="session")
async def open_kernel(
    database_url: str,
    store_settings: StoreSettings | None,
    clock: ManualClock,
    agent: ScriptedAgent,
    channel: RecordingChannel,
) -> AsyncIterator[OpenKernel]:
    async with AsyncExitStack() as stack:
        opened: list[Kernel] = []

        async def open_one(**options: Any) -> Kernel:
            name = f"worker-{len(opened) + 1}"
            usual: dict[str, Any] = {"agent": agent, "clock": clock, "name": name}
            usual["channels"] = [channel, Stored("web")]
            database: str | Database = database_url
            if store_settings is not None:
                database = await open_database(database_url, store_settings)
                stack.push_async_callback(database.close)
            kernel = Kernel(database, **{**usual, "rng": random.Random(len(opened)), **options})
            opened.append(await stack.enter_async_context(kernel))
            return kernel

        yield open_one
        for kernel in opened[-1:]:
            assert not await kernel.audit()


@pytest_asyncio.fixture(loop_scope="session")
async def kernel(open_kernel: OpenKernel) -> Kernel:
    return await open_kernel()
