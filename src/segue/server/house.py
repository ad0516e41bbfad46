"""What the routes of one app share, and how a route gets at it and at its caller."""

from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from typing import Any

from fastapi import Request, Response
from fastapi.routing import APIRoute
from starlette.requests import HTTPConnection

from segue.configuration import Configuration
from segue.kernel import Kernel
from segue.model import Owner
from segue.server.auth import Caller, Keys, authenticate
from segue.server.health import Checkup
from segue.server.metrics import Metrics


@dataclass(slots=True)
class House:
    kernel: Kernel
    configuration: Configuration
    keys: Keys
    metrics: Metrics
    checkup: Checkup
    run_workers: bool
    working: bool = False
    """The workers of this process are at work."""

    def caller(self, connection: HTTPConnection) -> Caller:
        return authenticate(connection, self.keys, self.kernel.clock.ms())


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
