"""Jobs: the rules that call `cron` for tasks, recurring or at one moment, and that change what is scheduled.

“it” and “that” mean the job or recall that was scheduled here last; a name means the job that is called so.
"""

import re
from collections.abc import Iterator, Sequence

from segue.agents.rules import recalls
from segue.agents.rules.phrases import ASKS, PHRASES, SpokenLanguage
from segue.agents.rules.rule import Move, Rule, RuleRequest, Use, rule
from segue.agents.rules.wishes import add_job, wish_in
from segue.model.agent import ToolCalled
from segue.model.records import Job
from segue.model.states import JobKind, JobState
from segue.times.reader import Moment

_IT = r"(?:it|that|this|(?:the|that|this|my)\s+(?:job|automation|schedule|report))"
_JOINING = r"(?:please\s+)?(?:(?:to|that)\s+)?"
_CLOCK = re.compile(
    r"\d|hour|minute|noon|midnight|stunde|mittag|mitternacht|heure|midi|minuit|hora|minuto|mediodía|medianoche"
    r"|час|минут|полдень|полночь|点|小时|分钟",
    re.IGNORECASE,
)
"""In the words for the time of a task: `tell me about monday` names none."""
_CHANGED = {
    "pause": "“{name}” is paused.",
    "resume": "“{name}” is active again.",
    "skip": "The next run of “{name}” is skipped.",
    "remove": "“{name}” is removed.",
}
_MOST_REMOVED = 9


def _add_recurring(language: SpokenLanguage) -> Move:
    phrases = PHRASES[language]

    async def move(request: RuleRequest, match: re.Match[str]) -> str | Use:
        wish = wish_in(match["words"], request, language, _JOINING)
        if isinstance(wish, str) or isinstance(wish.when, Moment) or not wish.topic:
            return f"{wish if isinstance(wish, str) else ''}{phrases.ask_for_task}"
        return await add_job(request, wish, wish.topic, (phrases.planned, phrases.repeated), language)

    return move


def _add_once(language: SpokenLanguage) -> Move:
    phrases = PHRASES[language]

    async def move(request: RuleRequest, match: re.Match[str]) -> str | Use | None:
        if request.turn.source is not None:  # the message of a job that is due
            return None
        time = request.find(request.text)
        if time.passed or (time.when is None and not time.unread):
            return None
        wish = wish_in(match["words"], request, language, _JOINING)
        if isinstance(wish, str):
            return wish
        if not wish.topic or not _CLOCK.search(wish.phrase):
            return None
        return await add_job(request, wish, wish.topic, (phrases.planned, phrases.repeated), language)

    return move


async def _change(request: RuleRequest, match: re.Match[str]) -> str | Use:
    action = _action(match)
    job = await _newest(request, paused=action == "resume")
    if job is None:
        return "Nothing of that kind is scheduled here."
    return _change_job(job, action)


async def _cancel(request: RuleRequest, match: re.Match[str]) -> str | Use:
    """Cancel what was scheduled last: a job, or a recall."""
    context = request.box.context
    job = await _newest(request)
    pending = await context.kernel.recalls.get(context.here.key, owner=context.owner)
    if job is None or (pending is not None and pending.created_at >= job.created_at):
        return await recalls.cancel(request, match)
    return _change_job(job, "remove")


def _change_job(job: Job, action: str) -> Use:
    def then(called: ToolCalled) -> str:
        if called.error is not None:
            return f"That did not work: {called.error}."
        return _CHANGED[action].format(name=job.name)

    return Use("cron", {"action": action, "job_id": job.id}, then)


async def _change_named(request: RuleRequest, match: re.Match[str]) -> str | Use | None:
    """Change the job of that name; None if no job here is called so."""
    words = match["name"].casefold().strip(" .!?“”\"'")
    named = [job for job in await _jobs(request) if words in job.name.casefold()]
    if len(named) > 1:
        return f"Which one: {', '.join(f'“{job.name}”' for job in named)}?"
    return _change_job(named[0], _action(match)) if named else None


async def _remove_all(request: RuleRequest, match: re.Match[str]) -> str | Use:
    jobs = await _jobs(request)
    if not jobs:
        return PHRASES["en"].nothing
    return _remove_one_by_one(jobs[:_MOST_REMOVED], [], left=len(jobs) > _MOST_REMOVED)


def _remove_one_by_one(jobs: Sequence[Job], removed: list[str], *, left: bool) -> Use:
    job, *others = jobs

    def then(called: ToolCalled) -> str | Use:
        if called.error is not None:
            return f"That did not work: {called.error}."
        names = [*removed, f"“{job.name}”"]
        if others:
            return _remove_one_by_one(others, names, left=left)
        return f"Removed: {', '.join(names)}.{' There are more; say it again.' if left else ''}"

    return Use("cron", {"action": "remove", "job_id": job.id}, then)


def _action(match: re.Match[str]) -> str:
    verb = match["verb"].lower()
    return verb if verb in ("pause", "resume", "skip") else "remove"


async def _jobs(request: RuleRequest) -> list[Job]:
    """The active and paused jobs here that the user may change, newest first."""
    context = request.box.context
    jobs = await context.kernel.jobs.list(context.here.key, kind=JobKind.CRON, owner=context.owner)
    return [job for job in jobs if not job.protected]


async def _newest(request: RuleRequest, *, paused: bool = False) -> Job | None:
    """Return the newest job here, or with `paused` the newest that is paused."""
    wanted = (JobState.PAUSED,) if paused else (JobState.ACTIVE, JobState.PAUSED)
    return next((job for job in await _jobs(request) if job.state in wanted), None)


def _recurring() -> Iterator[Rule]:
    for language, phrases in PHRASES.items():
        yield rule(
            rf"^\W*{phrases.polite}(?P<words>{phrases.often})$",
            _add_recurring(language),
            example=phrases.task_example if language == "en" else None,
            tool="cron",
        )


def _once() -> Iterator[Rule]:
    for language, phrases in PHRASES.items():
        yield rule(
            rf"^\W*{phrases.polite}(?P<words>(?:{phrases.tasks}).*|.{{1,80}}?[,，\s]\s*(?:{phrases.tasks}).*)$",
            _add_once(language),
            example="wake me up tomorrow at 7" if language == "en" else None,
            tool="cron",
        )


RULES = (
    *_recurring(),
    rule(
        ASKS + rf"(?P<verb>pause|resume|skip|remove|delete|stop)\s+{_IT}\W*$",
        _change,
        example="pause it",
        tool="cron",
    ),
    rule(
        ASKS + r"(?:cancel|forget|drop)\s+(?:it|that|this|(?:the|that|this|my)\s+reminder)\W*$",
        _cancel,
        example="cancel that reminder",
        tool="cron",
    ),
    rule(
        ASKS + r"(?:cancel|delete|remove|stop|forget)\s+(?:all|everything)"
        r"(?:\s+(?:of\s+)?(?:my\s+|the\s+)?\w+)?\W*$",
        _remove_all,
        example="cancel all my reminders",
        tool="cron",
    ),
    rule(
        ASKS + r"(?P<verb>pause|resume|skip|cancel|remove|delete|stop)\s+(?:(?:the|that|this|my)\s+)?"
        r"(?P<name>.{2,60}?)(?:\s+(?:job|reminder|automation))?\W*$",
        _change_named,
        tool="cron",
    ),
)

TASKS = tuple(_once())
"""They come after all other rules for scheduling: they match more."""
