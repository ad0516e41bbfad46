"""What the routes of one app share, and how a route gets at it and at its caller."""

from dataclasses import dataclass
from typing import Annotated, TypeAlias

from fastapi import Depends, Request
from starlette.requests import HTTPConnection

from segue.configuration import Configuration
from segue.kernel import Kernel
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

    def caller(self, connection: HTTPConnection) -> Caller:
        return authenticate(connection, self.keys, self.kernel.clock.ms())


def house_of(connection: HTTPConnection) -> House:
    house: House = connection.app.state.segue
    return house


async def _house(request: Request) -> House:
    return house_of(request)


async def _kernel(request: Request) -> Kernel:
    return house_of(request).kernel


async def _caller(request: Request) -> Caller:
    return house_of(request).caller(request)


HouseOf: TypeAlias = Annotated[House, Depends(_house)]
KernelOf: TypeAlias = Annotated[Kernel, Depends(_kernel)]
CallerOf: TypeAlias = Annotated[Caller, Depends(_caller)]
