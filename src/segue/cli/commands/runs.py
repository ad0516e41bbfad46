"""`segue runs`: what became of each firing of a job."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from segue.cli.support.command import Command, command
from segue.cli.support.options import Key, Limit
from segue.cli.support.output import local_time
from segue.times.clock import to_moment

if TYPE_CHECKING:
    from segue.kernel.kernel import Kernel
    from segue.model.records import Run
    from segue.server.schemas.common import RunOut

app = typer.Typer(help="Firings of jobs.", no_args_is_help=True)

RunId = Annotated[str, typer.Argument(help="The run's id, JOB:SLOT.", show_default=False)]


@app.command("list")
@command()
def list_(asked: Command, key: Key, limit: Limit = 100) -> None:
    """List the runs of a session's jobs, the newest first."""

    async def work(kernel: "Kernel") -> None:
        found = await kernel.runs(key, owner=asked.owner, limit=limit)
        print_runs(asked, found, key, empty=f"No job of {key} has fired yet.")

    asked.look(work)


@app.command()
@command()
def show(asked: Command, run_id: RunId) -> None:
    """Show the record of a run."""

    async def work(kernel: "Kernel") -> None:
        run = await kernel.record(run_id, owner=asked.owner)
        session = await kernel.store.session_by_id(run.session_id)
        asked.print_one(lambda: _shapes([run], session.key)[0], _fields(run, session.key, asked.zone))

    asked.look(work)


@app.command()
@command()
def explain(asked: Command, run_id: RunId) -> None:
    """Tell why a run did or did not happen, and what happens next."""
    from segue.cli.commands.jobs import explain_slot

    async def work(kernel: "Kernel") -> None:
        run = await kernel.record(run_id, owner=asked.owner)
        await explain_slot(asked, kernel, run.job_id, to_moment(run.slot))

    asked.look(work)


def print_runs(asked: Command, runs: "Sequence[Run]", session_key: str, *, empty: str) -> None:
    rows = (
        (
            run.id,
            local_time(run.slot, asked.zone),
            run.outcome or run.state,
            f"{run.lateness_ms / 1000:.1f} s",
            run.attempt,
            run.reason or run.error,
        )
        for run in runs
    )
    columns = ("run", "slot", "outcome", "late", "attempt", "reason")
    asked.print_list("runs", lambda: _shapes(runs, session_key), columns, rows, empty=empty)


def _shapes(runs: "Sequence[Run]", session_key: str) -> "list[RunOut]":
    from segue.server.schemas import views

    return [views.run(run, session_key) for run in runs]


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
        "prompt": run.prompt_ref and f"{run.prompt_ref.id} version {run.prompt_ref.version}",
        "error": run.error,
        "delivery": run.delivery,
        "delivery error": run.delivery_error,
        "usage": None if run.usage is None else dict(run.usage),
    }
