"""The Typer application."""

from typing import Annotated

import typer

from segue.cli.lazy_commands import LazyGroup

app = typer.Typer(
    name="segue",
    cls=LazyGroup,
    help="Durable scheduling for LLM agents.",
    no_args_is_help=True,
    # Plain text: the rich renderers take long to load.
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)


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
