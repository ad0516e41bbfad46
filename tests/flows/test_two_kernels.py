"""Two kernels on one database, as two processes would be."""

import asyncio
from collections.abc import AsyncIterator
from datetime import timedelta

from segue import Ask, Delta, Every, Kernel, OpenTurn, Stored, ToolStarted
from segue.testing import ManualClock, RecordingChannel, ScriptedAgent, quiet

CHAT = "test:1"
LEASE = timedelta(seconds=15)


async def test_a_kernel_that_runs_no_workers_hears_that_another_one_has_answered(database_url: str) -> None:
    async def answer(turn: OpenTurn) -> str:
        return f"heard: {turn.text}"

    async with Kernel(database_url, agent=answer) as asking, Kernel(database_url, agent=answer) as working:
        running = asyncio.create_task(working.run())
        turn = await asking.receive(CHAT, "hello")
        ended = await asyncio.wait_for(asking.wait(turn.turn_id), 30)
        running.cancel()
        await asyncio.wait([running])
    assert ended.reply == "heard: hello"


async def test_the_sentence_after_a_crash_goes_out_through_the_channel_too(
    database_url: str, clock: ManualClock, agent: ScriptedAgent, channel: RecordingChannel
) -> None:
    acting = asyncio.Event()

    async def deploys(turn: OpenTurn) -> AsyncIterator[Delta]:
        yield ToolStarted(call_id="1", name="deploy")
        acting.set()
        await asyncio.Event().wait()

    async with (
        Kernel(database_url, agent=deploys, clock=clock) as lost,
        Kernel(database_url, agent=agent, clock=clock, channels=[channel, Stored("web")]) as other,
    ):
        await lost.receive(CHAT, "deploy it")
        abandoned = asyncio.create_task(lost.workers.user_runner.step())
        await acting.wait()
        clock.advance(LEASE)
        await quiet(other)
        abandoned.cancel()
        await asyncio.wait([abandoned])
    assert channel.texts == ["This turn was interrupted: its worker was lost after it may have acted."]


class TickingClock(ManualClock):
    """A clock that advances each time it is read."""

    def ms(self) -> int:
        self._ms += 1
        return self._ms


async def test_a_job_made_while_the_clock_moves_on_has_a_whole_interval_before_it(database_url: str) -> None:
    async with Kernel(database_url, agent=ScriptedAgent(), clock=TickingClock()) as kernel:
        job = await kernel.schedule(CHAT, Every(3600), Ask("Look."))
    assert job.next_at is not None
    assert job.next_at - job.created_at == 3_600_000
