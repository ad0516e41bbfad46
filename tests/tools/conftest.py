"""Fixture: a tool context, with a session of a kernel."""

from collections.abc import AsyncIterator

import pytest_asyncio

from segue import Kernel
from segue.agents.tools.registry import ToolContext
from segue.testing import ManualClock, ScriptedAgent


@pytest_asyncio.fixture
async def context(migrated_sqlite_url: str) -> AsyncIterator[ToolContext]:
    async with Kernel(migrated_sqlite_url, agent=ScriptedAgent(), clock=ManualClock()) as kernel:
        await kernel.log.write("web:1", "user", "Hello.")
        yield ToolContext(kernel=kernel, session=await kernel.sessions.get("web:1"), turn_id="t-1")
