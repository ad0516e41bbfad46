"""HTTP endpoint of the MCP wire: `/mcp`, streamable HTTP, with the keys and rules of every other route.

The MCP library is imported with the first request: it takes longer to load than the rest of the server, and
most servers never need it.

Invariants
  - a request is authenticated before its body is read
  - with revisions before 2026-07-28 a connection has a transport session; only its caller can use it
"""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from importlib import import_module
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

from starlette.requests import Request
from starlette.routing import Match, Route
from starlette.types import Receive, Scope, Send

from segue.errors import MissingPackage
from segue.extras import needed_for
from segue.server.auth import Caller
from segue.server.error_responses import Refused
from segue.server.request_context import AppState, app_state, asker_of
from segue.server.wires.conversation import SESSION_HEADER
from segue.server.wires.mcp.binding import PARAMETER, Binding

if TYPE_CHECKING:
    from mcp.server import ServerRequestContext
    from mcp.server.streamable_http_manager import StreamableHTTPSessionManager

_BINDING = "segue_mcp_binding"
"""Where the binding of a request stands in its ASGI scope."""


class McpHttpApp:
    """The ASGI application of `/mcp`. It serves requests while `running` is open."""

    def __init__(self, state: AppState) -> None:
        self._state = state
        self._run: _Run | None = None

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Open it for as long as the application runs. It can be opened again."""
        self._run = _Run()
        try:
            async with asyncio.TaskGroup() as tasks:
                serving = tasks.create_task(self._serve(self._run))
                yield
                serving.cancel()
        finally:
            self._run.manager.cancel()
            self._run = None

    async def _serve(self, run: "_Run") -> None:
        await run.wanted.wait()
        try:
            with needed_for("`/mcp`", "mcp"):
                await asyncio.to_thread(import_module, "mcp.server")
                manager = self._make_manager()
        except MissingPackage as missing:
            run.manager.set_exception(missing)
            return
        async with manager.run():
            run.manager.set_result(manager)
            await asyncio.Event().wait()  # until `running` ends

    def _make_manager(self) -> "StreamableHTTPSessionManager":
        from mcp.server.streamable_http_manager import StreamableHTTPSessionManager

        from segue.server.wires.mcp.protocol_server import make_server

        return StreamableHTTPSessionManager(make_server(self._state.kernel, _binding_of))

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        request = Request(scope, receive)
        caller = await app_state(request).caller(request)
        scope[_BINDING] = _binding(request, caller)
        manager = await self._manager()
        scope["user"] = _transport_user(caller)
        scope["headers"] = [(name, value.strip(b" \t")) for name, value in scope["headers"]]
        await manager.handle_request(scope, receive, send)

    async def _manager(self) -> "StreamableHTTPSessionManager":
        if self._run is None:
            raise Refused(503, "not_started", "the application's lifespan has not run, so `/mcp` is closed")
        self._run.wanted.set()
        try:
            return await asyncio.shield(self._run.manager)
        except MissingPackage as missing:
            raise Refused(501, missing.code, str(missing)) from missing


class McpRoute(Route):
    """The route of an endpoint. It names itself in the scope, for metrics and error responses."""

    def __init__(self, endpoint: McpHttpApp) -> None:
        super().__init__("/mcp", endpoint, methods=["GET", "POST", "DELETE"])

    def matches(self, scope: Scope) -> tuple[Match, Scope]:
        match, child_scope = super().matches(scope)
        return match, {**child_scope, "route": self}


class _Run:
    """What exists for one lifespan of the application."""

    def __init__(self) -> None:
        self.wanted = asyncio.Event()
        self.manager: asyncio.Future[StreamableHTTPSessionManager] = asyncio.Future()


def _binding(request: Request, caller: Caller) -> Binding:
    header, parameter = request.headers.get(SESSION_HEADER), request.query_params.get(PARAMETER)
    named = [key for key in (header and unquote(header), parameter) if key]
    return Binding(
        caller=caller,
        owner=asker_of(caller, request),
        key=named[0] if named else None,
        conflict=named[1] if len(set(named)) > 1 else None,
    )


def _binding_of(context: "ServerRequestContext[Any]") -> Binding:
    request: Request | None = context.request
    assert request is not None  # the transport has one for each message
    binding: Binding = request.scope[_BINDING]
    return binding


def _transport_user(caller: Caller) -> object:
    """The user that the MCP library compares with the one who opened a transport session."""
    from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser
    from mcp.server.auth.provider import AccessToken

    name = json.dumps([caller.owner.account, caller.owner.user, str(caller.role)])
    return AuthenticatedUser(AccessToken(token="", client_id=name, scopes=[]))
