"""The embedder of a provider: what is sent where, and answers that cannot be trusted."""

import json
from typing import Any

import httpx2
import pytest

from segue.agents import make_embedder
from segue.agents.embedder import EndpointEmbedder
from segue.agents.tools.registry import ToolRefused
from segue.config import Configuration
from segue.errors import AgentFailed, BadSetting

KEY = "sk-a-provider-gave-us-this"


def answering(answer: Any, seen: list[httpx2.Request], status: int = 200) -> httpx2.MockTransport:
    def handle(request: httpx2.Request) -> httpx2.Response:
        seen.append(request)
        return httpx2.Response(status, content=answer if isinstance(answer, bytes) else json.dumps(answer))

    return httpx2.MockTransport(handle)


async def public(host: str, port: int) -> list[str]:
    return ["93.184.216.34"]


async def test_texts_are_sent_to_the_checked_address_and_vectors_come_back_in_order() -> None:
    seen: list[httpx2.Request] = []
    data = [{"index": 1, "embedding": [0, 1]}, {"index": 0, "embedding": [1, 0]}]
    transport = answering({"data": data}, seen)
    embedder = EndpointEmbedder("https://api.example/v1", "small", KEY, resolve=public, transport=transport)
    assert await embedder.embed(["one", "two"]) == [[1, 0], [0, 1]]
    (request,) = seen
    assert str(request.url) == "https://93.184.216.34/v1/embeddings"
    assert request.headers["host"] == "api.example"
    assert request.headers["authorization"] == f"Bearer {KEY}"
    assert json.loads(request.content) == {"model": "small", "input": ["one", "two"]}


@pytest.mark.parametrize("address", ["169.254.169.254", "fd00:ec2::254", "224.0.0.1", "0.0.0.0"])
async def test_an_address_that_no_call_may_reach_is_refused(address: str) -> None:
    async def resolve(host: str, port: int) -> list[str]:
        return [address]

    seen: list[httpx2.Request] = []
    embedder = EndpointEmbedder(
        "http://api.example", "m", KEY, resolve=resolve, transport=answering({}, seen)
    )
    with pytest.raises(ToolRefused):
        await embedder.embed(["one"])
    assert seen == []


@pytest.mark.parametrize(
    ("answer", "status"),
    [
        (b"no json", 200),
        ({"data": []}, 200),
        ({"data": [{"index": 0, "embedding": ["x"]}]}, 200),
        ({"data": [{"embedding": [1]}]}, 200),
        ({"error": KEY}, 401),
        ({}, 302),
        (b"[" * 100_000, 200),
    ],
)
async def test_an_answer_that_cannot_be_read_fails_without_its_words(answer: Any, status: int) -> None:
    transport = answering(answer, [], status)
    embedder = EndpointEmbedder("https://api.example/v1", "m", KEY, resolve=public, transport=transport)
    with pytest.raises(AgentFailed) as refused:
        await embedder.embed(["one"])
    assert KEY not in str(refused.value)


def test_an_embedder_is_made_only_if_one_is_configured() -> None:
    assert make_embedder(Configuration.load(env={})) is None
    env = {"SEGUE_EMBEDDING_URL": "http://127.0.0.1:11434/v1", "SEGUE_EMBEDDING_MODEL": "minilm"}
    embedder = make_embedder(Configuration.load(env={**env, "SEGUE_EMBEDDING_KEY": KEY}))
    assert embedder is not None
    assert embedder.name == "minilm"
    assert KEY in Configuration.load(env={**env, "SEGUE_EMBEDDING_KEY": KEY}).secrets()
    with pytest.raises(BadSetting, match="SEGUE_EMBEDDING_MODEL"):
        Configuration.load(env={"SEGUE_EMBEDDING_URL": "http://127.0.0.1/v1"})
