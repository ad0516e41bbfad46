"""Overview: the rule that lists what is scheduled in this conversation."""

import re

from segue.agents.rules.phrases import PHRASES, SpokenLanguage
from segue.agents.rules.rule import Move, RuleRequest, Use, rule
from segue.agents.rules.spoken import spoken
from segue.model.records import Job
from segue.model.states import JobState
from segue.times.clock import to_moment


def _list(language: SpokenLanguage) -> Move:
    """Answers with the jobs, recalls and messages of this conversation, and when each is next."""
    phrases = PHRASES[language]

    async def move(request: RuleRequest, match: re.Match[str]) -> str | Use:
        context = request.box.context
        jobs = await context.kernel.jobs.list(context.here.key, owner=context.owner)
        waiting = [
            one for one in jobs if one.state in (JobState.ACTIVE, JobState.PAUSED) and not one.protected
        ]
        waiting.sort(key=lambda job: (job.next_at is None, job.next_at))
        lines = [_line(job, request, language) for job in waiting]
        answer = "\n".join([phrases.listed, "", *lines]) if lines else phrases.nothing
        return Use("cron", {"action": "list"}, lambda _: answer) if "cron" in request.box.tools else answer

    return move


def _line(job: Job, request: RuleRequest, language: SpokenLanguage) -> str:
    phrases = PHRASES[language]
    if job.state is JobState.PAUSED or job.next_at is None:
        return f"- {job.name} ({phrases.paused if job.state is JobState.PAUSED else job.state})"
    when = spoken(to_moment(job.next_at), request.now, language)
    return f"- {job.name}: {phrases.next.format(when=when)}"


RULES = tuple(
    rule(phrases.lists, _list(language), example="what is scheduled?" if language == "en" else None)
    for language, phrases in PHRASES.items()
)
