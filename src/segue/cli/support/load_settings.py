"""Shared decorator of commands: loads the settings and prints errors.

Every command takes `--config`, `--data` and `--database`; some take an option for another setting. An error
is printed to standard error without secrets. The exit code tells wrong use from failure.
"""

import inspect
import logging
from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NoReturn

import typer

from segue.errors import BadSetting, Invalid, SegueError

if TYPE_CHECKING:
    from segue.config import Configuration

_log = logging.getLogger(__name__)

FAILED = 1
WRONG_USE = 2

Config = Annotated[
    Path | None, typer.Option(help="Settings file (TOML). Default: segue.toml in this folder, if it exists.")
]
Data = Annotated[Path | None, typer.Option(help="The folder of the SQLite database.")]
Database = Annotated[str | None, typer.Option(help="sqlite:///FILE or postgresql://USER@HOST/NAME")]

_SHARED: dict[str, Any] = {"config": Config, "data": Data, "database": Database}


def configured(
    *, log_level: int = logging.ERROR, **flags: Any
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Decorator: passes the configuration and adds options. `flags` are option types by setting name."""
    added = flags | _SHARED

    def decorate(command: Callable[..., None]) -> Callable[..., None]:
        @wraps(command)
        def run(**arguments: Any) -> None:
            options = {name: arguments.pop(name) for name in added}
            try:
                command(load(options.pop("config"), log_level, **options), **arguments)
            except SegueError as error:
                fail(str(error), WRONG_USE if isinstance(error, Invalid) else FAILED)

        own = list(inspect.signature(command).parameters.values())[1:]
        added_options = [
            inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, annotation=kind, default=None)
            for name, kind in added.items()
        ]
        # Typer reads the options of a command from these.
        run.__signature__ = inspect.Signature([*own, *added_options])  # type: ignore[attr-defined]
        run.__annotations__ = {each.name: each.annotation for each in (*own, *added_options)}
        return run

    return decorate


def refuse_open_host(configuration: "Configuration") -> None:
    """Raises `BadSetting` if other machines could call this one without a key."""
    if not configuration.api_keys and not configuration.listens_to_itself_only:
        raise BadSetting(
            f"{configuration.host} can be reached from other machines, but no API key is set; "
            "set SEGUE_API_KEYS, or listen on 127.0.0.1"
        )


def fail(sentence: str, code: int = FAILED) -> NoReturn:
    from segue.telemetry.logs import Redaction

    typer.echo(f"Error: {Redaction()(sentence)}", err=True)
    raise typer.Exit(code)


def load(config: Path | None, log_level: int = logging.ERROR, **flags: Any) -> "Configuration":
    from segue.config import Configuration
    from segue.telemetry import logs

    configuration = Configuration.load(config, **flags)
    if log_level >= logging.ERROR:
        logs.configure_errors(configuration.secrets())
    else:
        logs.configure(configuration.log_format, secrets=configuration.secrets(), level=log_level)
    for warning in configuration.warnings:
        if log_level <= logging.WARNING:
            _log.warning("%s", warning)
        else:
            typer.echo(f"Warning: {warning}", err=True)
    return configuration
