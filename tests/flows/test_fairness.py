"""Fairness between accounts: a flood of due jobs of one account does not hold up the job of another."""

import asyncio
from time import process_time

import pytest

from segue import Ask, Every, Owner
from segue.kernel.workers.worker_context import WorkerTuning
from segue.testing import ManualClock
from tests.crash.figures import Record
from tests.crash.processes import LONG
from tests.eventually import eventually
from tests.flows.house import OpenKernel
from tests.flows.story import BlockingAgent, working

FLOOD = 10_000 if LONG else 600
AT_ONCE = 100
"""The thousandth caller at once could time out on a busy machine."""


@pytest.mark.new_connections
async def test_a_lone_job_starts_among_the_first_turns_of_a_flood(
    open_kernel: OpenKernel, clock: ManualClock, figure: Record
) -> None:
    agent = BlockingAgent()
    kernel = await open_kernel(agent=agent)
    for first in range(0, FLOOD, AT_ONCE):
        async with asyncio.TaskGroup() as flood:
            for number in range(first, first + AT_ONCE):
                flood.create_task(
                    kernel.schedule(f"web:{number}", Every(3600), Ask("Look."), owner=Owner("flood"))
                )
    clock.advance(seconds=1)  # the lone job is due after all others
    await kernel.schedule("web:lone", Every(3600), Ask("Look."), owner=Owner("quiet"))
    clock.advance(hours=1)
    used = process_time()
    async with working(kernel):
        await eventually(lambda: "web:lone" in agent.answered, "the lone job has run")
    figure(f"turns of {FLOOD:,} before the lone one", str(agent.answered.index("web:lone")))
    figure("processor time of Segue until then", f"{process_time() - used:.2f} s")
    # Of the jobs that the timer takes in one step, each account has a share.
    assert agent.answered.index("web:lone") < WorkerTuning().due_jobs < FLOOD
