"""What the routes of one app share, and how a route gets at it and at its caller."""

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from fastapi import Request, Response
from fastapi.routing import APIRoute
from starlette.requests import HTTPConnection

from segue.configuration import Configuration
from segue.kernel import Kernel
from segue.model import Owner
from segue.server.auth import Caller, Keys, authenticate
from segue.server.metrics import Metrics


@dataclass(slots=True)
class House:
    kernel: Kernel
    configuration: Configuration
    keys: Keys
    metrics: Metrics
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


def house_of(connection: HTTPConnection) -> House:
    house: House = connection.app.state.segue
    return house


class Asked(Request):
    """A request of somebody we know. Only routes of the class `Guarded` are given one."""

    def __init__(self, request: Request) -> None:
        super().__init__(request.scope, request.receive)
        self.house = house_of(self)
        self.caller = self.house.caller(self)

    @property
    def kernel(self) -> Kernel:
        return self.house.kernel

    @property
    def owner(self) -> Owner:
        return self.caller.owner


class Guarded(APIRoute):
    """It knows who calls before a byte of the body is read.

    What its function wants of the house it takes from the request: each dependency would cost more than all
    of this, every time.
    """

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        handle = super().get_route_handler()

        async def known(request: Request) -> Response:
            return await handle(Asked(request))

        return known
