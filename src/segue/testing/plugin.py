"""pytest plugin: the fixtures `kernel`, `clock`, `agent` and `channel`, on a database in memory.

After each test with a kernel the audit runs: a broken invariant fails the test.
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
    """Answers as `agent.script(…)` says; `agent.asked` lists what it was asked."""
    return ScriptedAgent()


@pytest.fixture
def channel() -> RecordingChannel:
    """Records what is sent to sessions whose key begins with `test:`."""
    return RecordingChannel("test")


try:
    from pytest_asyncio import fixture as async_fixture
except ImportError:  # without pytest-asyncio, tests make their own kernel
    pass
else:

    @async_fixture
    async def kernel(
        clock: ManualClock, agent: ScriptedAgent, channel: RecordingChannel
    ) -> AsyncIterator[Kernel]:
        """A kernel in memory, stepped by `quiet(kernel)`. In sessions `web:…`, a stored message is sent."""
        channels = [channel, Stored("web")]
        async with Kernel("sqlite://:memory:", agent=agent, clock=clock, channels=channels) as kernel:
            yield kernel
            assert not await kernel.audit()
