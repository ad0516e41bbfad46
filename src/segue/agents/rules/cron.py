"""Recurring jobs: the rules that call `cron`.

“it” and “that” mean the job or recall that was scheduled here last.
"""

import re
from typing import Any, NamedTuple

from segue.agents.rules import recalls
from segue.agents.rules.reminders import ASKS
from segue.agents.rules.rule import RuleRequest, Use, rule
from segue.agents.rules.spoken import SpokenLanguage, spoken
from segue.errors import BadTrigger
from segue.model.agent import ToolCalled
from segue.model.records import Job
from segue.model.states import JobKind, JobState
from segue.times.reader import Moment, When
from segue.times.reader.triggers import trigger_of
from segue.times.trigger import Cron, Every, RRule, Trigger, resolve

_IN_CHINESE = r"^(?:请)?(?P<words>每.+)$"
_IN_GERMAN = r"^\W*(?:bitte\s+)?(?P<words>(?:jede[nrs]?|alle|täglich|werktags)\s.+)$"
_IT = r"(?:it|that|this|(?:the|that|this|my)\s+(?:job|automation|schedule|report))"
_JOINING = re.compile(r"^(?:[,:;–-]\s*)?(?:please\s+|remind\s+me\s+)?(?:(?:to|that)\s+)?", re.IGNORECASE)
_REMIND = re.compile(r"^remind\s+me(?:\s+to)?\b\s*", re.IGNORECASE)
_CONFIRMED = {
    "en": "Done, {phrase}: {message}. The first time is {when}.",
    "de": "Gern, {phrase}: {message}. Das erste Mal {when}.",
    "zh": "好的，{phrase}：{message}。第一次是{when}。",
}
_CHANGED = {
    "pause": "“{name}” is paused.",
    "resume": "“{name}” is active again.",
    "skip": "The next run of “{name}” is skipped.",
    "remove": "“{name}” is removed.",
}


class _Order(NamedTuple):
    when: When
    phrase: str
    message: str


def _order(words: str, request: RuleRequest, *, chinese: bool = False) -> _Order | str:
    """Return the schedule and the task, in either order; or a sentence why no schedule was found."""
    time = request.find(words)
    if time.when is None or isinstance(time.when, Moment):
        return request.why_unread(time, chinese=chinese)
    before, _, after = words.rstrip(" .!?。！？").partition(time.phrase.rstrip("."))
    after = _JOINING.sub("", after.lstrip(" .，,：:"))
    message = _REMIND.sub("", " ".join((*before.split(), *after.split())))
    return _Order(time.when, time.phrase, message)


async def _add_in_chinese(request: RuleRequest, match: re.Match[str]) -> str | Use:
    order = _order(match["words"], request, chinese=True)
    if isinstance(order, str) or not order.message:
        why = order if isinstance(order, str) else ""
        return f"{why}多久一次，做什么？比如：“每个工作日9点告诉我有什么变化”。"
    return await _add_job(request, order, "zh")


async def _add_in_german(request: RuleRequest, match: re.Match[str]) -> str | Use:
    order = _order(match["words"], request)
    if isinstance(order, str) or not order.message:
        why = order if isinstance(order, str) else ""
        return f"{why}Wie oft, und was? Zum Beispiel: „jeden Werktag um 9 sag mir, was neu ist“."
    return await _add_job(request, order, "de")


async def _add(request: RuleRequest, match: re.Match[str]) -> str | Use:
    order = _order(match["words"], request)
    if isinstance(order, str) or not order.message:
        why = order if isinstance(order, str) else ""
        return f"{why}How often, and what? Say it like “every weekday at 9 tell me what is new”."
    return await _add_job(request, order, "en")


async def _add_job(request: RuleRequest, order: _Order, language: SpokenLanguage) -> str | Use:
    context = request.box.context
    days = await context.kernel.days.of_session(context.here)
    try:
        trigger = trigger_of(order.when, days=days)
        applied = await context.kernel.days.applied(trigger, owner=context.owner)
        first = resolve(applied, now=request.now, zone=None).next_after(request.now)
    except BadTrigger as error:
        return f"I scheduled nothing: {error}."

    def then(called: ToolCalled) -> str:
        if called.error is not None:
            return f"That did not work: {called.error}."
        when = spoken(first or request.now, request.now, language)
        return _CONFIRMED[language].format(phrase=order.phrase, message=order.message, when=when)

    return Use("cron", {"action": "add", "message": order.message, **_schedule(trigger)}, then)


def _schedule(trigger: Trigger) -> dict[str, Any]:
    match trigger:
        case Every(interval=interval):
            return {"every_seconds": round(interval.total_seconds())}
        case Cron(expr=expr, tz=zone, days=days):
            return {"cron_expr": expr, "tz": zone, **({"days": days} if days else {})}
        case RRule(rrule=rule, start=start, tz=zone):
            return {"rrule": rule, "start": start.isoformat(timespec="minutes"), "tz": zone}
        case _:
            raise AssertionError("one moment is a reminder, not a schedule")


async def _change(request: RuleRequest, match: re.Match[str]) -> str | Use:
    verb = match["verb"].lower()
    action = verb if verb in ("pause", "resume", "skip") else "remove"
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


async def _newest(request: RuleRequest, *, paused: bool = False) -> Job | None:
    """Return the newest job here, or with `paused` the newest that is paused."""
    context = request.box.context
    jobs = await context.kernel.jobs.list(context.here.key, kind=JobKind.CRON, owner=context.owner)
    wanted = (JobState.PAUSED,) if paused else (JobState.ACTIVE, JobState.PAUSED)
    return next((job for job in jobs if job.state in wanted), None)


_OFTEN = (
    r"every\s+(?:\d|other|second|minute|half|hour|day|week|month|year|morning|evening|noon|night"
    r"|mon|tues|wednes|thurs|fri|satur|sun)"
)

RULES = (
    rule(_IN_CHINESE, _add_in_chinese),
    rule(_IN_GERMAN, _add_in_german),
    rule(
        ASKS + rf"(?P<words>every\s.+|.+\s{_OFTEN}.*)$",
        _add,
        example="every weekday at 9 tell me what is new",
        tool="cron",
    ),
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
)
