"""`segue worker`: runs workers without the API. Any number of them can share one PostgreSQL database."""

import logging
from typing import TYPE_CHECKING, Annotated

import typer

from segue.cli.support.load_settings import configured

if TYPE_CHECKING:
    from segue.config import Configuration

_log = logging.getLogger(__name__)

Runners = Annotated[int | None, typer.Option(help="How many scheduled turns this process runs at once.")]


@configured(log_level=logging.INFO, runners=Runners)
def worker(configuration: "Configuration") -> None:
    """Run workers without the API, alone or in addition to a server."""
    from segue.cli.support.event_loop import run

    run(_work(configuration))


async def _work(configuration: "Configuration") -> None:
    from segue.cli.support.open_kernel import kernel_with_workers
    from segue.cli.support.signals import stop_signals, work_until_stopped

    with stop_signals() as signals:
        async with kernel_with_workers(configuration) as kernel:
            _log.info("worker started as %s", kernel.name)
            gone = await work_until_stopped(kernel, signals)
    if gone is not None:
        raise gone
    _log.info("stopped")
