"""`segue import`: cron jobs from the public JSON store of this design."""

import sys
from collections import Counter
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from segue.cli.support.command import Command, command
from segue.cli.support.output import print_json, print_table
from segue.cli.support.timezone import Timezone, terminal_zone
from segue.errors import BadText

if TYPE_CHECKING:
    from segue.cli.support.jobs_json import Imported
    from segue.kernel.kernel import Kernel

File = Annotated[Path, typer.Argument(help="The job store, jobs.json; - is the input.", show_default=False)]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Tell what would become of each, and write nothing.")]


@command()
def import_(asked: Command, file: File, timezone: Timezone = None, dry_run: DryRun = False) -> None:
    """Import cron jobs. What cannot be read is reported and skipped; a job is imported once."""
    from segue.cli.support.jobs_json import Zones, import_jobs, records_of

    records = records_of(_text(file))

    async def work(kernel: "Kernel") -> None:
        zones = Zones(given=timezone, otherwise=terminal_zone())
        told = await import_jobs(kernel, records, zones=zones, owner=asked.owner, dry_run=dry_run)
        _print(asked, told, dry_run)

    asked.look(work, create=True)


def _print(asked: Command, told: "list[Imported]", dry_run: bool) -> None:
    counts = dict(Counter(str(each.fate) for each in told))
    if asked.as_json:
        print_json({"dry_run": dry_run, "counts": counts, "records": [asdict(each) for each in told]})
        return
    columns = ("#", "job", "name", "kind", "session", "what became of it", "reason")
    rows = (
        (each.place, each.id, each.name, each.kind, each.session_key, each.fate, each.reason) for each in told
    )
    print_table(columns, rows, empty="The store holds no jobs.")
    if told:
        summary = ", ".join(f"{count} {fate}" for fate, count in counts.items())
        typer.echo(f"\n{'Nothing was written: ' if dry_run else ''}{summary}.")


def _text(file: Path) -> str:
    try:
        return sys.stdin.read() if str(file) == "-" else file.read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise BadText(f"the job store {file} cannot be read: {error}") from None
