"""Overview: the rule that lists what is scheduled in this conversation."""

import re

from segue.agents.rules.rule import RuleRequest, Use, rule
from segue.model.agent import ToolCalled
from segue.model.records import Job
from segue.model.states import JobKind, JobState
from segue.times.clock import to_moment


async def _scheduled(request: RuleRequest, match: re.Match[str]) -> str | Use:
    """Answer with what `cron` lists, and with the pending recalls and messages of this conversation."""
    context = request.box.context
    jobs = await context.kernel.jobs.list(context.here.key, owner=context.owner)
    waiting = [job for job in jobs if job.state in (JobState.ACTIVE, JobState.PAUSED)]
    if "cron" not in request.box.tools:
        return _answer([_line(job, request) for job in waiting])
    others = [_line(job, request) for job in waiting if job.kind in (JobKind.RECALL, JobKind.MESSAGE)]
    cron = len(waiting) > len(others)

    def then(called: ToolCalled) -> str:
        listed = (called.result or "").split("\n\n") if cron else []
        return called.error or _answer([*(f"- {line}" for line in listed), *others])

    return Use("cron", {"action": "list"}, then)


def _answer(lines: list[str]) -> str:
    return "\n".join(["This is scheduled here:", "", *lines]) if lines else "Nothing is scheduled here."


def _line(job: Job, request: RuleRequest) -> str:
    if job.state is JobState.PAUSED or job.next_at is None:
        return f"- {job.name} ({job.state})"
    at = to_moment(job.next_at).astimezone(request.now.tzinfo)
    return f"- {job.name}: next on {at:%A, %d %B at %H:%M}"


RULES = (
    rule(
        r"\bwhat(?:'s| is| do you have| have you)\s+(?:scheduled|planned|coming up)\b"
        r"|\b(?:list|show)\s+(?:me\s+)?(?:my\s+|the\s+|all\s+)?(?:schedules?|jobs|reminders|automations)\b",
        _scheduled,
        example="what is scheduled?",
    ),
)
