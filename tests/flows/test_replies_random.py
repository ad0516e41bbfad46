"""Replies in random sessions: a quote acts on its own job, whatever else speaks there, without a model call.

pytest tests/flows/test_replies_random.py                   twenty sessions
SEGUE_LONG=1 pytest tests/flows/test_replies_random.py      a thousand
"""

import os
import random

from segue import Ask, Cron, Kernel
from segue.kernel.transactions.replies import Acted
from segue.model.records import Job, message_id
from segue.testing import ManualClock, ScriptedAgent, quiet

SESSIONS = 1_000 if os.environ.get("SEGUE_LONG") else 20
WORDS = (
    "stop",
    "skip",
    "snooze 2h",
    "make it 8",
    "every two hours",
    "done",
    "稍后",
    "пропусти",
    "para",
    "pause",
)


async def jobs_of(kernel: Kernel, jobs: list[Job]) -> dict[str, object]:
    """What a reply may change of each job."""
    found = [await kernel.jobs.get(job.id) for job in jobs]
    return {job.id: (job.state, job.trigger, job.slot, job.replied) for job in found}


async def test_a_quote_never_acts_on_another_job(
    kernel: Kernel, clock: ManualClock, agent: ScriptedAgent
) -> None:
    rng = random.Random(29)
    jobs: dict[str, list[Job]] = {}
    for number in range(SESSIONS):
        key = f"web:random-{number}"
        jobs[key] = [
            await kernel.schedule(key, Cron("0 10 * * *", tz="UTC"), Ask("Report."), name=f"job {each}")
            for each in range(rng.randint(2, 5))
        ]
    clock.advance(hours=1)
    await quiet(kernel)
    asked = len(agent.asked)
    for key, own in jobs.items():
        session = await kernel.sessions.get(key)
        said = [one for one in await kernel.messages(session) if one.role == "assistant" and one.source]
        quoted = rng.choice(said)
        assert quoted.source is not None
        before = await jobs_of(kernel, own)
        done = await kernel.replies.take(key, rng.choice(WORDS), reply_to=message_id(session.id, quoted.seq))
        assert isinstance(done, Acted)
        assert done.job_id == quoted.source.job_id
        after = await jobs_of(kernel, own)
        assert {job_id for job_id in after if after[job_id] != before[job_id]} == {done.job_id}
    assert len(agent.asked) == asked
