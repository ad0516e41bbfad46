"""`segue sessions calendar` and `import-calendar`: writes and reads `.ics` files."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from segue.cli.support.command import CommandContext, command
from segue.cli.support.options import Key
from segue.cli.support.output import print_json, print_table, to_json
from segue.errors import BadCalendar

if TYPE_CHECKING:
    from segue.kernel.api.calendar.calendar import ImportedEvents
    from segue.kernel.kernel import Kernel

Out = Annotated[Path | None, typer.Option(help="The file to write. Default: the output.", show_default=False)]
File = Annotated[Path, typer.Argument(help="An .ics file; - reads standard input.", show_default=False)]
Make = Annotated[bool, typer.Option("--make", help="Make the jobs. Otherwise they are only shown.")]


@command()
def calendar(context: CommandContext, session: Key, out: Out = None) -> None:
    """Write what is coming in a session as an .ics file. A server gives it a private address."""

    async def work(kernel: "Kernel") -> None:
        key = await context.key(kernel, session)
        text = await kernel.calendar.export(key, owner=context.owner)
        if out is None and context.as_json:
            print_json({"ics": text})
        elif out is None:
            sys.stdout.write(text.replace("\r\n", "\n"))
        else:
            _write(out, text)
            context.say(f"The calendar of {key} is in {out}.", {"file": str(out)})

    context.run(work)


@command()
def import_calendar(context: CommandContext, session: Key, file: File, make: Make = False) -> None:
    """Show the jobs that the timed events of an .ics file would be, or make them with --make."""
    text = _text(file)

    async def work(kernel: "Kernel") -> None:
        found = await kernel.sessions.get(await context.key(kernel, session), owner=context.owner)
        imported = await kernel.calendar.import_events(found, text, make=make)
        if context.as_json:
            from segue.server.schemas.calendars import imported_out

            print_json(to_json(imported_out(imported, found.key, kernel.sessions.zone_in(found))))
            return
        _print(context, imported)

    context.run(work)


def _print(context: CommandContext, imported: "ImportedEvents") -> None:
    rows = [(job.name, str(job.trigger), context.time(job.slot)) for job in imported.jobs]
    print_table(("job", "schedule", "next"), rows, empty="No event of the file can be a job.")
    for each in imported.left_out:
        typer.echo(f"Left out: {each.title}: {each.reason}.")
    if imported.jobs:
        made = "was made" if len(imported.jobs) == 1 else "were made"
        count = "1 job" if len(imported.jobs) == 1 else f"{len(imported.jobs)} jobs"
        typer.echo(f"\n{count} {made}." if imported.made else "\nNothing was made; --make makes them.")


def _text(file: Path) -> str:
    try:
        return sys.stdin.read() if str(file) == "-" else file.read_text("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise BadCalendar(f"the calendar file {file} cannot be read as UTF-8 text: {error}") from None


def _write(file: Path, text: str) -> None:
    try:
        file.write_text(text, "utf-8", newline="")
    except OSError as error:
        raise BadCalendar(f"the calendar cannot be written to {file}: {error}") from None
