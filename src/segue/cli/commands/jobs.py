"""`segue jobs`: what is scheduled in a session, and why it ran or did not."""

from collections.abc import Awaitable, Callable, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Annotated, Any

import typer

from segue.cli.support.command import Command, command
from segue.cli.support.options import Key, Limit
from segue.cli.support.output import local_time, print_json, printable, shape
from segue.cli.support.timezone import Timezone, zone_for
from segue.errors import BadPolicy, BadTime
from segue.kernel.kernel import Kernel
from segue.model.action import View
from segue.model.prompts import Mode
from segue.times.clock import to_moment

if TYPE_CHECKING:
    from datetime import datetime

    from segue.kernel.kernel import Kernel
    from segue.model.policy import Policy
    from segue.model.records import Job
    from segue.times.trigger import Trigger

app = typer.Typer(help="What is scheduled in conversations.", no_args_is_help=True)

JobId = Annotated[str, typer.Argument(help="The job's id.", show_default=False)]
Message = Annotated[str, typer.Argument(help="What the agent is asked at its times.", show_default=False)]
NewMessage = Annotated[str | None, typer.Option("--message", help="What the agent is asked at its times.")]
Schedule = Annotated[
    str, typer.Option(help="'every weekday at 9', 'every 2h', '0 9 * * 1-5 Europe/Berlin', an ISO time.")
]
NewSchedule = Annotated[str | None, typer.Option("--schedule", help="A new schedule; it counts from now.")]
Name = Annotated[str | None, typer.Option(help="A name for people; by default the message's first line.")]
AskMode = Annotated[Mode | None, typer.Option(help="check is quiet when there is nothing to say.")]
AskView = Annotated[View | None, typer.Option(help="How much of the conversation the agent is given.")]
PolicyFields = Annotated[
    list[str] | None, typer.Option("--policy", help="A field of its policy, such as late=skip. Repeatable.")
]


@app.command("list")
@command()
def list_(
    asked: Command,
    key: Key,
    limit: Limit = 100,
    ended: Annotated[bool, typer.Option("--ended", help="Those too that are over.")] = False,
    system: Annotated[bool, typer.Option("--system", help="The system's own too.")] = False,
) -> None:
    """List the jobs of a session, the newest first."""

    async def work(kernel: "Kernel") -> None:
        found = await kernel.automations(key, owner=asked.owner, limit=limit, ended=ended)
        if system:
            found += await kernel.protected(owner=asked.owner, limit=limit)
        shapes = await _shapes(kernel, found) if asked.as_json else []
        rows = (
            (job.id, job.name, job.state, job.trigger, local_time(job.next_at, asked.zone), job.last_outcome)
            for job in found
        )
        columns = ("job", "name", "state", "schedule", "next run", "last")
        asked.print_list("jobs", lambda: shapes, columns, rows, empty=f"Nothing is scheduled in {key}.")

    asked.look(work)


@app.command()
@command()
def show(asked: Command, job_id: JobId) -> None:
    """Show a job and its next runs."""
    _one(asked, lambda kernel: kernel.automation(job_id, owner=asked.owner))


@app.command()
@command()
def add(
    asked: Command,
    key: Key,
    message: Message,
    schedule: Schedule,
    timezone: Timezone = None,
    name: Name = None,
    mode: AskMode = None,
    view: AskView = None,
    policy: PolicyFields = None,
) -> None:
    """Schedule a turn into a session. Makes the session if it is missing."""

    async def made(kernel: "Kernel") -> "Job":
        trigger = await _trigger(kernel, asked, key, schedule, timezone)
        return await kernel.automate(
            key,
            trigger,
            message,
            name=name,
            mode=mode or Mode.TURN,
            view=view or View.FULL,
            policy=_policy(policy, None),
            owner=asked.owner,
        )

    _one(asked, made, create=True)


@app.command()
@command()
def edit(
    asked: Command,
    job_id: JobId,
    message: NewMessage = None,
    schedule: NewSchedule = None,
    timezone: Timezone = None,
    name: Name = None,
    mode: AskMode = None,
    view: AskView = None,
    policy: PolicyFields = None,
) -> None:
    """Change what is given of a job."""

    async def changed(kernel: "Kernel") -> "Job":
        job = await kernel.automation(job_id, owner=asked.owner)
        session = await kernel.store.session_by_id(job.session_id)
        trigger = await _trigger(kernel, asked, session.key, schedule, timezone) if schedule else None
        return await kernel.amend(
            job_id,
            name=name,
            message=message,
            trigger=trigger,
            mode=mode,
            view=view,
            policy=_policy(policy, job.policy),
            owner=asked.owner,
        )

    _one(asked, changed)


@app.command()
@command()
def pause(asked: Command, job_id: JobId) -> None:
    """No run until it is resumed."""

    async def paused(kernel: "Kernel") -> "Job":
        await kernel.automation(job_id, owner=asked.owner)
        return await kernel.pause(job_id, reason="paused by the user", owner=asked.owner)

    _one(asked, paused)


@app.command()
@command()
def resume(asked: Command, job_id: JobId) -> None:
    """Go on with the next moment from now."""

    async def resumed(kernel: "Kernel") -> "Job":
        await kernel.automation(job_id, owner=asked.owner)
        return await kernel.resume(job_id, owner=asked.owner)

    _one(asked, resumed)


@app.command()
@command()
def skip(asked: Command, job_id: JobId) -> None:
    """Let the next run go by; it is recorded as skipped."""

    async def skipped(kernel: "Kernel") -> "Job":
        await kernel.automation(job_id, owner=asked.owner)
        return await kernel.skip(job_id, owner=asked.owner)

    _one(asked, skipped)


@app.command()
@command()
def remove(asked: Command, job_id: JobId) -> None:
    """Remove a job. A run that waits is withdrawn; one that has started goes on to its end."""

    async def work(kernel: "Kernel") -> None:
        job = await kernel.automation(job_id, owner=asked.owner)
        await kernel.remove(job_id, owner=asked.owner)
        asked.say(f"Job {job.id} ({job.name}) is gone.", {"deleted": True})

    asked.look(work)


@app.command()
@command()
def explain(
    asked: Command,
    job_id: JobId,
    slot: Annotated[str | None, typer.Option(help="One of its moments, ISO 8601 with an offset.")] = None,
) -> None:
    """Tell why a job ran or did not, and what happens next."""

    asked.look(lambda kernel: explain_slot(asked, kernel, job_id, _moment(slot)))


@app.command()
@command()
def runs(asked: Command, job_id: JobId, limit: Limit = 100) -> None:
    """List the runs of a job, the newest first."""
    from segue.cli.commands.runs import print_runs

    async def work(kernel: "Kernel") -> None:
        job = await kernel.automation(job_id, owner=asked.owner)
        session = await kernel.store.session_by_id(job.session_id)
        found = await kernel.runs_of(job_id, owner=asked.owner, limit=limit)
        print_runs(asked, found, session.key, empty=f"{job.name} has not fired yet.")

    asked.look(work)


def _one(asked: Command, verb: "Callable[[Kernel], Awaitable[Job]]", *, create: bool = False) -> None:
    """Do something with a job, and print what it is then."""

    async def work(kernel: "Kernel") -> None:
        job = await verb(kernel)
        session = await kernel.store.session_by_id(job.session_id)
        shapes = await _shapes(kernel, [job]) if asked.as_json else []
        asked.print_one(lambda: shapes[0], _fields(job, session.key, asked.zone))

    asked.look(work, create=create)


async def _shapes(kernel: "Kernel", jobs: "Sequence[Job]") -> list[Any]:
    from segue.server.schemas.automations import shown

    return await shown(kernel, jobs)


def _fields(job: "Job", session_key: str, zone: str) -> dict[str, object]:
    from segue.model.schedule import local, upcoming, zone_of

    told_in = zone_of(job.trigger, zone)
    slots = [f"{local(slot, told_in):%Y-%m-%d %H:%M:%S %z}" for slot in upcoming(job, 3)]
    return {
        "job": job.id,
        "name": job.name,
        "session": session_key,
        "state": job.state,
        "because": job.state_reason,
        "schedule": job.trigger,
        "message": getattr(job.action, "prompt", None),
        "mode": getattr(job.action, "mode", None),
        "view": getattr(job.action, "view", None),
        "next runs": ", ".join(slots),
        "last run": local_time(job.last_run_at, zone),
        "last outcome": job.last_outcome,
        "last error": job.policy.unreadable or job.last_error,
        "failures in a row": job.failures or None,
        "protected": "yes" if job.protected else None,
        "made": local_time(job.created_at, zone),
    }


async def _trigger(
    kernel: "Kernel", asked: Command, key: str, schedule: str, timezone: str | None
) -> "Trigger":
    from segue.model.schedule import read_trigger

    zone = await zone_for(kernel, key, timezone, asked.owner)
    return read_trigger(schedule, now=to_moment(kernel.clock.ms()), zone=zone)


def _policy(given: list[str] | None, before: "Policy | None") -> "Policy | None":
    import json

    from segue.model.policy import Policy

    fields: dict[str, Any] = {}
    for each in given or ():
        name, equals, value = each.partition("=")
        if not equals:
            raise BadPolicy(f"a field of a policy is given as name=value, such as late=skip; got {each!r}")
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
        raise BadTime(f"a moment is written like 2026-11-16T09:00:00+01:00, with its offset; got {text!r}")
    return moment


async def explain_slot(asked: Command, kernel: Kernel, job_id: str, slot: datetime | None) -> None:
    from segue.server.schemas.automations import explained

    told, answer = await explained(kernel, job_id, slot=slot, owner=asked.owner)
    if asked.as_json:
        print_json(shape(answer))
    else:
        typer.echo("\n".join(printable(sentence) for sentence in told.sentences))
