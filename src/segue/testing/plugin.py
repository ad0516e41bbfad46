"""Fixtures for users' tests: `kernel`, `clock`, `agent`, `channel`, on a database in memory.

Each test of a kernel ends with the audit: an invariant that broke fails it.
"""

from collections.abc import AsyncIterator

import pytest

from segue.kernel.kernel import Kernel
from segue.model.channel import Stored
from segue.testing.manual_clock import ManualClock
from segue.testing.recording_channel import RecordingChannel
from segue.testing.scripted_agent import ScriptedAgent


@pytest.fixture
def clock() -> ManualClock:
    """Stands still at a Monday morning; `clock.advance(minutes=10)` moves it."""
    return ManualClock()


@pytest.fixture
def agent() -> ScriptedAgent:
    """Says what `agent.script(…)` told it to; `agent.asked` is what it was asked."""
    return ScriptedAgent()


@pytest.fixture
def channel() -> RecordingChannel:
    """Takes what is sent to sessions whose key begins with `test:`."""
    return RecordingChannel("test")


try:
    from pytest_asyncio import fixture as async_fixture
except ImportError:  # whoever tests without it makes a kernel of their own
    pass
else:

    @async_fixture
    async def kernel(
        clock: ManualClock, agent: ScriptedAgent, channel: RecordingChannel
    ) -> AsyncIterator[Kernel]:
        """A kernel in memory, stepped by `quiet(kernel)`. Of sessions `web:…`, stored is sent."""
        channels = [channel, Stored("web")]
        async with Kernel("sqlite://:memory:", agent=agent, clock=clock, channels=channels) as kernel:
            yield kernel
            assert not await kernel.audit()
