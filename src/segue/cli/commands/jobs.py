"""`segue jobs`: list, add, change and explain the scheduled jobs of a session."""

from collections.abc import Awaitable, Callable, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Annotated, Any

import typer

from segue.cli.support.command import CommandContext, command
from segue.cli.support.forecasts import print_forecast, print_preview
from segue.cli.support.human_time import exact_time
from segue.cli.support.options import Key, Limit, MaybeKey
from segue.cli.support.output import print_json, printable, to_json
from segue.cli.support.timezone import Timezone, zone_for
from segue.errors import BadPolicy, BadTime, BadTrigger
from segue.model.action import Ask, View, changed_ask
from segue.model.prompts import Mode
from segue.model.states import JobKind
from segue.model.text_checks import check_text
from segue.times.clock import to_moment
from segue.times.days.working_days import Shift
from segue.times.trigger import Cron

if TYPE_CHECKING:
    from segue.kernel.api.jobs import OwnedJob
    from segue.kernel.kernel import Kernel
    from segue.model.policy import Policy
    from segue.model.records import Job, Session
    from segue.times.trigger import Trigger

_MOST_SESSIONS = 500

app = typer.Typer(help="Add, change and explain scheduled jobs.", no_args_is_help=True)

JobId = Annotated[str, typer.Argument(help="The job's id.", show_default=False)]
Message = Annotated[str, typer.Argument(help="The prompt for the agent at each run.", show_default=False)]
NewMessage = Annotated[str | None, typer.Option("--message", help="The prompt for the agent at each run.")]
Schedule = Annotated[
    str, typer.Option(help="'every weekday at 9', 'every 2h', '0 9 * * 1-5 Europe/Berlin', an ISO time.")
]
NewSchedule = Annotated[str | None, typer.Option("--schedule", help="A new schedule, which counts from now.")]
Days = Annotated[str | None, typer.Option(help="A day set, such as CN: only its working days count.")]
DayShift = Annotated[Shift | None, typer.Option(help="The working day that a run on a day off moves to.")]
Name = Annotated[str | None, typer.Option(help="The job's name. Default: the first line of the message.")]
AskMode = Annotated[
    Mode | None,
    typer.Option(help="check sends nothing if there is nothing to report; say sends the message itself."),
]
AskView = Annotated[View | None, typer.Option(help="How much of the conversation the agent receives.")]
AskModel = Annotated[
    str | None,
    typer.Option(
        "--model", help="A name of SEGUE_MODELS. Default: that of the default model; '' when editing."
    ),
]
LookModel = Annotated[
    str | None, typer.Option("--look", help="With --mode check: a name of a cheaper model that looks first.")
]
PolicyFields = Annotated[
    list[str] | None, typer.Option("--policy", help="A field of the policy, such as late=skip. Repeatable.")
]

Unless = Annotated[
    str | None,
    typer.Option(help="answered: no run if the user has written by then. done: until the user says done."),
]


@app.command("list")
@command()
def list_(
    context: CommandContext,
    session: MaybeKey = None,
    limit: Limit = 100,
    ended: Annotated[bool, typer.Option("--ended", help="Include ended jobs.")] = False,
    system: Annotated[bool, typer.Option("--system", help="Include system jobs.")] = False,
) -> None:
    """List the jobs of a session, newest first; without a session, those of all sessions."""

    async def work(kernel: "Kernel") -> None:
        sessions = await _sessions(kernel, context, session)
        found = await _jobs_of(kernel, sessions, ended=ended, limit=limit)
        if system:
            found += await kernel.jobs.protected(owner=context.owner, limit=limit)
        models = await _models(kernel, found) if context.as_json else []
        names = {each.id: each.title or each.key for each in sessions}
        rows = (
            (
                job.id,
                job.name,
                *(() if session else (names.get(job.session_id),)),
                job.state,
                job.trigger,
                context.time(job.next_at),
                job.last_outcome,
            )
            for job in found
        )
        of_all = () if session else ("session",)
        columns = ("job", "name", *of_all, "state", "schedule", "next run", "last")
        where = sessions[0].key if session else "any session"
        context.print_list("jobs", lambda: models, columns, rows, empty=f"Nothing is scheduled in {where}.")

    context.run(work)


async def _sessions(kernel: "Kernel", context: CommandContext, session: str | None) -> "list[Session]":
    if session is None:
        return await kernel.sessions.list(owner=context.owner, limit=_MOST_SESSIONS)
    return [await kernel.sessions.get(await context.key(kernel, session), owner=context.owner)]


async def _jobs_of(
    kernel: "Kernel", sessions: "Sequence[Session]", *, ended: bool, limit: int
) -> "list[Job]":
    """The jobs of these sessions, newest first."""
    found = [
        job
        for each in sessions
        for job in await kernel.jobs.list(each, kind=JobKind.CRON, ended=ended, limit=limit)
    ]
    return sorted(found, key=lambda job: job.created_at, reverse=True)[:limit]


@app.command()
@command()
def show(context: CommandContext, job_id: JobId) -> None:
    """Show a job and its next runs."""
    _change_and_print(context, lambda kernel: _get(kernel, context, job_id))


@app.command()
@command()
def add(
    context: CommandContext,
    session: Key,
    message: Message,
    schedule: Schedule,
    timezone: Timezone = None,
    days: Days = None,
    shift: DayShift = None,
    name: Name = None,
    mode: AskMode = None,
    view: AskView = None,
    model: AskModel = None,
    look: LookModel = None,
    policy: PolicyFields = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Show what would be made; store nothing.")
    ] = False,
    unless: Unless = None,
) -> None:
    """Schedule a turn in a session. Creates the session if it does not exist."""

    async def job(kernel: "Kernel") -> "tuple[str, Trigger, Ask, dict[str, Any]]":
        key = await context.key(kernel, session)
        trigger = _on_days(await _trigger(kernel, context, key, schedule, timezone, days), days, shift)
        action = Ask(
            check_text(message, "the message"),
            mode=mode or Mode.TURN,
            view=view or View.FULL,
            model=model,
            look=look,
        )
        chosen = _policy(policy, None, unless=unless, repeats=trigger.repeats)
        options = {"name": name, "policy": chosen, "limits": True, "owner": context.owner}
        return key, trigger, action, options

    async def add_job(kernel: "Kernel") -> "Job":
        key, trigger, action, options = await job(kernel)
        return await kernel.jobs.add(key, trigger, action, **options)

    async def show_job(kernel: "Kernel") -> None:
        key, trigger, action, options = await job(kernel)
        found = await kernel.jobs.preview(key, trigger, action, **options)
        print_preview(context, found, kernel.sessions.zone_in(None))

    if dry_run:
        context.run(show_job, create=True)
    else:
        _change_and_print(context, add_job, create=True)


@app.command()
@command()
def forecast(
    context: CommandContext,
    session: Key,
    days: Annotated[int, typer.Option(help="How many days from now, 1 to 366.")] = 30,
) -> None:
    """Show what the jobs of a session will do, and what that is expected to cost."""

    async def work(kernel: "Kernel") -> None:
        found = await kernel.sessions.get(await context.key(kernel, session), owner=context.owner)
        coming = await kernel.jobs.forecast(found, days=days)
        print_forecast(context, coming, found.key, kernel.sessions.zone_in(found))

    context.run(work)


@app.command()
@command()
def edit(
    context: CommandContext,
    job_id: JobId,
    message: NewMessage = None,
    schedule: NewSchedule = None,
    timezone: Timezone = None,
    days: Days = None,
    shift: DayShift = None,
    name: Name = None,
    mode: AskMode = None,
    view: AskView = None,
    model: AskModel = None,
    look: LookModel = None,
    policy: PolicyFields = None,
    unless: Unless = None,
) -> None:
    """Change the given fields of a job."""

    async def edit_job(kernel: "Kernel") -> "Job":
        found = await _load(kernel, context, job_id)
        given, trigger = bool(schedule or days or shift), found.job.trigger
        if schedule:
            before = trigger.days if isinstance(trigger, Cron) else None
            key = found.session.key
            trigger = await _trigger(kernel, context, key, schedule, timezone, days or before)
        return await kernel.jobs.update(
            found,
            name=name,
            trigger=_on_days(trigger, days, shift) if given else None,
            action=changed_ask(
                found.job.action, message=message, mode=mode, view=view, **_models_given(model, look)
            ),
            policy=_policy(policy, found.job.policy, unless=unless, repeats=trigger.repeats),
            limits=True,
        )

    _change_and_print(context, edit_job)


@app.command()
@command()
def pause(context: CommandContext, job_id: JobId) -> None:
    """Pause a job. No new run starts until it is resumed."""

    async def pause_job(kernel: "Kernel") -> "Job":
        return await kernel.jobs.pause(await _load(kernel, context, job_id), reason="paused by the user")

    _change_and_print(context, pause_job)


@app.command()
@command()
def resume(context: CommandContext, job_id: JobId) -> None:
    """Resume a job at its next slot from now."""

    async def resume_job(kernel: "Kernel") -> "Job":
        return await kernel.jobs.resume(await _load(kernel, context, job_id))

    _change_and_print(context, resume_job)


@app.command()
@command()
def skip(context: CommandContext, job_id: JobId) -> None:
    """Skip the next run. It is recorded as skipped."""

    async def skip_job(kernel: "Kernel") -> "Job":
        return await kernel.jobs.skip(await _load(kernel, context, job_id))

    _change_and_print(context, skip_job)


@app.command()
@command()
def remove(context: CommandContext, job_id: JobId) -> None:
    """Remove a job and cancel a queued run. A running turn continues to its end."""

    async def work(kernel: "Kernel") -> None:
        job = await kernel.jobs.delete(await _load(kernel, context, job_id))
        context.say(f"Job {job.id} ({job.name}) was removed.", {"deleted": True})

    context.run(work)


@app.command()
@command()
def explain(
    context: CommandContext,
    job_id: JobId,
    slot: Annotated[str | None, typer.Option(help="One slot of the job, ISO 8601 with an offset.")] = None,
) -> None:
    """Explain why a job ran or did not run, and what happens next."""

    context.run(lambda kernel: explain_slot(context, kernel, job_id, _moment(slot)))


@app.command()
@command()
def runs(context: CommandContext, job_id: JobId, limit: Limit = 100) -> None:
    """List the runs of a job, newest first."""
    from segue.cli.commands.runs import print_runs

    async def work(kernel: "Kernel") -> None:
        found = await _load(kernel, context, job_id)
        runs = await kernel.runs.list(job=found, limit=limit)
        names = {found.job.id: found.job.name}
        print_runs(context, runs, found.session.key, names, empty=f"{found.job.name} has not fired yet.")

    context.run(work)


def _change_and_print(
    context: CommandContext, operation: "Callable[[Kernel], Awaitable[Job]]", *, create: bool = False
) -> None:
    """Run an operation that returns a job, and print the job."""

    async def work(kernel: "Kernel") -> None:
        job = await operation(kernel)
        session = await kernel.sessions.by_id(job.session_id)
        models = await _models(kernel, [job], session) if context.as_json else []
        context.print_one(lambda: models[0], _fields(job, session.key, context.zone))

    context.run(work, create=create)


async def _load(kernel: "Kernel", context: CommandContext, job_id: str) -> "OwnedJob":
    return await kernel.jobs.load(job_id, kind=JobKind.CRON, owner=context.owner)


def _models_given(model: str | None, look: str | None) -> dict[str, Any]:
    """What is given of the two. An empty text takes the name away."""
    return {name: value or None for name, value in (("model", model), ("look", look)) if value is not None}


async def _get(kernel: "Kernel", context: CommandContext, job_id: str) -> "Job":
    return (await _load(kernel, context, job_id)).job


async def _models(kernel: "Kernel", jobs: "Sequence[Job]", *known: "Session") -> list[Any]:
    from segue.server.schemas.automations import jobs_out

    return await jobs_out(kernel, jobs, *known)


def _fields(job: "Job", session_key: str, zone: str) -> dict[str, object]:
    from segue.model.schedule import local, upcoming

    slots = [f"{local(slot, zone):%Y-%m-%d %H:%M:%S}" for slot in upcoming(job, 3)]
    return {
        "job": job.id,
        "name": job.name,
        "session": session_key,
        "state": job.state,
        "reason": job.state_reason,
        "schedule": job.trigger,
        "message": getattr(job.action, "prompt", None),
        "mode": getattr(job.action, "mode", None),
        "view": getattr(job.action, "view", None),
        "model": getattr(job.action, "model", None),
        "look": getattr(job.action, "look", None),
        "next runs": f"{', '.join(slots)} {zone}" if slots else None,
        "last run": exact_time(job.last_run_at, zone),
        "last outcome": job.last_outcome,
        "last error": job.policy.unreadable or job.last_error,
        "failures in a row": job.failures or None,
        "protected": "yes" if job.protected else None,
        "created": exact_time(job.created_at, zone),
    }


async def _trigger(
    kernel: "Kernel",
    context: CommandContext,
    key: str,
    schedule: str,
    timezone: str | None,
    days: str | None,
) -> "Trigger":
    """The trigger of a schedule. `days`: the set that words about working days mean; else the session's."""
    from segue.model.schedule import read_trigger

    zone = await zone_for(kernel, key, timezone, context.owner)
    session = await kernel.sessions.find(key, owner=context.owner)
    days = days or await kernel.days.of_session(session)
    return read_trigger(schedule, now=to_moment(kernel.clock.ms()), zone=zone, days=days)


def _on_days(trigger: "Trigger", days: str | None, shift: Shift | None) -> "Trigger":
    """The trigger with the given day set and shift. Raises BadTrigger unless it is a cron line."""
    if days is None and shift is None:
        return trigger
    if not isinstance(trigger, Cron):
        raise BadTrigger(f"--days and --shift go with a cron line such as '0 9 * * *', got {trigger}")
    return Cron(trigger.expr, trigger.tz, days or trigger.days, shift or trigger.shift)


def _policy(
    options: list[str] | None, before: "Policy | None", *, unless: str | None, repeats: bool
) -> "Policy | None":
    import json

    from segue.model.conditions.vocabulary import unless as conditions_of
    from segue.model.policy import Policy

    fields: dict[str, Any] = conditions_of(unless, repeats=repeats) if unless else {}
    for each in options or ():
        name, equals, value = each.partition("=")
        if not equals:
            raise BadPolicy(f"a policy field is given as name=value, such as late=skip; got {each!r}")
        try:
            fields[name] = json.loads(value)
        except ValueError:
            fields[name] = value
    return (before or Policy()).changed(fields) if fields else None


def _moment(text: str | None) -> "datetime | None":
    from datetime import datetime

    if text is None:
        return None
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        moment = None
    if moment is None or moment.tzinfo is None:
        raise BadTime(f"a slot is written as 2026-11-16T09:00:00+01:00, with an offset; got {text!r}")
    return moment


async def explain_slot(context: CommandContext, kernel: "Kernel", job_id: str, slot: datetime | None) -> None:
    from segue.server.schemas.automations import explain_job

    found = await kernel.jobs.load(job_id, removed=True, owner=context.owner)
    explanation, model = await explain_job(kernel, found, slot)
    if context.as_json:
        print_json(to_json(model))
    else:
        typer.echo("\n".join(printable(sentence) for sentence in explanation.sentences))
