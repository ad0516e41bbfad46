"""`segue db`: migrates the database schema and shows its status."""

import asyncio
from typing import TYPE_CHECKING

import typer

from segue.cli.support.load_settings import configured
from segue.cli.support.output import AsJson, print_json, print_table

if TYPE_CHECKING:
    from segue.config import Configuration

app = typer.Typer(help="Migrate the database schema.", no_args_is_help=True)


@app.command()
@configured()
def migrate(configuration: "Configuration", as_json: AsJson = False) -> None:
    """Apply pending migrations."""
    applied = asyncio.run(_migrate(configuration.database_url))
    if as_json:
        print_json({"applied": applied})
    else:
        typer.echo(f"Applied {', '.join(applied)}." if applied else "The schema is up to date.")


@app.command()
@configured()
def status(configuration: "Configuration", as_json: AsJson = False) -> None:
    """Show applied and pending migrations. Exit code 1 if any are pending."""
    from segue.cli.support.open_kernel import refuse_missing

    refuse_missing(configuration)
    applied, pending = asyncio.run(_status(configuration.database_url))
    if as_json:
        print_json({"applied": applied, "pending": pending})
    else:
        rows = [(name, "applied") for name in applied] + [(name, "pending") for name in pending]
        print_table(("migration", "state"), rows, empty="This Segue knows no migrations.")
    if pending:
        raise typer.Exit(1)


async def _migrate(url: str) -> list[str]:
    from segue.store.migrate import migrate
    from segue.store.open import connect

    database = await connect(url)
    try:
        return await migrate(database)
    finally:
        await database.close()


async def _status(url: str) -> tuple[list[str], list[str]]:
    from segue.store.migrate import status
    from segue.store.open import connect

    database = await connect(url)
    try:
        found = await status(database)
        return found.applied, found.pending
    finally:
        await database.close()
