"""Recurring jobs: the rules that call `cron`.

“it” and “that” mean the job or recall that was scheduled here last.
"""

import re
from typing import Any, NamedTuple

from segue.agents.rules import recalls
from segue.agents.rules.rule import RuleRequest, Use, rule
from segue.model.agent import ToolCalled
from segue.model.records import Job
from segue.model.states import JobKind, JobState
from segue.times.reader import Interval, RepeatedCronLine, When

_ASKS = r"^\W*(?:please\s+|(?:can|could|will|would)\s+you\s+(?:please\s+)?)?"
_IN_CHINESE = r"^(?:请)?(?P<words>每.+)$"
_IT = r"(?:it|that|this|(?:the|that|this|my)\s+(?:job|automation|schedule|report))"
_JOINING = re.compile(r"^(?:[,:;–-]\s*)?(?:please\s+)?(?:(?:to|that)\s+)?", re.IGNORECASE)


class _Order(NamedTuple):
    when: When
    message: str


def _order(words: str, request: RuleRequest, *, chinese: bool = False) -> _Order | str:
    """Return the schedule and the task, in either order; or a sentence why no schedule was found."""
    time = request.find(words)
    if not isinstance(time.when, Interval | RepeatedCronLine):
        return request.why_unread(time, chinese=chinese)
    before, _, after = words.rstrip(" .!?。！？").partition(time.phrase.rstrip("."))
    after = _JOINING.sub("", after.lstrip(" .，,：:"))
    return _Order(time.when, " ".join((*before.split(), *after.split())))


async def _add_in_chinese(request: RuleRequest, match: re.Match[str]) -> str | Use:
    order = _order(match["words"], request, chinese=True)
    if isinstance(order, str) or not order.message:
        why = order if isinstance(order, str) else ""
        return f"{why}多久一次，做什么？比如：“每个工作日9点告诉我有什么变化”。"
    return _add_job(order)


async def _add(request: RuleRequest, match: re.Match[str]) -> str | Use:
    order = _order(match["words"], request)
    if isinstance(order, str) or not order.message:
        why = order if isinstance(order, str) else ""
        return f"{why}How often, and what? Say it like “every weekday at 9 tell me what is new”."
    return _add_job(order)


def _add_job(order: _Order) -> Use:
    return Use("cron", {"action": "add", "message": order.message, **_schedule(order.when)}, _result_text)


def _schedule(when: When) -> dict[str, Any]:
    match when:
        case Interval(seconds=seconds):
            return {"every_seconds": seconds}
        case RepeatedCronLine(expr=expr, zone=zone):
            return {"cron_expr": expr, "tz": zone}
        case _:
            raise AssertionError("one moment is a reminder, not a schedule")


async def _change(request: RuleRequest, match: re.Match[str]) -> str | Use:
    verb = match["verb"].lower()
    action = verb if verb in ("pause", "resume", "skip") else "remove"
    job = await _newest(request, paused=action == "resume")
    if job is None:
        return "Nothing of that kind is scheduled here."
    return Use("cron", {"action": action, "job_id": job.id}, _result_text)


async def _cancel(request: RuleRequest, match: re.Match[str]) -> str | Use:
    """Cancel what was scheduled last: a job, or a recall."""
    context = request.box.context
    job = await _newest(request)
    pending = await context.kernel.recalls.get(context.here.key, owner=context.owner)
    if job is None or (pending is not None and pending.created_at >= job.created_at):
        return await recalls.cancel(request, match)
    return Use("cron", {"action": "remove", "job_id": job.id}, _result_text)


async def _newest(request: RuleRequest, *, paused: bool = False) -> Job | None:
    """Return the newest job here, or with `paused` the newest that is paused."""
    context = request.box.context
    jobs = await context.kernel.jobs.list(context.here.key, kind=JobKind.CRON, owner=context.owner)
    wanted = (JobState.PAUSED,) if paused else (JobState.ACTIVE, JobState.PAUSED)
    return next((job for job in jobs if job.state in wanted), None)


def _result_text(called: ToolCalled) -> str:
    return f"That did not work: {called.error}." if called.error is not None else called.result or ""


_OFTEN = (
    r"every\s+(?:\d|other|second|minute|half|hour|day|week|month|year|morning|evening|noon|night"
    r"|mon|tues|wednes|thurs|fri|satur|sun)"
)

RULES = (
    rule(_IN_CHINESE, _add_in_chinese),
    rule(
        _ASKS + rf"(?P<words>every\s.+|.+\s{_OFTEN}.*)$",
        _add,
        example="every weekday at 9 tell me what is new",
        tool="cron",
    ),
    rule(
        _ASKS + rf"(?P<verb>pause|resume|skip|remove|delete|stop)\s+{_IT}\W*$",
        _change,
        example="pause it",
        tool="cron",
    ),
    rule(
        _ASKS + r"(?:cancel|forget|drop)\s+(?:it|that|this)\W*$", _cancel, example="cancel that", tool="cron"
    ),
)
