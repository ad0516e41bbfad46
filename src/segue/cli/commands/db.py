"""`segue db`: migrates the database schema, shows its status and makes backups."""

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from segue.cli.support.load_settings import configured
from segue.cli.support.output import AsJson, print_json, print_table
from segue.cli.support.progress import Tell, progress

if TYPE_CHECKING:
    from segue.config import Configuration

app = typer.Typer(help="Migrate the database schema, and make backups.", no_args_is_help=True)


@app.command()
@configured()
def migrate(configuration: "Configuration", as_json: AsJson = False) -> None:
    """Apply pending migrations."""
    with progress(silent=as_json) as tell:
        applied = asyncio.run(_migrate(configuration.database_url, tell))
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


@app.command()
@configured()
def backup(
    configuration: "Configuration",
    file: Annotated[Path, typer.Argument(help="The file to write, for example segue-backup.db.")],
    force: Annotated[bool, typer.Option("--force", help="Replace the file if it exists.")] = False,
    as_json: AsJson = False,
) -> None:
    """Copy the database to a file, also while a server uses it. On PostgreSQL it runs pg_dump."""
    from segue.cli.backup import back_up
    from segue.cli.support.open_kernel import refuse_missing

    refuse_missing(configuration)
    with progress(silent=as_json) as tell:
        size = back_up(
            configuration.database_url,
            file,
            replace=force,
            progress=lambda part: tell(f"Copying: {part:.0%}"),
        )
    if as_json:
        print_json({"file": str(file.absolute()), "bytes": size})
    else:
        typer.echo(f"Wrote {file} ({size:,} bytes).")


async def _migrate(url: str, tell: Tell) -> list[str]:
    from segue.store.migrate import migrate
    from segue.store.open import connect

    database = await connect(url)
    try:
        return await migrate(database, applying=lambda name: tell(f"Applying {name}"))
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
