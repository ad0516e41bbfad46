"""Request context: the state that the routes of one app share, and the caller of a request."""

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Annotated, Any, TypeAlias

from fastapi import Header, Request, Response
from fastapi.routing import APIRoute
from starlette.requests import HTTPConnection

from segue.config import Configuration, Role
from segue.kernel.kernel import Kernel
from segue.kernel.transactions import idempotency
from segue.model.records import Asker, user_of
from segue.model.text_checks import MAX_NAME, check_text
from segue.server.auth import ApiKeys, Caller, FindCaller, authenticate
from segue.server.error_responses import Refused
from segue.server.metrics import Metrics
from segue.server.model_settings import ModelSettings

IdempotencyKey: TypeAlias = Annotated[
    str | None,
    Header(
        min_length=1,
        max_length=200,
        pattern=r"^[\x21-\x7e]+$",
        description="Any unique text. A repeat with the same key within a day returns the first result.",
    ),
]


@dataclass(slots=True)
class AppState:
    kernel: Kernel
    configuration: Configuration
    keys: ApiKeys
    find_caller: FindCaller | None
    metrics: Metrics
    model: ModelSettings
    workers_running: bool | None = None
    """Whether the app's workers are running; None if the app runs none."""
    uploads: int = 0
    """Files that are being uploaded now."""
    wires: list[Callable[[], AbstractAsyncContextManager[None]]] = field(default_factory=list)
    """What else runs for as long as the app does."""
    _closing: bool = False
    _waits: set[asyncio.Timeout] = field(default_factory=set)

    async def caller(self, connection: HTTPConnection) -> Caller:
        return await authenticate(connection, self.keys, self.find_caller, self.kernel.clock.ms())

    @asynccontextmanager
    async def waiting(self, seconds: float) -> AsyncIterator[None]:
        """Raise TimeoutError after `seconds`, or at once when the server closes."""
        async with asyncio.timeout(0 if self._closing else seconds) as limit:
            self._waits.add(limit)
            try:
                yield
            finally:
                self._waits.discard(limit)

    def open(self) -> None:
        """Call when the application starts, which it may do again after it was stopped."""
        self._closing = False
        self.workers_running = None

    def close(self) -> None:
        """End every `waiting` block, so that each request is answered before its connection is closed."""
        self._closing = True
        for limit in self._waits:
            if not limit.expired():
                limit.reschedule(asyncio.get_running_loop().time())


def app_state(connection: HTTPConnection) -> AppState:
    """The state of the app. Raises Refused (503) if its kernel is not open."""
    state: AppState = connection.app.state.segue
    if not state.kernel.is_open:
        raise Refused(
            503,
            "not_started",
            "the kernel is not open, because the application's lifespan has not run; mount it with "
            "`segue.server.mount` before the application starts, on the application that the web server runs",
        )
    return state


def asker_of(caller: Caller, connection: HTTPConnection) -> Asker:
    """The owner that a caller acts for. An admin may choose one user of the account by `?user=`."""
    user = connection.query_params.get("user")
    return caller.asking_for(user if user is None else check_text(user, "user", longest=MAX_NAME))


async def check_may_open(kernel: Kernel, caller: Caller, asker: Asker, key: str) -> None:
    """Raise NotFound if the key is of a network chat that belongs to another user.

    Only an incoming message or an admin creates such a session. A user who could create it could write to
    other people's chats.
    """
    if caller.role is not Role.ADMIN and user_of(key, kernel.networks) not in (None, asker.user):
        await kernel.sessions.get(key, owner=asker)


class AuthenticatedRequest(Request):
    """A request with its authenticated caller. Routes of the class `AuthenticatedRoute` receive it."""

    def __init__(self, request: Request, state: AppState, caller: Caller) -> None:
        super().__init__(request.scope, request.receive)
        self.app_state = state
        self.caller = caller
        self.owner = asker_of(caller, self)

    @property
    def kernel(self) -> Kernel:
        return self.app_state.kernel

    async def may_open(self, key: str) -> None:
        await check_may_open(self.kernel, self.caller, self.owner, key)

    async def idempotency(self, name: str | None, content: bytes | None = None) -> idempotency.Request | None:
        """The request under its `Idempotency-Key`, so that a repeat returns the stored result.

        `content`: what it says, if that is not the body as it came.
        """
        if name is None:
            return None
        # Query parameters are left out: a repeat may use another `wait`.
        said = f"{self.method} {self.url.path}\n".encode("utf-8", "surrogatepass")
        digest = sha256(said + (await self.body() if content is None else content)).hexdigest()
        return idempotency.Request(owner=self.owner.own, name=name, digest=digest)


class AuthenticatedRoute(APIRoute):
    """Authenticates the caller before the body is read.

    Route functions take the kernel and the owner from the request: a FastAPI dependency for each would cost
    more time than the rest of the request handling.
    """

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        handle = super().get_route_handler()

        async def authenticated(request: Request) -> Response:
            state = app_state(request)
            return await handle(AuthenticatedRequest(request, state, await state.caller(request)))

        return authenticated
