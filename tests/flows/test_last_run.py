"""A job's last outcome and its failures in a row are read from its runs."""

from segue import Ask, Every, Kernel, Policy
from segue.model.policy import Overlap
from segue.testing import ManualClock, ScriptedAgent, quiet
from tests.flows.story import CHAT, outcomes, slots, under_way


async def test_a_jobs_last_outcome_is_that_of_its_newest_slot(
    kernel: Kernel, clock: ManualClock, agent: ScriptedAgent
) -> None:
    """And its last run is the newest one that had begun: a slot that was skipped is none."""
    job = await kernel.schedule(CHAT, Every(60), Ask("Look."), policy=Policy(overlap=Overlap.SKIP))
    clock.advance(minutes=1)
    async with under_way(kernel, agent):
        clock.advance(minutes=1)
        await kernel.workers.timer.step()
    assert await outcomes(kernel, job) == ["ok", "skipped"]
    told, ran = await kernel.jobs.get(job.id), (await slots(kernel, job))[0]
    assert (told.last_outcome, told.last_error, told.last_run_at) == ("skipped", None, ran.finished_at)


async def test_failures_are_in_a_row_until_a_run_does_not_fail(
    kernel: Kernel, clock: ManualClock, agent: ScriptedAgent
) -> None:
    """Nor are failures from before it was resumed."""
    job = await kernel.schedule(CHAT, Every(60), Ask("Look."))
    counted: list[int] = []
    for answer in (OSError("down"), OSError("down"), "Fine.", OSError("down")):
        agent.script(answer)
        clock.advance(minutes=1)
        await quiet(kernel)
        counted.append((await kernel.jobs.get(job.id)).failures)
    assert counted == [1, 2, 0, 1]
    await kernel.jobs.pause(job.id)
    clock.advance(minutes=1)
    resumed = await kernel.jobs.resume(job.id)
    assert resumed.failures == 0
    agent.script(OSError("down"))
    clock.advance(minutes=1)
    await quiet(kernel)
    assert (await kernel.jobs.get(job.id)).failures == 1
