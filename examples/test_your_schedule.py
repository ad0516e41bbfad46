"""How to test a schedule: with a clock that you move by hand and an agent that follows a script."""

import pytest

from segue import Ask, Every, Kernel, Outcome, Policy
from segue.testing import ManualClock, ScriptedAgent, quiet

pytestmark = pytest.mark.asyncio  # the fixtures kernel, clock and agent come with Segue


async def watch_the_build(kernel: Kernel) -> str:
    """The code under test: here, one job."""
    job = await kernel.schedule("chat:anna", Every(600), Ask("Is the build green?"), policy=Policy(retries=1))
    return job.id


async def test_it_asks_every_ten_minutes(kernel: Kernel, clock: ManualClock, agent: ScriptedAgent) -> None:
    await watch_the_build(kernel)
    for _ in range(6):
        clock.advance(minutes=10)
        await quiet(kernel)
    assert [asked.text for asked in agent.asked] == ["Is the build green?"] * 6


async def test_a_failure_is_tried_once_more(kernel: Kernel, clock: ManualClock, agent: ScriptedAgent) -> None:
    job_id = await watch_the_build(kernel)
    agent.script(RuntimeError("no answer from the model"), "It is green.")
    for minutes in 10, 1:  # the retry comes within ten seconds
        clock.advance(minutes=minutes)
        await quiet(kernel)
    (run,) = await kernel.runs.list(job=job_id)
    assert (run.outcome, run.attempt) == (Outcome.OK, 2)
