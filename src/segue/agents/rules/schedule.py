"""What is scheduled in this conversation."""

import re

from segue.agents.rules.rule import Heard, rule
from segue.clock import to_moment
from segue.model import Job
from segue.states import JobState


async def _scheduled(heard: Heard, found: re.Match[str]) -> str:
    context = heard.box.context
    jobs = await context.kernel.jobs(context.session.key, owner=context.owner)
    waiting = [job for job in jobs if job.state in (JobState.ACTIVE, JobState.PAUSED)]
    if not waiting:
        return "Nothing is scheduled here."
    return "\n".join(["This is scheduled here:", "", *(_line(job, heard) for job in waiting)])


def _line(job: Job, heard: Heard) -> str:
    if job.state is JobState.PAUSED or job.next_at is None:
        return f"- {job.name} ({job.state})"
    at = to_moment(job.next_at).astimezone(heard.now.tzinfo)
    return f"- {job.name}: next on {at:%A, %d %B at %H:%M}"


RULES = (
    rule(
        r"\bwhat(?:'s| is| do you have| have you)\s+(?:scheduled|planned|coming up)\b"
        r"|\b(?:list|show)\s+(?:me\s+)?(?:my\s+|the\s+|all\s+)?(?:schedules?|jobs|reminders|automations)\b",
        _scheduled,
        example="what is scheduled?",
    ),
)
