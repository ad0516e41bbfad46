"""`segue serve`: runs the API, the page, the channels and the workers in one process."""

import asyncio
import logging
import sys
from typing import TYPE_CHECKING, Annotated

import typer

from segue.cli.support.load_settings import configured, refuse_open_host
from segue.extras import needed_for

if TYPE_CHECKING:
    from segue.config import Configuration

_log = logging.getLogger(__name__)

Host = Annotated[
    str | None,
    typer.Option(help="The address to listen on. Other machines can connect only if API keys are set."),
]
Port = Annotated[int | None, typer.Option(help="The port; 0 takes any free port.")]


@configured(log_level=logging.INFO, host=Host, port=Port)
def serve(configuration: "Configuration") -> None:
    """Run the API, the page and the workers in one process."""
    refuse_open_host(configuration)
    from segue.cli.support.event_loop import run

    run(_serve(configuration))


async def _serve(configuration: "Configuration") -> None:
    from segue.cli.support.checks import open_files
    from segue.cli.support.open_kernel import kernel_with_workers
    from segue.cli.support.signals import stop_signals, work_until_stopped

    with needed_for("`segue serve`", "http"):
        from segue.cli.support.http_server import HttpServer, address_of, listening_socket
        from segue.server.app import create_app

    with (
        stop_signals() as signals,
        listening_socket(configuration.host.strip("[]"), configuration.port) as listening,
    ):
        async with kernel_with_workers(configuration) as kernel, asyncio.TaskGroup() as group:
            server = HttpServer(create_app(kernel, configuration, manages_model=True))
            group.create_task(server.serve([listening]))
            await server.ready.wait()
            _announce(configuration, address_of(listening))
            if (words := open_files(configuration)) is not None:
                _log.warning("%s", words)
            # The API runs until the last turn has ended, so that its clients receive the end.
            gone = await work_until_stopped(kernel, signals, listen=True)
            server.should_exit = True
    if gone is not None:
        raise gone
    _log.info("stopped")


def _announce(configuration: "Configuration", address: str) -> None:
    """Print the address in one line, framed on a terminal, so that it stands out from the log."""
    line = f"Segue is at {address} with {configuration.model_name or 'the offline model'}. Ctrl-C stops it."
    typer.echo(_framed(line) if sys.stdout.isatty() else line)
    if configuration.database is None:
        typer.echo(f"Data: {configuration.data}")


def _framed(line: str) -> str:
    rule = "─" * (len(line) + 2)
    return f"\n┌{rule}┐\n│ {line} │\n└{rule}┘\n"
