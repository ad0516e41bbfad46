"""Many jobs in one second, some in busy sessions: none is lost, none runs twice, none is held up."""

import asyncio

import pytest

from segue import Ask, At, Kernel, Settings
from segue.testing import ManualClock
from tests.flows.house import OpenKernel
from tests.flows.story import BlockingAgent, until

SESSIONS, BUSY, RUNNERS = 500, 20, 50
ALL = [f"web:{number}" for number in range(SESSIONS)]
LONG, FREE = ALL[:BUSY], ALL[BUSY:]


@pytest.mark.new_connections
async def test_five_hundred_jobs_fall_due_while_twenty_sessions_are_busy(
    open_kernel: OpenKernel, clock: ManualClock
) -> None:
    """3.5, 3.7, 4.1: all others run, and the busy ones right after their turn."""
    agent = BlockingAgent(*LONG)
    kernel = await open_kernel(agent=agent, settings=Settings(runners=RUNNERS))
    moment = clock.now().replace(minute=10)  # within the time that a turn may take
    for key in ALL:
        await kernel.schedule(key, At(moment), Ask("Look."))
    async with asyncio.TaskGroup() as group, asyncio.timeout(120):
        running = group.create_task(kernel.run())
        for key in LONG:
            await kernel.receive(key, "Think long.")
        await agent.is_waiting_in(*LONG)
        clock.set(moment)
        await asyncio.gather(*(until(kernel, "stream_end", key) for key in FREE))
        assert {key: await outcomes(kernel, key) for key in LONG} == {key: [None] for key in LONG}
        agent.release()
        await asyncio.gather(*(ended(kernel, key, times=2) for key in LONG))
        running.cancel()
    assert {key: await outcomes(kernel, key) for key in ALL} == {key: ["ok"] for key in ALL}
    assert sorted(agent.answered) == sorted([*ALL, *LONG])
    for key in LONG:
        assert [message.role for message in await kernel.messages(key)] == ["user", "assistant"] * 2


async def outcomes(kernel: Kernel, key: str) -> list[str | None]:
    return [run.outcome for run in await kernel.runs.list(key)]


async def ended(kernel: Kernel, key: str, *, times: int) -> None:
    """Until so many turns of a session have ended."""
    seq = 0
    for _ in range(times):
        seq = (await until(kernel, "stream_end", key, after=seq)).seq
