"""The Typer application: registers all commands."""

from typing import Annotated

import typer

from segue.cli.commands import channels, days, db, jobs, memories, messages, recalls, runs, sessions
from segue.cli.commands.calendar import calendar, import_calendar
from segue.cli.commands.chat import chat
from segue.cli.commands.doctor import doctor
from segue.cli.commands.import_conversations import import_conversations
from segue.cli.commands.import_jobs import import_
from segue.cli.commands.mcp import mcp
from segue.cli.commands.search import search
from segue.cli.commands.serve import serve
from segue.cli.commands.worker import worker

app = typer.Typer(
    name="segue",
    help="Durable scheduling for LLM agents.",
    no_args_is_help=True,
    # Plain text: the rich renderers take long to load.
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)
app.command()(serve)
app.command()(worker)
app.command()(chat)
app.command()(search)
app.command()(mcp)
app.add_typer(sessions.app, name="sessions")
app.add_typer(jobs.app, name="jobs")
app.add_typer(days.app, name="days")
app.add_typer(recalls.app, name="recalls")
app.add_typer(messages.app, name="messages")
app.add_typer(channels.app, name="channels")
app.add_typer(runs.app, name="runs")
app.add_typer(memories.app, name="memories")
app.command("import")(import_)
sessions.app.command("import")(import_conversations)
sessions.app.command("calendar")(calendar)
sessions.app.command("import-calendar")(import_calendar)
app.command()(doctor)
app.add_typer(db.app, name="db")


def _print_version(wanted: bool) -> None:
    if wanted:
        import segue

        typer.echo(f"segue {segue.__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", is_eager=True, callback=_print_version, help="Print the version.")
    ] = False,
) -> None: ...
