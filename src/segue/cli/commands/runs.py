"""`segue runs`: list, show and explain the runs of jobs, and what they used."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from segue.cli.support.command import CommandContext, command
from segue.cli.support.human_time import exact_time
from segue.cli.support.options import Key, Limit
from segue.model.cost.usage import run_usage
from segue.times.clock import to_moment

if TYPE_CHECKING:
    from segue.kernel.kernel import Kernel
    from segue.model.records import Run
    from segue.server.schemas.runs import RunOut

app = typer.Typer(help="List and explain the runs of jobs.", no_args_is_help=True)

RunId = Annotated[str, typer.Argument(help="The run's id, JOB:SLOT.", show_default=False)]


@app.command("list")
@command()
def list_(context: CommandContext, session: Key, limit: Limit = 100) -> None:
    """List the runs of a session's jobs, newest first."""

    async def work(kernel: "Kernel") -> None:
        key = await context.key(kernel, session)
        found = await kernel.runs.list(key, owner=context.owner, limit=limit)
        jobs = await kernel.jobs.list(key, ended=True, owner=context.owner, limit=500)
        names = {job.id: job.name for job in jobs}
        print_runs(context, found, key, names, empty=f"No job of {key} has run yet.")

    context.run(work)


@app.command()
@command()
def usage(
    context: CommandContext,
    session: Key,
    days: Annotated[int, typer.Option(help="How many days; today is the last of them.")] = 30,
) -> None:
    """Show the tokens and the cost of a session, by day and job."""
    from segue.cli.support.forecasts import print_usage

    async def work(kernel: "Kernel") -> None:
        key = await context.key(kernel, session)
        found = await kernel.runs.usage(key, days=days, timezone=context.zone, owner=context.owner)
        print_usage(context, found, key)

    context.run(work)


@app.command()
@command()
def show(context: CommandContext, run_id: RunId) -> None:
    """Show a run."""

    async def work(kernel: "Kernel") -> None:
        run = await kernel.runs.get(run_id, owner=context.owner)
        session = await kernel.sessions.by_id(run.session_id)
        context.print_one(lambda: _models([run], session.key)[0], _fields(run, session.key, context.zone))

    context.run(work)


@app.command()
@command()
def explain(context: CommandContext, run_id: RunId) -> None:
    """Explain why a run happened or did not happen, and what happens next."""
    from segue.cli.commands.jobs import explain_slot

    async def work(kernel: "Kernel") -> None:
        run = await kernel.runs.get(run_id, owner=context.owner)
        await explain_slot(context, kernel, run.job_id, to_moment(run.slot))

    context.run(work)


def print_runs(
    context: CommandContext,
    runs: "Sequence[Run]",
    session_key: str,
    names: "Mapping[str, str]",
    *,
    empty: str,
) -> None:
    """`names` are those of the jobs; a job that was removed has none."""
    rows = (
        (
            run.id,
            names.get(run.job_id, "(removed)"),
            context.time(run.slot),
            run.outcome or run.state,
            f"{run.lateness_ms / 1000:.1f} s",
            run.attempt,
            run.reason or run.error,
        )
        for run in runs
    )
    columns = ("run", "job", "slot", "outcome", "late", "attempt", "reason")
    context.print_list("runs", lambda: _models(runs, session_key), columns, rows, empty=empty)


def _models(runs: "Sequence[Run]", session_key: str) -> "list[RunOut]":
    from segue.server.schemas import views

    return [views.run(run, session_key) for run in runs]


def _fields(run: "Run", session_key: str, zone: str) -> dict[str, object]:
    return {
        "run": run.id,
        "job": run.job_id,
        "session": session_key,
        "turn": run.turn_id,
        "slot": exact_time(run.slot, zone),
        "queued": exact_time(run.queued_at, zone),
        "started": exact_time(run.started_at, zone),
        "finished": exact_time(run.finished_at, zone),
        "outcome": run.outcome or run.state,
        "reason": run.reason,
        "late": f"{run.lateness_ms / 1000:.1f} s",
        "attempt": run.attempt,
        "missed before": run.missed_count,
        "prompt": run.prompt_ref and f"{run.prompt_ref.id} version {run.prompt_ref.version}",
        "error": run.error,
        "delivery": run.delivery,
        "delivery error": run.delivery_error,
        "usage": _usage(run),
    }


def _usage(run: "Run") -> str | None:
    """What its requests used: `3,100 in, 2,900 from cache, 41 out, $0.0020, fast`."""
    usage = run_usage(run.usage)
    if usage is None:
        return None
    cached = f", {usage.cache_read_tokens:,} from cache" if usage.cache_read_tokens else ""
    cost = "price unknown" if usage.cost_usd is None else f"${usage.cost_usd:.4f}"
    models = [name if count == 1 else f"{name} ×{count}" for name, count in usage.requests.items()]
    tokens = f"{usage.input_tokens:,} in{cached}, {usage.output_tokens:,} out"
    return ", ".join([tokens, cost, *models])
