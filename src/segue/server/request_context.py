"""What the routes of one app share, and how a route gets at it and at its caller."""

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from fastapi import Request, Response
from fastapi.routing import APIRoute
from starlette.requests import HTTPConnection

from segue.config import Configuration, Role
from segue.kernel.kernel import Kernel
from segue.model.records import Asker, user_of
from segue.model.text_checks import MAX_NAME, check_text
from segue.server.auth import ApiKeys, Caller, authenticate
from segue.server.health import Checkup
from segue.server.metrics import Metrics


@dataclass(slots=True)
class AppState:
    kernel: Kernel
    configuration: Configuration
    keys: ApiKeys
    metrics: Metrics
    checkup: Checkup
    run_workers: bool
    working: bool = False
    """The workers of this process are at work."""
    _closing: bool = False
    _waits: set[asyncio.Timeout] = field(default_factory=set)

    def caller(self, connection: HTTPConnection) -> Caller:
        return authenticate(connection, self.keys, self.kernel.clock.ms())

    @asynccontextmanager
    async def waiting(self, seconds: float) -> AsyncIterator[None]:
        """Raise TimeoutError after that time, or at once when the server closes."""
        async with asyncio.timeout(0 if self._closing else seconds) as limit:
            self._waits.add(limit)
            try:
                yield
            finally:
                self._waits.discard(limit)

    def close(self) -> None:
        """End every wait, so that each request can answer before its connection is cut."""
        self._closing = True
        for limit in self._waits:
            if not limit.expired():
                limit.reschedule(asyncio.get_running_loop().time())


def app_state(connection: HTTPConnection) -> AppState:
    house: AppState = connection.app.state.segue
    return house


def asker_of(caller: Caller, connection: HTTPConnection) -> Asker:
    """On whose behalf a caller asks. An admin may choose one user of the account by `?user=`."""
    user = connection.query_params.get("user")
    return caller.asking_for(user if user is None else check_text(user, "user", longest=MAX_NAME))


async def check_may_open(kernel: Kernel, caller: Caller, asker: Asker, key: str) -> None:
    """`NotFound` for a chat on a network that is not the caller's.

    Such a chat is made by what arrives in it, or by an admin. A user who made it would write to the people
    in it.
    """
    if caller.role is not Role.ADMIN and user_of(key, kernel.networks) not in (None, asker.user):
        await kernel.session(key, owner=asker)


class AuthenticatedRequest(Request):
    """A request of somebody we know. Only routes of the class `Guarded` are given one."""

    def __init__(self, request: Request) -> None:
        super().__init__(request.scope, request.receive)
        self.house = app_state(self)
        self.caller = self.house.caller(self)
        self.owner = asker_of(self.caller, self)

    @property
    def kernel(self) -> Kernel:
        return self.house.kernel

    async def may_open(self, key: str) -> None:
        await check_may_open(self.kernel, self.caller, self.owner, key)


class Guarded(APIRoute):
    """It knows who calls before a byte of the body is read.

    What its function wants of the house it takes from the request: each dependency would cost more than all
    of this, every time.
    """

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        handle = super().get_route_handler()

        async def known(request: Request) -> Response:
            return await handle(AuthenticatedRequest(request))

        return known
