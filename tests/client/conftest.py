"""Fixtures: a server on loopback in the test's process, and the faces of its kernel."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
import pytest_asyncio

from segue import Kernel
from segue.cli.support.http_server import HttpServer, address_of, listening_socket
from segue.client import AsyncClient, Client
from segue.config import Configuration
from segue.server import create_app
from segue.testing import ScriptedAgent
from tests.client.faces import Awaited, PlainHttp

FACES = ("kernel", "async", "blocking", "http")


@asynccontextmanager
async def serving(kernel: Kernel, **settings: Any) -> AsyncIterator[str]:
    """Serve an open kernel on loopback, with its workers; the address."""
    app = create_app(kernel, Configuration(database="sqlite://:memory:", **settings))
    with listening_socket("127.0.0.1", 0) as listening:
        async with asyncio.TaskGroup() as tasks:
            workers = tasks.create_task(kernel.run())
            server = HttpServer(app)
            serving = tasks.create_task(server.serve([listening]))
            await server.ready.wait()
            yield address_of(listening)
            server.should_exit = True
            await serving
            workers.cancel()


@pytest.fixture
def agent() -> ScriptedAgent:
    return ScriptedAgent()


@pytest.fixture
def url(request: pytest.FixtureRequest) -> str:
    """SQLite, or each database if the test asks for `database_url` too."""
    name = "database_url" if "database_url" in request.fixturenames else "migrated_sqlite_url"
    return str(request.getfixturevalue(name))


@pytest_asyncio.fixture
async def kernel(url: str, agent: ScriptedAgent) -> AsyncIterator[Kernel]:
    async with Kernel(url, agent=agent) as kernel:
        yield kernel
        assert not await kernel.audit()


@pytest_asyncio.fixture
async def address(kernel: Kernel) -> AsyncIterator[str]:
    async with serving(kernel) as address:
        yield address


@pytest_asyncio.fixture(params=FACES)
async def face(request: pytest.FixtureRequest, kernel: Kernel, address: str) -> AsyncIterator[Any]:
    """The same verbs: the kernel's own, those of the clients, and requests by hand."""
    match request.param:
        case "kernel":
            yield kernel
        case "async":
            async with AsyncClient(address) as client:
                yield client
        case "blocking":
            blocking = Client(address)
            yield Awaited(blocking)
            await asyncio.to_thread(blocking.close)
        case "http":
            http = PlainHttp(address)
            yield http
            await http.close()
