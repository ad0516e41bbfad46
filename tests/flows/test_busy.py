"""A slot comes due while its session is busy, or while the job's own last run has not ended."""

import pytest

from segue import Ask, Busy, Every, Kernel, Overlap, Policy
from segue.testing import ManualClock, ScriptedAgent, quiet
from tests.flows.house import OpenKernel
from tests.flows.story import CHAT, BlockingAgent, outcomes, slots, under_way, until, working


async def test_a_due_job_waits_for_the_running_turn(
    kernel: Kernel, clock: ManualClock, agent: ScriptedAgent
) -> None:
    job = await kernel.schedule(CHAT, Every(60), Ask("Look."))
    await kernel.receive(CHAT, "Hello")
    async with under_way(kernel, agent):
        clock.advance(minutes=1)
        await kernel.workers.timer.step()
        [run] = await slots(kernel, job)
        assert (run.state, run.outcome) == ("queued", None)
        assert await kernel.workers.runner.step() == 0
    assert await outcomes(kernel, job) == ["ok"]
    assert [asked.text for asked in agent.asked] == ["Hello", "Look."]


async def test_a_due_job_that_postpones_stays_out_of_the_lane_for_a_minute(
    kernel: Kernel, clock: ManualClock, agent: ScriptedAgent
) -> None:
    job = await kernel.schedule(CHAT, Every(3600), Ask("Look."), policy=Policy(busy=Busy.POSTPONE))
    clock.advance(minutes=59, seconds=50)
    await kernel.receive(CHAT, "Hello")
    async with under_way(kernel, agent):
        clock.advance(seconds=10)
        await kernel.workers.timer.step()
        assert await slots(kernel, job) == []
        assert (await kernel.jobs.get(job.id)).next_at == clock.ms() + 60_000
    assert await slots(kernel, job) == []
    clock.advance(minutes=1)
    await quiet(kernel)
    [run] = await slots(kernel, job)
    assert (run.outcome, run.lateness_ms) == ("ok", 60_000)


async def test_a_due_job_that_skips_leaves_a_row_that_says_why(
    kernel: Kernel, clock: ManualClock, agent: ScriptedAgent
) -> None:
    job = await kernel.schedule(CHAT, Every(60), Ask("Look."), policy=Policy(busy=Busy.SKIP))
    await kernel.receive(CHAT, "Hello")
    async with under_way(kernel, agent):
        clock.advance(minutes=1)
        await kernel.workers.timer.step()
    [run] = await slots(kernel, job)
    assert (run.outcome, run.reason, run.turn_id) == ("skipped", "busy: the session was at work", None)
    assert len(agent.asked) == 1


@pytest.mark.parametrize(
    ("overlap", "expected"),
    [
        (Policy().overlap, ["ok", "ok", "skipped", "skipped"]),
        (Overlap.SKIP, ["ok", "skipped", "skipped", "skipped"]),
        (Overlap.BUFFER_ALL, ["ok", "ok", "ok", "ok"]),
    ],
)
async def test_a_job_that_overtakes_itself_obeys_its_policy(
    kernel: Kernel, clock: ManualClock, agent: ScriptedAgent, overlap: Overlap, expected: list[str]
) -> None:
    """4.7: by default one waits, and the others are recorded as skipped."""
    job = await kernel.schedule(CHAT, Every(60), Ask("Look."), policy=Policy(overlap=overlap))
    clock.advance(minutes=1)
    async with under_way(kernel, agent):
        for _ in range(3):
            clock.advance(minutes=1)
            await kernel.workers.timer.step()
    assert await outcomes(kernel, job) == expected
    reasons = {run.reason.partition(":")[0] for run in await slots(kernel, job) if run.reason}
    assert reasons == ({"overlap"} if "skipped" in expected else set())


async def test_one_slow_session_delays_no_job_of_another(open_kernel: OpenKernel, clock: ManualClock) -> None:
    agent = BlockingAgent("web:slow")
    kernel = await open_kernel(agent=agent)
    slow = await kernel.schedule("web:slow", Every(60), Ask("Think hard."))
    quick = await kernel.schedule("web:quick", Every(60), Ask("Look."))
    async with working(kernel):
        clock.advance(minutes=1)
        await agent.is_waiting_in("web:slow")
        await until(kernel, "stream_end", "web:quick")
        assert await outcomes(kernel, quick) == ["ok"]
        assert await outcomes(kernel, slow) == [None]
        agent.release()
    assert await outcomes(kernel, slow) == ["ok"]
