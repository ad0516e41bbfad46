"""Deleting a session: in two steps, with its turn stopped first, and nothing of it comes back."""

import asyncio
from contextlib import aclosing

import pytest

from segue import Ask, At, Every, JobKind, Kernel, Say
from segue.errors import NotFound, SessionHasJobs
from segue.testing import ManualClock, RecordingChannel, ScriptedAgent, quiet
from tests.flows.house import OpenKernel
from tests.flows.story import CHAT, count_rows, under_way


@pytest.mark.parametrize("key", ["websocket:a", "telegram:1", "test:42", "terminal:tty"])
async def test_every_channels_session_names_its_jobs_before_it_goes(kernel: Kernel, key: str) -> None:
    """9.1, 9.2, 9.3: the first step changes nothing; paused jobs block too."""
    job = await kernel.schedule(key, Every(60), Ask("Look."), name="Monitor")
    paused = await kernel.jobs.pause(job.id)
    with pytest.raises(SessionHasJobs) as refused:
        await kernel.sessions.delete(key)
    assert refused.value.jobs == [paused]
    assert await kernel.jobs.get(job.id) == paused
    await kernel.sessions.delete(key, with_jobs=True)
    with pytest.raises(NotFound):
        await kernel.jobs.get(job.id)


async def test_a_running_turn_is_stopped_first(
    kernel: Kernel, clock: ManualClock, agent: ScriptedAgent
) -> None:
    """9.3: a caller that waits for the turn gets it as stopped."""
    admitted = await kernel.receive(CHAT, "Hello")
    async with under_way(kernel, agent):
        async with asyncio.timeout(10), asyncio.TaskGroup() as group:
            waiter = group.create_task(kernel.wait(admitted.turn_id))
            await asyncio.sleep(0)
            await kernel.sessions.delete(CHAT)
        assert len(kernel.workers.turns) == 0
    assert waiter.result().outcome == "stopped"
    assert set((await count_rows(kernel)).values()) == {0}


async def test_a_refused_deletion_stops_nothing(kernel: Kernel, agent: ScriptedAgent) -> None:
    """9.1: nothing changed."""
    await kernel.schedule(CHAT, Every(60), Ask("Look."))
    admitted = await kernel.receive(CHAT, "Hello")
    async with under_way(kernel, agent):
        with pytest.raises(SessionHasJobs):
            await kernel.sessions.delete(CHAT)
    assert (await kernel.turns.get(admitted.turn_id)).outcome == "ok"


async def test_a_run_that_waits_does_not_bring_its_session_back(
    kernel: Kernel, clock: ManualClock, agent: ScriptedAgent
) -> None:
    """4.6"""
    await kernel.schedule(CHAT, Every(60), Ask("Look."))
    clock.advance(minutes=1)
    await kernel.workers.timer.step()
    await kernel.sessions.delete(CHAT, with_jobs=True)
    clock.advance(minutes=5)
    await quiet(kernel)
    assert agent.asked == []
    assert await kernel.sessions.list() == []


async def test_recalls_and_scheduled_messages_go_with_it(
    kernel: Kernel, clock: ManualClock, channel: RecordingChannel
) -> None:
    """9.3"""
    await kernel.schedule("test:42", At("in 1 hour"), Ask("Ask."), kind=JobKind.RECALL)
    await kernel.schedule("test:42", At("in 1 hour"), Say("Water!"))
    await kernel.sessions.delete("test:42")
    clock.advance(hours=1)
    await quiet(kernel)
    assert channel.texts == []
    assert set((await count_rows(kernel)).values()) == {0}


async def test_who_follows_a_session_hears_its_end(open_kernel: OpenKernel) -> None:
    kernel = await open_kernel()
    await kernel.sessions.open(CHAT)

    async def listen() -> str:
        try:
            async with aclosing(kernel.follow(CHAT)) as following:
                async for _ in following:
                    pass
        except NotFound:
            return "gone"
        return "over"

    async with asyncio.timeout(10), asyncio.TaskGroup() as group:
        listening = group.create_task(listen())
        await quiet(kernel)
        await kernel.sessions.delete(CHAT)
        assert await listening == "gone"
