"""`segue worker`: runs workers without the API. Any number of them can share one PostgreSQL database."""

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Annotated

import typer

from segue.cli.support.load_settings import configured, refuse_open_host
from segue.extras import needed_for

if TYPE_CHECKING:
    from segue.config import Configuration
    from segue.kernel.kernel import Kernel

_log = logging.getLogger(__name__)

MetricsPort = Annotated[
    int | None,
    typer.Option(help="Answer /health and /metrics at this port of `host`; 0 takes any free port."),
]
Runners = Annotated[int | None, typer.Option(help="How many scheduled turns this process runs at once.")]


@configured(log_level=logging.INFO, runners=Runners, metrics_port=MetricsPort)
def worker(configuration: "Configuration") -> None:
    """Run workers without the API, alone or in addition to a server."""
    if configuration.metrics_port is not None:
        refuse_open_host(configuration)
    from segue.cli.support.event_loop import run

    run(_work(configuration))


async def _work(configuration: "Configuration") -> None:
    from segue.cli.support.open_kernel import kernel_with_workers
    from segue.cli.support.signals import stop_signals, work_until_stopped

    with stop_signals() as signals:
        async with kernel_with_workers(configuration) as kernel, _metrics_served(kernel, configuration):
            _log.info("worker started as %s", kernel.name)
            gone = await work_until_stopped(kernel, signals)
    if gone is not None:
        raise gone
    _log.info("stopped")


@asynccontextmanager
async def _metrics_served(kernel: "Kernel", configuration: "Configuration") -> AsyncIterator[None]:
    """Answer `/health` and `/metrics` while the workers run, if the settings name a port."""
    if configuration.metrics_port is None:
        yield
        return
    with needed_for("`segue worker --metrics-port`", "http"):
        from segue.cli.support.http_server import HttpServer, address_of, listening_socket
        from segue.server.app import create_worker_app

    host = configuration.host.strip("[]")
    with listening_socket(host, configuration.metrics_port, flag="--metrics-port") as listening:
        async with asyncio.TaskGroup() as group:
            server = HttpServer(create_worker_app(kernel, configuration))
            group.create_task(server.serve([listening]))
            await server.ready.wait()
            _log.info("health and metrics at %s", address_of(listening))
            yield
            server.should_exit = True
