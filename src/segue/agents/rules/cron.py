"""Again and again: the rules that call `cron`.

“it” and “that” are what was scheduled here last.
"""

import re
from collections.abc import Iterator
from typing import Any, NamedTuple

from segue.agent import ToolCalled
from segue.agents.rules import recall
from segue.agents.rules.rule import Heard, Use, rule
from segue.errors import BadTime, ZoneNeeded
from segue.model import Job
from segue.states import JobState
from segue.when import CronLine, Interval, When, read_schedule

_ASKS = r"^\W*(?:please\s+|(?:can|could|will|would)\s+you\s+(?:please\s+)?)?"
_IN_CHINESE = r"^(?:请)?(?P<words>每.+)$"
_IT = r"(?:it|that|this|(?:the|that|this|my)\s+(?:job|automation|schedule|report))"
_JOINING = re.compile(r"^(?:[,:;–-]\s*)?(?:please\s+)?(?:(?:to|that)\s+)?", re.IGNORECASE)


class _Order(NamedTuple):
    when: When
    message: str


def _order(words: str, heard: Heard) -> _Order | None:
    """A schedule and what is to be done, whichever comes first. The longest that can be read is meant."""
    for when, message in _splits(words.rstrip(" .!?").split()):
        try:
            read = read_schedule(when.rstrip(",:;"), now=heard.now, zone=heard.zone)
        except ZoneNeeded:
            raise
        except BadTime:
            continue
        if isinstance(read, Interval | CronLine) and message:
            return _Order(read, message)
    return None


def _splits(words: list[str]) -> Iterator[tuple[str, str]]:
    """From the longest schedule at the beginning to the shortest, and then those at the end."""
    for end in range(len(words) - 1, 0, -1):
        yield " ".join(words[:end]), _JOINING.sub("", " ".join(words[end:]))
    for begin in range(1, len(words)):
        yield " ".join(words[begin:]), " ".join(words[:begin])


async def _add_in_chinese(heard: Heard, found: re.Match[str]) -> str | Use:
    """There are no spaces to part a schedule from what is to be done: the longest beginning that reads."""
    words = found["words"].rstrip(" 。！？!?")
    for end in range(len(words) - 1, 1, -1):
        message = words[end:].lstrip(" ，,：:")
        try:
            read = read_schedule(words[:end].rstrip(" ，,：:"), now=heard.now, zone=heard.zone)
        except ZoneNeeded:
            raise
        except BadTime:
            continue
        if isinstance(read, Interval | CronLine) and message:
            return Use("cron", {"action": "add", "message": message, **_schedule(read)}, _passed_on)
    return "多久一次，做什么？比如：“每个工作日9点告诉我有什么变化”。"


async def _add(heard: Heard, found: re.Match[str]) -> str | Use:
    order = _order(found["words"], heard)
    if order is None:
        return "How often, and what? Say it like “every weekday at 9 tell me what is new”."
    return Use("cron", {"action": "add", "message": order.message, **_schedule(order.when)}, _passed_on)


def _schedule(when: When) -> dict[str, Any]:
    match when:
        case Interval(seconds=seconds):
            return {"every_seconds": seconds}
        case CronLine(expr=expr, zone=zone):
            return {"cron_expr": expr, "tz": zone}
        case _:
            raise AssertionError("one moment is a reminder, not a schedule")


async def _change(heard: Heard, found: re.Match[str]) -> str | Use:
    verb = found["verb"].lower()
    action = verb if verb in ("pause", "resume", "skip") else "remove"
    job = await _newest(heard, paused=action == "resume")
    if job is None:
        return "Nothing of that kind is scheduled here."
    return Use("cron", {"action": action, "job_id": job.id}, _passed_on)


async def _cancel(heard: Heard, found: re.Match[str]) -> str | Use:
    """What was scheduled last: a job, or a recall."""
    context = heard.box.context
    job = await _newest(heard)
    pending = await context.kernel.recall(context.session.key, owner=context.owner)
    if job is None or (pending is not None and pending.created_at >= job.created_at):
        return await recall.cancel(heard, found)
    return Use("cron", {"action": "remove", "job_id": job.id}, _passed_on)


async def _newest(heard: Heard, *, paused: bool = False) -> Job | None:
    """The newest job here; to be resumed, the newest that is paused."""
    context = heard.box.context
    jobs = await context.kernel.automations(context.session.key, owner=context.owner)
    wanted = (JobState.PAUSED,) if paused else (JobState.ACTIVE, JobState.PAUSED)
    return next((job for job in jobs if job.state in wanted), None)


def _passed_on(called: ToolCalled) -> str:
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
