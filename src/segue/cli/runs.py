"""`segue runs`: what became of each firing of a job."""

from typing import TYPE_CHECKING, Annotated

import typer

from segue.cli.configured import configured
from segue.cli.output import AsJson, local_time, print_json, print_record, print_table, printable, shape
from segue.cli.whose import Account, Key, Limit, User
from segue.model import Owner

if TYPE_CHECKING:
    from segue.configuration import Configuration
    from segue.kernel import Kernel
    from segue.model import Run

app = typer.Typer(help="Firings of jobs.", no_args_is_help=True)

RunId = Annotated[str, typer.Argument(help="The run's id, JOB:SLOT.", show_default=False)]


@app.command("list")
@configured()
def list_(
    configuration: "Configuration",
    key: Key,
    limit: Limit = 100,
    account: Account = "default",
    user: User = "default",
    as_json: AsJson = False,
) -> None:
    """List the runs of a session's jobs, the newest first."""
    from segue.cli.house import looking

    async def work(kernel: "Kernel") -> None:
        found = await kernel.runs(key, owner=Owner(account, user), limit=limit)
        if as_json:
            from segue.server import views

            print_json({"runs": [shape(views.run(each, key)) for each in found]})
            return
        rows = [
            (
                each.id,
                local_time(each.slot, configuration.timezone),
                each.outcome or each.state,
                f"{each.lateness_ms / 1000:.1f} s",
                each.attempt,
                each.reason or each.error,
            )
            for each in found
        ]
        columns = ("run", "slot", "outcome", "late", "attempt", "reason")
        print_table(columns, rows, empty=f"No job of {key} has fired yet.")

    looking(configuration, work)


@app.command()
@configured()
def show(
    configuration: "Configuration",
    run_id: RunId,
    account: Account = "default",
    user: User = "default",
    as_json: AsJson = False,
) -> None:
    """Show the record of a run."""
    from segue.cli.house import looking

    async def work(kernel: "Kernel") -> None:
        run = await kernel.record(run_id, owner=Owner(account, user))
        session = await kernel.store.session_by_id(run.session_id)
        if as_json:
            from segue.server import views

            print_json(shape(views.run(run, session.key)))
        else:
            print_record(_fields(run, session.key, configuration.timezone))

    looking(configuration, work)


@app.command()
@configured()
def explain(
    configuration: "Configuration",
    run_id: RunId,
    account: Account = "default",
    user: User = "default",
    as_json: AsJson = False,
) -> None:
    """Tell why a run did or did not happen, and what happens next."""
    from segue.cli.explaining import explained
    from segue.cli.house import looking

    async def work(kernel: "Kernel") -> None:
        run = await kernel.record(run_id, owner=Owner(account, user))
        job = await kernel.store.job(run.job_id)
        sentences = list(explained(run, job, configuration.timezone))
        if as_json:
            print_json({"run_id": run.id, "job_id": job.id, "explanation": sentences})
        else:
            typer.echo("\n".join(printable(each) for each in sentences))

    looking(configuration, work)


def _fields(run: "Run", session_key: str, zone: str) -> dict[str, object]:
    return {
        "run": run.id,
        "job": run.job_id,
        "session": session_key,
        "turn": run.turn_id,
        "slot": local_time(run.slot, zone),
        "queued": local_time(run.queued_at, zone),
        "started": local_time(run.started_at, zone),
        "finished": local_time(run.finished_at, zone),
        "outcome": run.outcome or run.state,
        "reason": run.reason,
        "late": f"{run.lateness_ms / 1000:.1f} s",
        "attempt": run.attempt,
        "missed before": run.missed_count,
        "error": run.error,
        "usage": None if run.usage is None else dict(run.usage),
    }
