"""`segue days`: list, show, import and remove sets of working days."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from segue.cli.support.command import CommandContext, command
from segue.cli.support.output import print_json, print_record, print_table, to_json
from segue.cli.support.read_file import read_file
from segue.errors import BadDays

if TYPE_CHECKING:
    from segue.kernel.kernel import Kernel

app = typer.Typer(help="Sets of working days, for schedules that count them.", no_args_is_help=True)

Name = Annotated[str, typer.Argument(help="The name of the set.", show_default=False)]
Year = Annotated[int | None, typer.Argument(min=1970, max=2200, help="Only the days of this year.")]
File = Annotated[
    Path,
    typer.Argument(help="An .ics file with all-day events; - reads standard input.", show_default=False),
]
NewName = Annotated[str | None, typer.Option("--name", help="Default: the name of the file.")]


@app.command("list")
@command()
def list_(context: CommandContext) -> None:
    """List the sets that come with Segue and those of the account."""

    async def work(kernel: "Kernel") -> None:
        from segue.server.schemas.calendars import day_set_out

        found = await kernel.days.list(owner=context.owner)
        if context.as_json:
            print_json({"days": [to_json(day_set_out(each)) for each in found]})
            return
        rows = ((each.name, each.known_until, each.source) for each in found)
        print_table(("name", "known until", "source"), rows, empty="There are no day sets.")

    context.run(work, create=True)


@app.command()
@command()
def show(context: CommandContext, name: Name, year: Year = None) -> None:
    """Show the days off of a set, and its working days at weekends."""

    async def work(kernel: "Kernel") -> None:
        from segue.server.schemas.calendars import details_out

        details = details_out(await kernel.days.get(name, owner=context.owner), year)
        if context.as_json:
            print_json(to_json(details))
            return
        shown = {"name": details.name, "known until": details.known_until, "source": details.source}
        print_record(shown)
        rows = sorted(
            [(f"{each.date:%Y-%m-%d %a}", "off", each.reason) for each in details.off]
            + [(f"{day:%Y-%m-%d %a}", "works", "") for day in details.on]
        )
        print_table(("day", "", "reason"), rows, empty="It has no days in that year.")

    context.run(work, create=True)


@app.command("import")
@command()
def import_(context: CommandContext, file: File, name: NewName = None) -> None:
    """Import the all-day events of a calendar file as days off. Replaces a set of that name."""
    text = read_file(file, "the calendar file")
    if name is None and str(file) == "-":
        raise BadDays("the set needs a name; give --name with standard input")

    async def work(kernel: "Kernel") -> None:
        from segue.server.schemas.calendars import day_set_out

        stored = await kernel.days.add(name or file.stem, text, owner=context.owner)
        sentence = f"The day set {stored.name} has {len(stored.off)} days off, until {stored.known_until}."
        context.say(sentence, to_json(day_set_out(stored)))

    context.run(work, create=True)


@app.command()
@command()
def remove(context: CommandContext, name: Name) -> None:
    """Remove a set of the account that no job uses."""

    async def work(kernel: "Kernel") -> None:
        await kernel.days.delete(name, owner=context.owner)
        context.say(f"The day set {name} was removed.", {"deleted": True})

    context.run(work)
