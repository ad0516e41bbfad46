"""Overview: the rule that lists what is scheduled in this conversation."""

import re

from segue.agents.rules.rule import RuleRequest, Use, rule
from segue.agents.rules.spoken import spoken
from segue.model.records import Job
from segue.model.states import JobState
from segue.times.clock import to_moment


async def _scheduled(request: RuleRequest, match: re.Match[str]) -> str | Use:
    """Answer with the jobs, recalls and messages of this conversation, and when each is next."""
    context = request.box.context
    jobs = await context.kernel.jobs.list(context.here.key, owner=context.owner)
    waiting = [job for job in jobs if job.state in (JobState.ACTIVE, JobState.PAUSED) and not job.protected]
    waiting.sort(key=lambda job: (job.next_at is None, job.next_at))
    answer = _answer([_line(job, request) for job in waiting])
    return Use("cron", {"action": "list"}, lambda _: answer) if "cron" in request.box.tools else answer


def _answer(lines: list[str]) -> str:
    return "\n".join(["This is scheduled here:", "", *lines]) if lines else "Nothing is scheduled here."


def _line(job: Job, request: RuleRequest) -> str:
    if job.state is JobState.PAUSED or job.next_at is None:
        return f"- {job.name} ({job.state})"
    return f"- {job.name}: next {spoken(to_moment(job.next_at), request.now)}"


RULES = (
    rule(
        r"\bwhat(?:'s| is| do you have| have you)\s+(?:scheduled|planned|coming up)\b"
        r"|\b(?:list|show)\s+(?:me\s+)?(?:my\s+|the\s+|all\s+)?(?:schedules?|jobs|reminders|automations)\b",
        _scheduled,
        example="what is scheduled?",
    ),
)
