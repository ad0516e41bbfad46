"""Fixtures: a kernel on SQLite with the model agent, and a fake provider."""

import random
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import AsyncExitStack
from typing import Any

import pytest
import pytest_asyncio

from segue import Kernel, Settings
from segue.agents.llm import ModelAgent, ModelLimits, load_model
from segue.agents.tools.registry import Registry, Tool
from segue.testing import ManualClock
from segue.testing.scripted_provider import ScriptedProvider
from tests.agents.house import MODELS, Harness


@pytest_asyncio.fixture
async def provider() -> AsyncIterator[ScriptedProvider]:
    double = ScriptedProvider()
    async with double.listening():
        yield double


@pytest.fixture(params=list(MODELS))
def dialect(request: pytest.FixtureRequest) -> str:
    """The wire format; a test with this fixture runs once for each."""
    return str(request.param)


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest_asyncio.fixture
async def open_harness(
    provider: ScriptedProvider, migrated_sqlite_url: str, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[Callable[..., Any]]:
    monkeypatch.setenv("OPENAI_BASE_URL", f"{provider.url}/v1")
    monkeypatch.setenv("OPENAI_API_KEY", "sk-our-own-secret")
    monkeypatch.setenv("ANTHROPIC_BASE_URL", provider.url)
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-our-own-secret")
    async with AsyncExitStack() as stack:
        opened: list[Kernel] = []

        async def open_one(
            dialect: str = "openai", *, tools: Iterable[Tool] = (), limits: ModelLimits | None = None
        ) -> Harness:
            agent = ModelAgent(
                load_model(MODELS[dialect]),
                tools=Registry(tools),
                limits=limits,
                rng=random.Random(1),
            )
            await stack.enter_async_context(agent)
            kernel = Kernel(
                migrated_sqlite_url,
                agent=agent,
                clock=clock,
                settings=Settings(timezone="Europe/Berlin"),
                name="worker-1",
            )
            opened.append(await stack.enter_async_context(kernel))
            return Harness(kernel, provider, clock)

        yield open_one
        for kernel in opened:
            assert not await kernel.audit()
