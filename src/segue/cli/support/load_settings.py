"""How a command gets its settings, and what becomes of its errors.

Every command takes `--config`, `--data` and `--database`; some take a flag for another setting. An error is a
sentence on standard error, less its secrets, and the exit code says whether the call was wrong or it failed.
"""

import inspect
import logging
from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NoReturn

import typer

from segue.errors import Invalid, SegueError

if TYPE_CHECKING:
    from segue.config import Configuration

_log = logging.getLogger(__name__)

FAILED = 1
WRONG_USE = 2

Config = Annotated[
    Path | None, typer.Option(help="Settings in TOML. Else segue.toml in this folder, if there is one.")
]
Data = Annotated[Path | None, typer.Option(help="The folder of the embedded database.")]
Database = Annotated[str | None, typer.Option(help="sqlite:///FILE or postgresql://USER@HOST/NAME")]

_SHARED: dict[str, Any] = {"config": Config, "data": Data, "database": Database}


def configured(
    *, log_level: int = logging.ERROR, **flags: Any
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """A command that is given its configuration. `flags` are types of options, by the setting they set."""
    added = flags | _SHARED

    def decorate(command: Callable[..., None]) -> Callable[..., None]:
        @wraps(command)
        def run(**given: Any) -> None:
            chosen = {name: given.pop(name) for name in added}
            try:
                command(load(chosen.pop("config"), log_level, **chosen), **given)
            except SegueError as error:
                fail(str(error), WRONG_USE if isinstance(error, Invalid) else FAILED)

        own = list(inspect.signature(command).parameters.values())[1:]
        options = [
            inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, annotation=kind, default=None)
            for name, kind in added.items()
        ]
        # What typer reads a command's options from.
        run.__signature__ = inspect.Signature([*own, *options])  # type: ignore[attr-defined]
        run.__annotations__ = {each.name: each.annotation for each in (*own, *options)}
        return run

    return decorate


def fail(sentence: str, code: int = FAILED) -> NoReturn:
    from segue.telemetry.logs import Redaction

    typer.echo(f"Error: {Redaction()(sentence)}", err=True)
    raise typer.Exit(code)


def load(config: Path | None, log_level: int = logging.ERROR, **flags: Any) -> "Configuration":
    from segue.config import Configuration
    from segue.telemetry import logs

    configuration = Configuration.load(config, **flags)
    logs.configure(configuration.log_format, secrets=configuration.secrets(), level=log_level)
    for warning in configuration.warnings:
        if log_level <= logging.WARNING:
            _log.warning("%s", warning)
        else:
            typer.echo(f"Warning: {warning}", err=True)
    return configuration
