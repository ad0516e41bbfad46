"""The FastAPI application: serves a kernel by HTTP, WebSocket and server-sent events.

The caller opens and closes the kernel. With `run_workers` the app runs the kernel's workers.
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
from segue.server.guard import Hosts, RequestGuard
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

_ABOUT = """Durable scheduling for LLM agents.

Times are RFC 3339 with an offset. Ids are strings. A list has one plural key and a `next_cursor`. Errors
are `application/problem+json` with a stable `code`. Send `Idempotency-Key` with a POST that creates
something: a repeated request then returns the first result."""

_ROUTE_MODULES = (
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
    """Return an app that serves an open kernel."""
    metrics = Metrics(__version__, kernel.workers.turns)
    state = AppState(kernel, configuration, ApiKeys(configuration.api_keys), metrics, run_workers)
    app = FastAPI(
        title="Segue",
        version=__version__,
        description=_ABOUT,
        docs_url=None,
        redoc_url=None,
        lifespan=_lifespan,
        # Segue traces runs (`telemetry.tracing`). Traces of requests would expose session keys in paths.
        telemetry={"tracing": False, "metrics": False, "logs": False},
    )
    app.state.segue = state
    hosts = Hosts(configuration.host, open_to_all=bool(state.keys), more=configuration.allowed_hosts)
    app.add_middleware(RequestGuard, hosts=hosts, metrics=metrics)
    error_responses.install(app)
    for module in _ROUTE_MODULES:
        # Not include_router: an included router matches each request's route twice.
        app.router.routes.extend(module.router.routes)
    app.openapi = lambda: _openapi(app, state)  # type: ignore[method-assign]
    return app


def mount(
    app: FastAPI,
    kernel: Kernel,
    configuration: Configuration,
    *,
    path: str = "/segue",
    run_workers: bool = True,
) -> FastAPI:
    """Mount the server below `path` of another application and run the workers during its lifespan.

    Returns the mounted app.
    """
    inner = create_app(kernel, configuration, run_workers=run_workers)
    outer_lifespan = app.router.lifespan_context

    @asynccontextmanager
    async def both_lifespans(outer: FastAPI) -> AsyncIterator[Any]:
        async with outer_lifespan(outer) as state, _lifespan(inner):
            yield state

    app.router.lifespan_context = both_lifespans
    app.router.routes.append(Mount(path, inner))
    return inner


@asynccontextmanager
async def _lifespan(app: FastAPI) -> AsyncIterator[None]:
    state: AppState = app.state.segue
    if not state.run_workers:
        yield
        return
    async with asyncio.TaskGroup() as tasks:
        state.workers_running = True
        workers = tasks.create_task(_run_workers(state))
        try:
            yield
        finally:
            workers.cancel()


async def _run_workers(state: AppState) -> None:
    try:
        await state.kernel.run()
    finally:
        state.workers_running = False


def _openapi(app: FastAPI, state: AppState) -> dict[str, Any]:
    if app.openapi_schema is None:
        schema = get_openapi(
            title=app.title, version=app.version, description=app.description, routes=app.routes
        )
        components = schema["components"]
        components["schemas"]["Problem"] = Problem.model_json_schema(
            ref_template="#/components/schemas/{model}"
        )
        if state.keys:
            components["securitySchemes"] = {
                "key": {"type": "http", "scheme": "bearer"},
                "cookie": {"type": "apiKey", "in": "cookie", "name": COOKIE},
            }
            schema["security"] = [{"key": []}, {"cookie": []}]
            for path in ("/health", "/auth/session"):
                for method in ("get", "post", "delete") if path == "/health" else ("post", "delete"):
                    if method in schema["paths"][path]:
                        schema["paths"][path][method]["security"] = []
        app.openapi_schema = schema
    return app.openapi_schema
