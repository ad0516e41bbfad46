"""Idle jobs: a message sets the deadline once; later messages do not move it."""

from datetime import timedelta

from segue import Ask, Busy, Every, Idle, Kernel, Policy
from segue.testing import ManualClock, ScriptedAgent, quiet
from tests.flows.story import CHAT, outcomes, slots, under_way


async def test_it_acts_once_the_session_has_been_quiet_for_so_long(
    kernel: Kernel, clock: ManualClock, agent: ScriptedAgent
) -> None:
    job = await kernel.schedule(CHAT, Idle(600), Ask("Sum up."))
    await kernel.log.write(CHAT, "user", "Hello")
    clock.advance(minutes=9, seconds=59)
    await quiet(kernel)
    assert agent.asked == []
    clock.advance(seconds=1)
    await quiet(kernel)
    assert await outcomes(kernel, job) == ["ok"]


async def test_a_busy_chat_writes_no_job_row_per_message(kernel: Kernel, clock: ManualClock) -> None:
    job = await kernel.schedule(CHAT, Idle(600), Ask("Sum up."))
    for _ in range(50):
        clock.advance(seconds=5)
        await kernel.log.write(CHAT, "user", "Hello")
        await kernel.workers.timer.step()
    assert (await kernel.jobs.get(job.id)).revision == job.revision


async def test_when_it_comes_due_it_looks_at_the_last_message(
    kernel: Kernel, clock: ManualClock, agent: ScriptedAgent
) -> None:
    job = await kernel.schedule(CHAT, Idle(600), Ask("Sum up."))
    clock.advance(minutes=8)
    await kernel.log.write(CHAT, "user", "Hello")
    clock.advance(minutes=2)
    await quiet(kernel)
    waiting = await kernel.jobs.get(job.id)
    assert agent.asked == []
    assert waiting.next_at == clock.ms() + 8 * 60_000
    assert waiting.revision == job.revision + 1
    clock.advance(minutes=8)
    await quiet(kernel)
    assert await outcomes(kernel, job) == ["ok"]


async def test_it_acts_once_for_one_silence(kernel: Kernel, clock: ManualClock, agent: ScriptedAgent) -> None:
    await kernel.schedule(CHAT, Idle(600), Ask("Sum up."))
    for _ in range(10):
        clock.advance(hours=1)
        await quiet(kernel)
    assert len(agent.asked) == 1


async def test_the_next_message_arms_it_again(
    kernel: Kernel, clock: ManualClock, agent: ScriptedAgent
) -> None:
    job = await kernel.schedule(CHAT, Idle(600), Ask("Sum up."))
    clock.advance(minutes=10)
    await quiet(kernel)
    assert (await kernel.jobs.get(job.id)).next_at is None
    clock.advance(hours=5)
    await kernel.receive(CHAT, "I am back.")
    assert (await kernel.jobs.get(job.id)).next_at == clock.ms() + 600_000
    clock.advance(minutes=10)
    await quiet(kernel)
    assert await outcomes(kernel, job) == ["ok", "ok"]
    runs = await slots(kernel, job)
    assert runs[1].slot - runs[0].slot == timedelta(hours=5, minutes=10).total_seconds() * 1000


async def test_scheduled_turns_are_no_sign_of_life(
    kernel: Kernel, clock: ManualClock, agent: ScriptedAgent
) -> None:
    idle = await kernel.schedule(CHAT, Idle(600), Ask("Sum up."))
    await kernel.schedule(CHAT, Every(120), Ask("Look."))
    for _ in range(20):
        clock.advance(minutes=2)
        await quiet(kernel)
    assert await outcomes(kernel, idle) == ["ok"]


async def test_after_a_skip_it_still_waits_for_the_next_message(
    kernel: Kernel, clock: ManualClock, agent: ScriptedAgent
) -> None:
    job = await kernel.schedule(CHAT, Idle(600), Ask("Sum up."), policy=Policy(busy=Busy.SKIP))
    await kernel.receive(CHAT, "Think for a long time.")
    async with under_way(kernel, agent):
        clock.advance(minutes=10)
        await kernel.workers.keeper.step()
        await kernel.workers.timer.step()
    assert await outcomes(kernel, job) == ["skipped"]
    await kernel.log.write(CHAT, "user", "Thanks")
    clock.advance(minutes=10)
    await quiet(kernel)
    assert await outcomes(kernel, job) == ["skipped", "ok"]


async def test_two_silences_are_kept_apart(kernel: Kernel, clock: ManualClock) -> None:
    short = await kernel.schedule(CHAT, Idle(600), Ask("Sum up."))
    long = await kernel.schedule(CHAT, Idle(3600), Ask("Forget."))
    await kernel.log.write(CHAT, "user", "Hello")
    clock.advance(minutes=10)
    await quiet(kernel)
    clock.advance(minutes=5)
    await kernel.log.write(CHAT, "user", "Hello again")
    clock.advance(minutes=10)
    await quiet(kernel)
    assert (len(await slots(kernel, short)), len(await slots(kernel, long))) == (2, 0)
    clock.advance(minutes=50)
    await quiet(kernel)
    assert await outcomes(kernel, long) == ["ok"]


async def test_a_skip_by_request_leaves_it_armed(kernel: Kernel, clock: ManualClock) -> None:
    job = await kernel.schedule(CHAT, Idle(600), Ask("Sum up."))
    skipped = await kernel.jobs.skip(job.id)
    assert (skipped.next_at or 0) > (job.next_at or 0)
    assert await outcomes(kernel, job) == ["skipped"]
    clock.advance(minutes=30)
    await quiet(kernel)
    assert await outcomes(kernel, job) == ["skipped", "ok"]
