"""The FastAPI application: serves a kernel by HTTP, WebSocket and server-sent events.

It opens the kernel and runs its workers during the application's lifespan (see `lifespan`).
"""

from collections.abc import Collection
from contextlib import AbstractAsyncContextManager, nullcontext
from typing import Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi
from starlette.applications import Starlette
from starlette.middleware.cors import CORSMiddleware
from starlette.routing import Mount

from segue import __version__
from segue.config import Configuration
from segue.errors import BadMount, BadSetting
from segue.kernel.kernel import Kernel
from segue.server import error_responses
from segue.server.auth import COOKIE, ApiKeys, FindCaller
from segue.server.guard import Hosts, Origins, RequestGuard
from segue.server.lifespan import around
from segue.server.metrics import Metrics
from segue.server.model_settings import ModelSettings
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
    settings,
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
    settings,
    health,
    docs,
    page,
)


_METHODS = ("GET", "POST", "PATCH", "DELETE")
_REQUEST_HEADERS = ("Authorization", "Content-Type", "Idempotency-Key", "Last-Event-ID", "X-Segue-Session")
"""What a page of an allowed origin may send."""


def create_app(
    kernel: Kernel,
    configuration: Configuration | None = None,
    *,
    caller: FindCaller | None = None,
    allowed_origins: Collection[str] = (),
    manages_model: bool = False,
) -> FastAPI:
    """Return an app that serves a kernel.

    Its lifespan opens the kernel and runs its workers. A kernel that is open already is used as it is: the
    code that opened it runs its workers and closes it. `caller` authenticates requests in place of API keys.
    `allowed_origins` are other sites whose pages may use this server. `manages_model`: the kernel's agent is
    that of `make_agent(configuration)`, so an admin may connect a model on the page.
    """
    configuration = configuration or Configuration()
    model = ModelSettings(configuration, managed=manages_model)
    state = _app_state(kernel, configuration, caller, model)
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
    _add_guards(app, state, Origins(allowed_origins))
    error_responses.install(app)
    for module in _ROUTE_MODULES:
        # Not include_router: an included router matches each request's route twice.
        app.router.routes.extend(module.router.routes)
    app.openapi = lambda: _openapi(app, state)  # type: ignore[method-assign]
    return app


def _app_state(
    kernel: Kernel, configuration: Configuration, caller: FindCaller | None, model: ModelSettings
) -> AppState:
    if caller is not None and configuration.api_keys:
        raise BadSetting("give either `caller` or `api_keys`: with both, it is not clear which one decides")

    def count_turns() -> int:
        return len(kernel.workers.turns) if kernel.is_open else 0

    metrics = Metrics(__version__, count_turns)
    return AppState(kernel, configuration, ApiKeys(configuration.api_keys), caller, metrics, model)


def _add_guards(app: FastAPI, state: AppState, origins: Origins) -> None:
    """Add the middleware. The one that is added last sees a request first."""
    if origins.names:
        app.add_middleware(
            CORSMiddleware,
            allow_origins=origins.names,
            allow_methods=_METHODS,
            allow_headers=_REQUEST_HEADERS,
            allow_credentials=True,
        )
    hosts = Hosts(
        state.configuration.host,
        open_to_all=bool(state.keys) or state.find_caller is not None,
        more=state.configuration.allowed_hosts,
    )
    app.add_middleware(RequestGuard, hosts=hosts, origins=origins, metrics=state.metrics)


def mount(
    app: Starlette,
    kernel: Kernel,
    prefix: str = "/segue",
    caller: FindCaller | None = None,
    allowed_origins: Collection[str] = (),
    configuration: Configuration | None = None,
) -> FastAPI:
    """Mount the server below `prefix` of a FastAPI or Starlette application, and return the mounted app.

    The application's lifespan opens the kernel and runs its workers, as with `create_app`. The application's
    own lifespan runs inside of it. Raises `BadMount` if the application has started, if the kernel or the
    prefix is mounted already, or if the prefix is not a path.
    """
    _check_mount(app, kernel, prefix)
    inner = create_app(kernel, configuration, caller=caller, allowed_origins=allowed_origins)
    own_lifespan = app.router.lifespan_context

    def both_lifespans(outer: Any) -> AbstractAsyncContextManager[Any]:
        return around(inner.state.segue, own_lifespan(outer))

    app.router.lifespan_context = both_lifespans
    app.router.routes.insert(0, Mount(prefix, inner))  # first, so that no route for all paths hides it
    return inner


def _check_mount(app: Starlette, kernel: Kernel, prefix: str) -> None:
    if not prefix.startswith("/") or prefix.endswith("/") or "{" in prefix:
        raise BadMount(
            f"prefix: {prefix!r} is not a path such as /segue; to serve Segue at /, use `create_app`"
        )
    if app.middleware_stack is not None:
        raise BadMount(
            "the application has started, so its lifespan would not open the kernel; call `mount` where the "
            "application is made, at module level, not in its lifespan or in a request"
        )
    for route in app.routes:
        state = getattr(getattr(route, "app", None), "state", None)
        mounted: AppState | None = getattr(state, "segue", None)
        if mounted is not None and mounted.kernel is kernel:
            raise BadMount("this kernel is mounted here already; mount it once")
        if mounted is not None and getattr(route, "path", None) == prefix:
            raise BadMount(f"another kernel is mounted at {prefix} already; choose another prefix")


def _lifespan(app: FastAPI) -> AbstractAsyncContextManager[None]:
    return around(app.state.segue, nullcontext())


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
