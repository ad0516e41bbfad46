"""Fixtures: a server in the test's process, on both databases, with the machine's clock."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Protocol

import httpx2
import pytest
import pytest_asyncio
from fastapi import FastAPI
from starlette.applications import Starlette

from segue import Kernel
from segue.config import ApiKey, Configuration, Role, Secret
from segue.server import create_app
from segue.testing import ScriptedAgent
from tests.warm import migrated_postgres_url, nothing_is_left_behind, share_a_loop

__all__ = ["agent", "guarded", "http", "kernel", "migrated_postgres_url", "nothing_is_left_behind"]

ADA, BEN, ROOT_KEY = "the-long-key-of-ada", "the-long-key-of-ben", "the-long-key-of-root"
KEYS = (
    ApiKey(key=Secret(ADA), account="one", user="ada"),
    ApiKey(key=Secret(BEN), account="one", user="ben"),
    ApiKey(key=Secret(ROOT_KEY), account="two", user="root", role=Role.ADMIN),
)


def bearer(key: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {key}"}


def pytest_configure(config: pytest.Config) -> None:
    config.pluginmanager.import_plugin("tests.crash.figures")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    share_a_loop(items, Path(__file__).parent)


class Reach(Protocol):
    def __call__(self, app: Starlette, **options: Any) -> httpx2.AsyncClient: ...


def reach(app: Starlette, **options: Any) -> httpx2.AsyncClient:
    transport = httpx2.ASGITransport(app=app, raise_app_exceptions=False)
    return httpx2.AsyncClient(transport=transport, **{"base_url": "http://localhost", **options})


@asynccontextmanager
async def working(kernel: Kernel) -> AsyncIterator[None]:
    """Run the workers of a kernel that the test has opened."""
    async with asyncio.TaskGroup() as tasks:
        workers = tasks.create_task(kernel.run())
        yield
        workers.cancel()


@asynccontextmanager
async def running(kernel: Kernel, **settings: Any) -> AsyncIterator[FastAPI]:
    app = create_app(kernel, Configuration(database="sqlite://:memory:", **settings))
    async with working(kernel), app.router.lifespan_context(app):
        yield app


@pytest.fixture
def agent() -> ScriptedAgent:
    return ScriptedAgent()


@pytest_asyncio.fixture(loop_scope="session")
async def kernel(database_url: str, agent: ScriptedAgent) -> AsyncIterator[Kernel]:
    async with Kernel(database_url, agent=agent) as kernel:
        yield kernel
        assert not await kernel.audit()


@pytest_asyncio.fixture(loop_scope="session")
async def http(kernel: Kernel) -> AsyncIterator[httpx2.AsyncClient]:
    """A client of a server without keys: every caller is the default owner."""
    async with running(kernel) as app, reach(app) as client:
        yield client


@pytest_asyncio.fixture(loop_scope="session")
async def guarded(kernel: Kernel) -> AsyncIterator[httpx2.AsyncClient]:
    """A client without a key, of a server that requires keys."""
    async with running(kernel, api_keys=KEYS) as app, reach(app) as client:
        yield client
