"""The command, with a provider's double, or with an agent that waits at a gate of the test."""

import logging
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
import pytest_asyncio

from tests.agents.double import Double
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


@pytest_asyncio.fixture
async def gate(segue: Segue) -> AsyncIterator[Gate]:
    """Processes run the agent of `scripted`, which comes here."""
    async with gate_on_loopback() as gate:
        segue.module = "tests.cli.scripted"
        segue.env["GATE"] = str(gate.port)
        yield gate


@pytest_asyncio.fixture
async def provider(segue: Segue) -> AsyncIterator[Double]:
    """Who answers instead of the offline model, as its script says."""
    double = Double()
    async with double.listening():
        segue.env |= {
            "SEGUE_MODEL": "openai-chat:gpt-4o",
            "OPENAI_BASE_URL": f"{double.url}/v1",
            "OPENAI_API_KEY": KEY_OF_THE_PROVIDER,
        }
        yield double
