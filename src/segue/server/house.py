"""What the routes of one app share, and how a route gets at it and at its caller."""

from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from typing import Any

from fastapi import Request, Response
from fastapi.routing import APIRoute
from starlette.requests import HTTPConnection

from segue.configuration import Configuration, Role
from segue.kernel import Kernel
from segue.model import Asker, user_of
from segue.server.auth import Caller, Keys, authenticate
from segue.server.health import Checkup
from segue.server.metrics import Metrics
from segue.text import MAX_NAME, check_text


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


class Asked(Request):
    """A request of somebody we know. Only routes of the class `Guarded` are given one."""

    def __init__(self, request: Request) -> None:
        super().__init__(request.scope, request.receive)
        self.house = house_of(self)
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
            return await handle(Asked(request))

        return known
