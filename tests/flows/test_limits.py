"""Jitter, max_runs, until, timeout, and the pause after ten failures in a row."""

import asyncio
from collections.abc import AsyncIterator
from datetime import timedelta

import pytest

from segue import Ask, At, Call, Cron, Every, Idle, Kernel, OpenTurn, Policy, Say, Settings
from segue.errors import AgentFailed
from segue.testing import ManualClock, RecordingChannel, ScriptedAgent, quiet
from segue.times.clock import to_moment
from tests.flows.house import OpenKernel
from tests.flows.story import CHAT, outcomes, said, slots

DOWN = AgentFailed("no answer from the provider", shown="The model is not answering.")


async def test_jitter_moves_the_look_and_not_the_slot(kernel: Kernel, clock: ManualClock) -> None:
    policy = Policy(jitter_seconds=300)
    made = [
        await kernel.schedule(
            CHAT, Cron("0 12 * * *", tz="UTC"), Ask("Look."), policy=policy, job_id=f"job-{n}"
        )
        for n in range(20)
    ]
    noon = clock.now().replace(hour=12)
    assert {job.slot for job in made} == {round(noon.timestamp() * 1000)}
    delays = [(job.next_at or 0) - (job.slot or 0) for job in made]
    assert all(0 <= delay < 300_000 for delay in delays)
    assert len(set(delays)) == 20
    clock.advance(minutes=-30)
    again = await kernel.jobs.update(made[0].id, policy=policy)
    assert again.next_at == made[0].next_at, "the same job and slot give the same moment"


async def test_a_jittered_slot_runs_at_its_own_moment_and_is_not_late(
    kernel: Kernel, clock: ManualClock, agent: ScriptedAgent
) -> None:
    job = await kernel.schedule(CHAT, Every(3600), Ask("Look."), policy=Policy(jitter_seconds=600))
    clock.set(to_moment((job.next_at or 0) - 1))
    await quiet(kernel)
    assert agent.asked == []
    clock.advance(milliseconds=1)
    await quiet(kernel)
    [run] = await slots(kernel, job)
    assert (run.outcome, run.slot) == ("ok", job.slot)


async def test_a_job_ends_after_max_runs(kernel: Kernel, clock: ManualClock, agent: ScriptedAgent) -> None:
    job = await kernel.schedule(CHAT, Every(60), Ask("Look."), policy=Policy(max_runs=3))
    for _ in range(5):
        clock.advance(minutes=1)
        await quiet(kernel)
    assert await outcomes(kernel, job) == ["ok"] * 3
    ended = await kernel.jobs.get(job.id)
    assert (ended.state, ended.state_reason, ended.next_at) == ("ended", "max_runs reached", None)


async def test_an_idle_job_ends_after_max_runs(kernel: Kernel, clock: ManualClock) -> None:
    job = await kernel.schedule(CHAT, Idle(600), Ask("Sum up."), policy=Policy(max_runs=2))
    for _ in range(4):
        await kernel.log.write(CHAT, "user", "Hello")
        clock.advance(minutes=10)
        await quiet(kernel)
    assert await outcomes(kernel, job) == ["ok", "ok"]
    assert (await kernel.jobs.get(job.id)).state == "ended"


async def test_slots_that_were_skipped_do_not_count_towards_max_runs(
    kernel: Kernel, clock: ManualClock
) -> None:
    job = await kernel.schedule(CHAT, Every(60), Ask("Look."), policy=Policy(max_runs=1))
    await kernel.jobs.skip(job.id)
    clock.advance(minutes=2)
    await quiet(kernel)
    assert await outcomes(kernel, job) == ["skipped", "ok"]


async def test_a_job_ends_with_its_last_slot_before_until(kernel: Kernel, clock: ManualClock) -> None:
    until = clock.now() + timedelta(minutes=2, seconds=30)
    job = await kernel.schedule(CHAT, Every(60), Ask("Look."), policy=Policy(until=until))
    for _ in range(4):
        clock.advance(minutes=1)
        await quiet(kernel)
    assert await outcomes(kernel, job) == ["ok", "ok"]
    ended = await kernel.jobs.get(job.id)
    assert (ended.state, ended.state_reason) == ("ended", "until passed")


async def test_a_turn_that_takes_too_long_ends_as_an_error_and_frees_its_session(
    kernel: Kernel, clock: ManualClock, agent: ScriptedAgent
) -> None:
    agent.pause()
    job = await kernel.schedule(
        CHAT, Every(3600), Ask("Look."), name="Look", policy=Policy(timeout_seconds=30)
    )
    clock.advance(hours=1)
    await kernel.workers.timer.step()
    async with asyncio.TaskGroup() as group:
        group.create_task(kernel.workers.runner.step())
        await agent.under_way()
        clock.advance(seconds=30)
        await kernel.workers.keeper.step()
        assert await outcomes(kernel, job) == [None]
        clock.advance(milliseconds=1)
        await kernel.workers.keeper.step()
    [run] = await slots(kernel, job)
    assert (run.outcome, run.error) == ("error", "no answer within 30 s")
    assert (await said(kernel))[-1] == ("assistant", "No answer within 30 seconds; given up.")
    assert not (await kernel.sessions.get(CHAT)).busy


async def test_an_agent_that_ignores_its_cancellation_does_not_keep_its_session(
    open_kernel: OpenKernel, clock: ManualClock
) -> None:
    begun, end = asyncio.Event(), asyncio.Event()

    async def stubborn(turn: OpenTurn) -> AsyncIterator[str]:
        if turn.text == "Quick one":
            yield "Quick answer."
            return
        begun.set()
        while not end.is_set():
            try:
                await end.wait()
            except asyncio.CancelledError:
                continue
        yield "Too late."

    kernel = await open_kernel(agent=stubborn, settings=Settings(turn_timeout_seconds=30))
    first = await kernel.receive(CHAT, "Think without end")
    async with asyncio.TaskGroup() as group:
        group.create_task(kernel.workers.user_runner.step())
        await begun.wait()
        clock.advance(seconds=31)
        await kernel.workers.keeper.step()
        clock.advance(seconds=2)
        await kernel.workers.keeper.step()
        assert (await kernel.turns.get(first.turn_id)).outcome == "error"
        await kernel.receive(CHAT, "Quick one")
        await kernel.workers.user_runner.step()
        end.set()
    assert [words for role, words in await said(kernel) if role == "assistant"] == [
        "No answer within 30 seconds; given up.",
        "Quick answer.",
    ]


async def test_after_ten_failures_in_a_row_a_job_pauses_itself_and_says_so_once(
    kernel: Kernel, clock: ManualClock, agent: ScriptedAgent
) -> None:
    agent.script(*[DOWN] * 12)
    job = await kernel.schedule(CHAT, Every(60), Ask("Look."))
    for _ in range(12):
        clock.advance(minutes=1)
        await quiet(kernel)
    assert await outcomes(kernel, job) == ["error"] * 10
    paused = await kernel.jobs.get(job.id)
    assert (paused.state, paused.failures, paused.next_at) == ("paused", 10, None)
    assert "10 times in a row" in (paused.state_reason or "")
    told = [words for _, words in await said(kernel) if "is paused" in words]
    assert len(told) == 1
    assert told[0].startswith("The model is not answering.")


async def test_one_success_resets_the_count(kernel: Kernel, clock: ManualClock, agent: ScriptedAgent) -> None:
    agent.script(*[DOWN] * 9, "Back again.", *[DOWN] * 9)
    job = await kernel.schedule(CHAT, Every(60), Ask("Look."))
    for _ in range(19):
        clock.advance(minutes=1)
        await quiet(kernel)
    assert (await kernel.jobs.get(job.id)).state == "active"


async def test_a_job_that_is_resumed_has_ten_tries_again(
    kernel: Kernel, clock: ManualClock, agent: ScriptedAgent
) -> None:
    agent.script(*[DOWN] * 20)
    job = await kernel.schedule(CHAT, Every(60), Ask("Look."))
    for _ in range(10):
        clock.advance(minutes=1)
        await quiet(kernel)
    resumed = await kernel.jobs.resume(job.id)
    assert (resumed.state, resumed.failures) == ("active", 0)
    for _ in range(9):
        clock.advance(minutes=1)
        await quiet(kernel)
    assert (await kernel.jobs.get(job.id)).state == "active"


async def test_a_message_that_could_not_be_sent_ten_times_pauses_its_job_visibly(
    kernel: Kernel, clock: ManualClock, channel: RecordingChannel
) -> None:
    channel.fail(*[ConnectionError("gone")] * 10)
    job = await kernel.schedule("test:1", Every(60), Say("Drink water."))
    for _ in range(11):
        clock.advance(minutes=1)
        await quiet(kernel)
    assert (await kernel.jobs.get(job.id)).state == "paused"
    assert len([words for _, words in await said(kernel, "test:1") if "is paused" in words]) == 1


async def test_a_function_that_failed_ten_times_pauses_its_job_visibly(
    open_kernel: OpenKernel, clock: ManualClock
) -> None:
    async def broken(turn: OpenTurn) -> None:
        raise ValueError("nothing to dream of")

    kernel = await open_kernel(functions={"dream": broken})
    job = await kernel.schedule(CHAT, Every(60), Call("dream"))
    for _ in range(11):
        clock.advance(minutes=1)
        await quiet(kernel)
    assert (await kernel.jobs.get(job.id)).state == "paused"
    assert len([words for _, words in await said(kernel) if "is paused" in words]) == 1


@pytest.mark.parametrize("trigger", [Every(60), At("in 1 minute")], ids=["every", "at"])
async def test_the_outcome_of_the_last_run_is_on_the_job(
    kernel: Kernel, clock: ManualClock, agent: ScriptedAgent, trigger: Every | At
) -> None:
    agent.script(DOWN)
    job = await kernel.schedule(CHAT, trigger, Ask("Look."))
    clock.advance(minutes=1)
    await quiet(kernel)
    after = await kernel.jobs.get(job.id)
    assert (after.last_outcome, after.last_error) == ("error", "no answer from the provider")
    assert after.last_run_at == clock.ms()
