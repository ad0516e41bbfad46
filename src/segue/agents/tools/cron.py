"""`cron` tool: adds, lists and changes the jobs of the conversation it is called in.

Invariants
  - a job belongs to the conversation it was made in; no argument can name another one
  - another chat's jobs are neither listed nor found
  - a scheduled turn cannot add jobs; it may pause or remove its own
  - a refused call changes nothing
"""

from collections.abc import Awaitable, Callable, Collection, Mapping
from dataclasses import replace
from typing import Any

from segue.agents.tools.arguments import flat
from segue.agents.tools.registry import Tool, ToolContext, ToolRefused
from segue.errors import NotFound
from segue.kernel.api.jobs import OwnedJob
from segue.model.action import Ask, changed_ask
from segue.model.conditions.vocabulary import unless
from segue.model.policy import Policy
from segue.model.prompts import Mode
from segue.model.quiet.choices import Quiet, Tell
from segue.model.records import Job
from segue.model.schedule import local, upcoming, zone_of
from segue.model.states import JobKind, JobState
from segue.model.text_checks import check_text
from segue.times.cron_line import zone_named
from segue.times.format import quoted
from segue.times.trigger import At, Cron, Every, RRule, Trigger

_NEXT_RUNS = 3
"""How many of the next runs an answer names."""
_MOST_LISTED = 100

_DESCRIPTION = (
    "Schedule work in this conversation. A job gives you a turn here at its time, with the conversation so "
    "far before you, and your answer is shown here. "
    "add: `message` (what you are to do then, in full) and one of `every_seconds`, `cron_expr`, `rrule` and "
    "`at`. "
    "list: what is scheduled here. update: change `name`, `message` or the schedule of `job_id`. "
    "pause, resume, skip (let the next run go by), remove: of `job_id`."
)

_PROPERTIES: Mapping[str, Mapping[str, Any]] = {
    "action": {
        "type": "string",
        "enum": ["add", "list", "update", "pause", "resume", "skip", "remove"],
        "description": "what to do",
    },
    "name": {"type": "string", "description": "a short name for people; by default the message's first line"},
    "message": {"type": "string", "description": "what is to be done when the time has come"},
    "every_seconds": {"type": "number", "description": "an interval, such as 3600 for every hour"},
    "cron_expr": {"type": "string", "description": "five fields, such as '0 9 * * 1-5' for weekdays at 9"},
    "rrule": {
        "type": "string",
        "description": "RFC 5545, for what a cron line cannot say: 'FREQ=WEEKLY;INTERVAL=2;BYDAY=FR'; "
        "needs `start`",
    },
    "start": {"type": "string", "description": "the first local time of `rrule`: '2026-11-20T09:00'"},
    "tz": {
        "type": "string",
        "description": "an IANA zone such as 'Europe/Berlin', for times without an offset",
    },
    "days": {
        "type": "string",
        "description": "with `cron_expr`: a calendar such as 'CN'; only its working days count, holidays do "
        "not. Give the days by it, not by the line: '0 9 * * *' for working days at 9",
    },
    "at": {"type": "string", "description": "once: '2027-03-03T10:00:00', or 'tomorrow at 09:00'"},
    "unless": {
        "type": "string",
        "enum": ["answered", "done"],
        "description": "leave a run out: `answered`, if the user has written by then ('remind me tomorrow "
        "unless I answer'); `done`, once the user answers a run with 'done', which ends the job ('nag me "
        "until done')",
    },
    "renew_after": {
        "type": "number",
        "description": "ask the user whether to go on after this many runs without an answer, and pause",
    },
    "quiet": {
        "type": "string",
        "enum": list(Quiet),
        "description": "in the quiet hours of this conversation: `defer`, run once when they end; `skip`; "
        "`hold`, run at the time and send the answer when they end; `through`, for alarms that must be heard",
    },
    "tell": {
        "type": "string",
        "enum": list(Tell),
        "description": "`digest`: its answers wait for the digest of this conversation, and come as one "
        "message with those of other jobs; `now`: each is sent at once",
    },
    "job_id": {"type": "string", "description": "which job, as `list` shows it"},
}


def cron_tool(models: Collection[str] = ()) -> Tool:
    """`models`: the short names of models that a job may ask for."""
    return Tool(
        name="cron",
        description=_DESCRIPTION,
        parameters=flat({**_PROPERTIES, **(_of_models(models) if models else {})}, required=("action",)),
        run=_cron,
    )


def _of_models(names: Collection[str]) -> Mapping[str, Mapping[str, Any]]:
    return {
        "mode": {
            "type": "string",
            "enum": list(Mode),
            "description": "turn: an answer every time; check: only if there is something to report",
        },
        "model": {
            "type": "string",
            "enum": list(names),
            "description": "which model does it; by default the one of this conversation",
        },
        "look": {
            "type": "string",
            "enum": list(names),
            "description": "with mode check: a cheaper model that looks first, each time",
        },
    }


async def _cron(context: ToolContext, *, action: str, deliver: object = None, **given: Any) -> str:
    """Run one action. `deliver` is accepted from older Python callers and ignored."""
    # Models fill unused arguments with empty strings. An empty message is kept, so that it is refused.
    given = {name: value for name, value in given.items() if value != "" or name == "message"}
    return await _ACTIONS[action](context, given)


async def _add(context: ToolContext, given: Mapping[str, Any]) -> str:
    if context.source is not None:
        raise ToolRefused(
            "a scheduled turn cannot add jobs (this prevents runaway scheduling); tell the user what you "
            "would schedule, and do it when they ask"
        )
    session = context.here
    if "message" not in given:
        raise ToolRefused("add needs `message`: what is to be done when the time has come")
    trigger = _trigger(context, given)
    if trigger is None:
        raise ToolRefused("add needs a schedule: one of `every_seconds`, `cron_expr`, `rrule`, `at`")
    models = {name: given[name] for name in ("mode", "model", "look") if name in given}
    action = Ask(check_text(given["message"], "the message"), **models)
    job = await context.kernel.jobs.add(
        session.key,
        trigger,
        action,
        name=given.get("name"),
        policy=_policy(Policy(), given, repeats=trigger.repeats),
        limits=True,
        owner=session.owner,
    )
    return f"Added. {_describe(job, context)}{await _day_hint(context, job)}"


async def _list(context: ToolContext, given: Mapping[str, Any]) -> str:
    kernel = context.kernel
    own = await kernel.jobs.list(context.here.key, kind=JobKind.CRON, owner=context.owner, limit=_MOST_LISTED)
    protected = await kernel.jobs.protected(owner=context.owner, limit=_MOST_LISTED)
    if not own and not protected:
        return "Nothing is scheduled here."
    lines = [_describe(job, context) for job in own]
    lines += [f"{_describe(job, context)} (the system's; it cannot be changed)" for job in protected]
    return "\n\n".join(lines)


async def _update(context: ToolContext, given: Mapping[str, Any]) -> str:
    found = await _find_job(context, given, "update")
    trigger, before = _trigger(context, given), found.job.trigger
    if trigger is None and "tz" in given and isinstance(before, Cron | RRule):
        trigger = replace(before, tz=given["tz"])
    name, message = given.get("name"), given.get("message")
    policy = _policy(found.job.policy, given, repeats=(trigger or before).repeats)
    models = {name: given[name] for name in ("mode", "model", "look") if name in given}
    if name is None and message is None and trigger is None and policy is None and not models:
        raise ToolRefused("update needs something to change: `name`, `message`, `unless` or a schedule")
    if "mode" in models:
        models["mode"] = Mode(models["mode"])
    action = changed_ask(found.job.action, message=message, **models)
    changed = await context.kernel.jobs.update(
        found, name=name, trigger=trigger, action=action, policy=policy, limits=True
    )
    return f"Updated. {_describe(changed, context)}{await _day_hint(context, changed)}"


async def _pause(context: ToolContext, given: Mapping[str, Any]) -> str:
    found = await _find_job(context, given, "pause")
    paused = await context.kernel.jobs.pause(found, reason="paused by the user")
    return f"Paused. {_describe(paused, context)}"


async def _resume(context: ToolContext, given: Mapping[str, Any]) -> str:
    found = await _find_job(context, given, "resume")
    return f"Resumed. {_describe(await context.kernel.jobs.resume(found), context)}"


async def _skip(context: ToolContext, given: Mapping[str, Any]) -> str:
    found = await _find_job(context, given, "skip")
    skipped = await context.kernel.jobs.skip(found)
    return f"The next run is skipped. {_describe(skipped, context)}"


async def _remove(context: ToolContext, given: Mapping[str, Any]) -> str:
    removed = await context.kernel.jobs.delete(await _find_job(context, given, "remove"))
    return f"Removed job {removed.id} ({removed.name!r})."


_ACTIONS: Mapping[str, Callable[[ToolContext, Mapping[str, Any]], Awaitable[str]]] = {
    "add": _add,
    "list": _list,
    "update": _update,
    "pause": _pause,
    "resume": _resume,
    "skip": _skip,
    "remove": _remove,
}


async def _find_job(context: ToolContext, given: Mapping[str, Any], action: str) -> OwnedJob:
    """Return the job `job_id`, if it is this conversation's or the system's. Raises `ToolRefused`."""
    job_id = given.get("job_id")
    if job_id is None:
        raise ToolRefused(f"{action} needs `job_id`; `list` shows the jobs of this conversation")
    jobs = context.kernel.jobs
    try:
        found = await jobs.load(job_id, kind=JobKind.CRON, owner=context.owner)
        if found.job.protected or await jobs.is_listed_in(found, context.here.key, owner=context.owner):
            return found
    except NotFound:
        pass
    raise ToolRefused(f"job {quoted(job_id)} is not found here; `list` shows what this conversation has")


def _trigger(context: ToolContext, given: Mapping[str, Any]) -> Trigger | None:
    named = [name for name in ("every_seconds", "cron_expr", "rrule", "at") if name in given]
    if "days" in given and named and named != ["cron_expr"]:
        raise ToolRefused(f"`days` goes with `cron_expr`, not with `{named[0]}`")
    if len(named) > 1:
        raise ToolRefused(f"a job has one schedule, not {' and '.join(named)}; give one of them")
    tz = given.get("tz")
    if tz is not None and zone_named(tz) is None:
        raise ToolRefused(f"there is no time zone {quoted(tz)}; use an IANA name such as 'Europe/Berlin'")
    match named:
        case ["every_seconds"]:
            least = context.kernel.settings.least_interval_seconds
            if given["every_seconds"] < least:
                raise ToolRefused(f"`every_seconds` must be at least {least:g}, got {given['every_seconds']}")
            return Every(given["every_seconds"])
        case ["cron_expr"]:
            return Cron(given["cron_expr"], tz=tz, days=given.get("days"))
        case ["rrule"]:
            if "start" not in given:
                raise ToolRefused("`rrule` needs `start`, its first local time such as '2026-11-20T09:00'")
            return RRule(given["rrule"], given["start"], tz=tz)
        case ["at"]:
            return At(given["at"], tz=tz)
    return None


async def _day_hint(context: ToolContext, job: Job) -> str:
    """What to say of a job from Monday to Friday in a conversation that has a calendar of working days."""
    trigger = job.trigger
    if not isinstance(trigger, Cron) or trigger.days or not trigger.expr.endswith(" 1-5"):
        return ""
    if (days := await context.kernel.days.of_session(context.here)) is None:
        return ""
    return (
        f" It runs on holidays too. The calendar of this conversation is {days}: if working days are meant, "
        f"update the job with `days` '{days}' and `cron_expr` '{trigger.expr.removesuffix('1-5')}*'."
    )


def _policy(before: Policy, given: Mapping[str, Any], *, repeats: bool) -> Policy | None:
    """The policy with `unless`, `renew_after`, `quiet` and `tell`; None if none of them is given."""
    fields = unless(given["unless"], repeats=repeats) if "unless" in given else {}
    if "renew_after" in given:
        wanted = given["renew_after"]
        fields["renew_after"] = int(wanted) if float(wanted).is_integer() else wanted
    fields |= {name: given[name] for name in ("quiet", "tell") if name in given}
    return before.changed(fields) if fields else None


def _describe(job: Job, context: ToolContext) -> str:
    """Describe the job: its id, its schedule in words, and the next runs with their offsets."""
    model = f", with the model {job.action.model}" if isinstance(job.action, Ask) and job.action.model else ""
    head = f"Job {job.id} ({job.name!r}): {job.trigger}{model}."
    if job.state is not JobState.ACTIVE:
        return f"{head} It is {job.state}" + (f": {job.state_reason}." if job.state_reason else ".")
    zone = zone_of(job.trigger, context.zone)
    slots = [local(slot, zone).isoformat(timespec="seconds") for slot in upcoming(job, _NEXT_RUNS)]
    if len(slots) == 1:
        return f"{head} It runs on {slots[0]}."
    return f"{head} Next runs: {', '.join(slots)}."
