"""The FastAPI application: serves a kernel by HTTP, WebSocket and server-sent events.

It opens the kernel and runs its workers during the application's lifespan (see `lifespan`).
"""

from collections.abc import Collection, Iterable, Iterator
from contextlib import AbstractAsyncContextManager, nullcontext
from types import ModuleType
from typing import Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi
from fastapi.routing import APIRoute
from starlette.applications import Starlette
from starlette.middleware.cors import CORSMiddleware
from starlette.routing import BaseRoute, Mount

from segue import __version__
from segue.config import Configuration
from segue.errors import BadMount, BadSetting
from segue.kernel.api.files import MEGABYTE
from segue.kernel.kernel import Kernel
from segue.server import error_responses
from segue.server.auth import COOKIE, ApiKeys, FindCaller
from segue.server.guard import Hosts, Origins, RequestGuard
from segue.server.lifespan import around
from segue.server.metrics import Metrics
from segue.server.model_settings import ModelSettings
from segue.server.push import pusher
from segue.server.push.pusher import Pusher, PushSettings
from segue.server.request_context import AppState
from segue.server.routes import (
    automations,
    calendars,
    docs,
    files,
    forecasts,
    guests,
    health,
    live,
    log,
    login,
    memory,
    page,
    push,
    recalls,
    runs,
    scheduled_messages,
    sessions,
    settings,
    turns,
    webhooks,
)
from segue.server.schemas.common import Problem
from segue.server.wires import (
    agui,
    langgraph_crons,
    langgraph_joins,
    langgraph_runs,
    langgraph_threads,
    openai_chat,
    openai_common,
    openai_responses,
    ui_stream,
)
from segue.server.wires.mcp.endpoint import McpHttpApp, McpRoute

_ABOUT = """Durable scheduling for LLM agents.

Times are RFC 3339 with an offset. Ids are strings. A list has one plural key and a `next_cursor`. Errors
are `application/problem+json` with a stable `code`. Send `Idempotency-Key` with a POST that creates
something: a repeated request then returns the first result."""

_ROUTE_MODULES = (
    sessions,
    turns,
    log,
    files,
    forecasts,
    automations,
    calendars,
    guests,
    runs,
    recalls,
    scheduled_messages,
    webhooks,
    memory,
    live,
    openai_common,
    openai_chat,
    openai_responses,
    agui,
    ui_stream,
    langgraph_threads,
    langgraph_runs,
    langgraph_joins,
    langgraph_crons,
    login,
    settings,
    push,
    health,
    docs,
    page,
)


_WITHOUT_KEY = (
    ("/health", "get"),
    ("/auth/session", "post"),
    ("/auth/session", "delete"),
    ("/calendar/{token}.ics", "get"),
)
_METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE")
_MCP_HEADERS = ("Mcp-Session-Id", "Mcp-Protocol-Version", "Mcp-Method", "Mcp-Name")
_REQUEST_HEADERS = (
    "Authorization",
    "Content-Type",
    "Idempotency-Key",
    "Last-Event-ID",
    "X-Segue-Session",
    "X-Segue-On-Disconnect",
    *_MCP_HEADERS,
)
"""What a page of an allowed origin may send."""


def create_app(
    kernel: Kernel,
    configuration: Configuration | None = None,
    *,
    caller: FindCaller | None = None,
    allowed_origins: Collection[str] = (),
    manages_model: bool = False,
    push_settings: PushSettings = pusher.DEFAULTS,
) -> FastAPI:
    """Return an app that serves a kernel.

    Its lifespan opens the kernel and runs its workers. A kernel that is open already is used as it is: the
    code that opened it runs its workers and closes it. `caller` authenticates requests in place of API keys.
    `allowed_origins` are other sites whose pages may use this server. `manages_model`: the kernel's agent is
    that of `make_agent(configuration)`, so an admin may connect a model on the page. `push_settings`: pauses
    of Web Push, for tests.
    """
    configuration = configuration or Configuration()
    model = ModelSettings(configuration, managed=manages_model)
    state = _app_state(kernel, configuration, caller, model)
    app = _app_of(_ROUTE_MODULES, state, Origins(allowed_origins))
    state.wires.append(Pusher(kernel, configuration, state.keys, push_settings).running)
    _add_mcp(app, state)
    return app


def create_worker_app(kernel: Kernel, configuration: Configuration) -> FastAPI:
    """Return an app with the health and the metrics of a process that serves nothing else."""
    model = ModelSettings(configuration, managed=False)
    return _app_of((health,), _app_state(kernel, configuration, None, model), Origins(()))


def _app_of(modules: Iterable[ModuleType], state: AppState, origins: Origins) -> FastAPI:
    app = FastAPI(
        title="Segue",
        version=__version__,
        description=_ABOUT,
        docs_url=None,
        redoc_url=None,
        lifespan=_lifespan,
        # Segue traces turns (`telemetry.tracing`). Traces of requests would expose session keys in paths.
        telemetry={"tracing": False, "metrics": False, "logs": False},
    )
    app.state.segue = state
    _add_guards(app, state, origins)
    error_responses.install(app)
    for module in modules:
        # Not include_router: an included router matches each request's route twice.
        app.router.routes.extend(_with_operation_ids(module.router.routes))
    app.openapi = lambda: _openapi(app, state)  # type: ignore[method-assign]
    return app


def _add_mcp(app: FastAPI, state: AppState) -> None:
    endpoint = McpHttpApp(state)
    state.wires.append(endpoint.running)
    app.router.routes.append(McpRoute(endpoint))


def _with_operation_ids(routes: Iterable[BaseRoute]) -> Iterator[BaseRoute]:
    """Name each operation after its function: generated clients make methods of these names."""
    for route in routes:
        if isinstance(route, APIRoute):
            route.operation_id = route.operation_id or route.name
        yield route


def _app_state(
    kernel: Kernel, configuration: Configuration, caller: FindCaller | None, model: ModelSettings
) -> AppState:
    if caller is not None and configuration.api_keys:
        raise BadSetting("give either `caller` or `api_keys`: with both, it is not clear which one decides")
    metrics = Metrics(__version__, kernel)
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
            expose_headers=("X-Segue-Session", "Mcp-Session-Id"),
        )
    hosts = Hosts(
        state.configuration.host,
        open_to_all=bool(state.keys) or state.find_caller is not None,
        more=state.configuration.allowed_hosts,
    )
    largest_file = round(state.kernel.settings.file_megabytes * MEGABYTE)
    app.add_middleware(
        RequestGuard, hosts=hosts, origins=origins, metrics=state.metrics, largest_file=largest_file
    )


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
            for path, method in _WITHOUT_KEY:
                if method in schema["paths"].get(path, ()):
                    schema["paths"][path][method]["security"] = []
        app.openapi_schema = schema
    return app.openapi_schema
