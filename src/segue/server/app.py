"""The application: a kernel with HTTP, WebSocket and server-sent events around it.

The kernel is the caller's, who opens and closes it. The app runs its workers if it is asked to.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi
from starlette.routing import Mount

from segue import __version__
from segue.config import Configuration
from segue.kernel.kernel import Kernel
from segue.server import error_responses
from segue.server.auth import COOKIE, ApiKeys
from segue.server.guard import Gate, Hosts
from segue.server.health import Checkup
from segue.server.metrics import Metrics
from segue.server.request_context import AppState
from segue.server.routes import (
    automations,
    docs,
    health,
    live,
    log,
    login,
    memory,
    page,
    recalls,
    runs,
    scheduled_messages,
    sessions,
    turns,
    webhooks,
)
from segue.server.schemas.common import Problem

_ABOUT = """Durable scheduling for LLM agents, in the conversation it belongs to.

Times are RFC 3339 with an offset, ids are strings. A list has one plural key and a `next_cursor`. Errors
are `application/problem+json` with a stable `code`. `Idempotency-Key` on a POST that creates makes a repeat
answer the first result."""

_PARTS = (
    sessions,
    turns,
    log,
    automations,
    runs,
    recalls,
    scheduled_messages,
    webhooks,
    memory,
    live,
    login,
    health,
    docs,
    page,
)


def create_app(
    kernel: Kernel,
    configuration: Configuration,
    *,
    run_workers: bool,
) -> FastAPI:
    """An app around an open kernel."""
    metrics = Metrics(__version__, kernel.workers.turns)
    house = AppState(
        kernel, configuration, ApiKeys(configuration.api_keys), metrics, Checkup(kernel), run_workers
    )
    app = FastAPI(
        title="Segue",
        version=__version__,
        description=_ABOUT,
        docs_url=None,
        redoc_url=None,
        lifespan=_lifespan,
        # Our own traces are of runs (`telemetry.tracing`). Those of requests would tell keys by their paths.
        telemetry={"tracing": False, "metrics": False, "logs": False},
    )
    app.state.segue = house
    hosts = Hosts(configuration.host, open_to_all=bool(house.keys), more=configuration.allowed_hosts)
    app.add_middleware(Gate, hosts=hosts, metrics=metrics)
    error_responses.install(app)
    for part in _PARTS:
        # As they are: a router that is included looks for its route twice, in every request.
        app.router.routes.extend(part.router.routes)
    app.openapi = lambda: _openapi(app, house)  # type: ignore[method-assign]
    return app


def mount(
    app: FastAPI,
    kernel: Kernel,
    configuration: Configuration,
    *,
    path: str = "/segue",
    run_workers: bool = True,
) -> FastAPI:
    """The whole server inside another application, which runs our workers for as long as it lives itself."""
    inner = create_app(kernel, configuration, run_workers=run_workers)
    outer_life = app.router.lifespan_context

    @asynccontextmanager
    async def both(outer: FastAPI) -> AsyncIterator[Any]:
        async with outer_life(outer) as state, _lifespan(inner):
            yield state

    app.router.lifespan_context = both
    app.router.routes.append(Mount(path, inner))
    return inner


@asynccontextmanager
async def _lifespan(app: FastAPI) -> AsyncIterator[None]:
    house: AppState = app.state.segue
    if not house.run_workers:
        yield
        return
    async with asyncio.TaskGroup() as tasks:
        house.working = True
        workers = tasks.create_task(_work(house))
        try:
            yield
        finally:
            workers.cancel()


async def _work(house: AppState) -> None:
    try:
        await house.kernel.run()
    finally:
        house.working = False


def _openapi(app: FastAPI, house: AppState) -> dict[str, Any]:
    if app.openapi_schema is None:
        described = get_openapi(
            title=app.title, version=app.version, description=app.description, routes=app.routes
        )
        parts = described["components"]
        parts["schemas"]["Problem"] = Problem.model_json_schema(ref_template="#/components/schemas/{model}")
        if house.keys:
            parts["securitySchemes"] = {
                "key": {"type": "http", "scheme": "bearer"},
                "cookie": {"type": "apiKey", "in": "cookie", "name": COOKIE},
            }
            described["security"] = [{"key": []}, {"cookie": []}]
            for path in ("/health", "/auth/session"):
                for method in ("get", "post", "delete") if path == "/health" else ("post", "delete"):
                    if method in described["paths"][path]:
                        described["paths"][path][method]["security"] = []
        app.openapi_schema = described
    return app.openapi_schema
