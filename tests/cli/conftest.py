"""Fixtures: the `segue` command, a double of a model provider, and an agent that waits at a gate."""

import logging
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path

import pytest
import pytest_asyncio

from segue.testing.scripted_provider import ScriptedProvider
from tests.cli.gate import Gate, gate_on_loopback
from tests.cli.process import Segue

KEY_OF_THE_PROVIDER = "sk-a-provider-gave-us-this"


@pytest.fixture
def segue(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Segue]:
    monkeypatch.chdir(tmp_path)
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    yield Segue(tmp_path)
    root.handlers[:], root.level = handlers, level


@pytest.fixture
def ready(segue: Segue, new_sqlite: Callable[[str], str]) -> None:
    """The database is there: to make one takes longer than most commands."""
    new_sqlite("data/segue.db")


@pytest_asyncio.fixture
async def gate(segue: Segue) -> AsyncIterator[Gate]:
    """Processes run the agent of `tests.cli.scripted`, which waits at this gate."""
    async with gate_on_loopback() as gate:
        segue.module = "tests.cli.scripted"
        segue.env["GATE"] = str(gate.port)
        yield gate


@pytest_asyncio.fixture
async def provider(segue: Segue) -> AsyncIterator[ScriptedProvider]:
    """A model provider that answers by a script, instead of the offline model."""
    double = ScriptedProvider()
    async with double.listening():
        segue.env |= {
            "SEGUE_MODEL": "openai-chat:gpt-4o",
            "OPENAI_BASE_URL": f"{double.url}/v1",
            "OPENAI_API_KEY": KEY_OF_THE_PROVIDER,
        }
        yield double
