"""`segue import`: imports cron jobs from a `jobs.json` job store."""

from collections import Counter
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from segue.cli.support.command import CommandContext, command
from segue.cli.support.output import print_json, print_table
from segue.cli.support.progress import progress
from segue.cli.support.read_file import read_file
from segue.cli.support.timezone import Timezone, terminal_zone

if TYPE_CHECKING:
    from segue.cli.support.jobs_json import Imported
    from segue.kernel.kernel import Kernel

File = Annotated[
    Path, typer.Argument(help="The job store, jobs.json; - reads standard input.", show_default=False)
]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Print the result for each record without writing.")]


@command()
def import_(context: CommandContext, file: File, timezone: Timezone = None, dry_run: DryRun = False) -> None:
    """Import cron jobs. Invalid records are reported and skipped; a job is imported once."""
    from segue.cli.support.jobs_json import Zones, import_jobs, records_of

    records = records_of(read_file(file, "the job store"))

    async def work(kernel: "Kernel") -> None:
        zones = Zones(given=timezone, otherwise=terminal_zone())
        with progress(silent=context.as_json) as tell:
            results = await import_jobs(
                kernel, records, zones=zones, owner=context.owner, dry_run=dry_run, tell=tell
            )
        _print(context, results, dry_run)

    context.run(work, create=True)


def _print(context: CommandContext, results: "list[Imported]", dry_run: bool) -> None:
    counts = dict(Counter(str(each.fate) for each in results))
    if context.as_json:
        print_json({"dry_run": dry_run, "counts": counts, "records": [asdict(each) for each in results]})
        return
    columns = ("#", "job", "name", "kind", "session", "result", "reason")
    rows = (
        (each.number, each.id, each.name, each.kind, each.session_key, each.fate, each.reason)
        for each in results
    )
    print_table(columns, rows, empty="The store holds no jobs.")
    if results:
        summary = ", ".join(f"{count} {fate}" for fate, count in counts.items())
        typer.echo(f"\n{'Nothing was written: ' if dry_run else ''}{summary}.")
