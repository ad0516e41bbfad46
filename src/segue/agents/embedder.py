"""Embedder of a provider: calls an OpenAI-compatible `/embeddings` endpoint.

The operator names the address, so it may be on this machine or its network; what no call may reach stays
refused, as for `fetch_url`. Redirects are not followed, and the key is sent to the checked address only.
"""

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from segue.agents.tools.guarded_address import Resolve, checked_address, resolve, target_of
from segue.errors import AgentFailed
from segue.extras import needed_for

if TYPE_CHECKING:
    import httpx2

_AT_ONCE = 64
_LONGEST_TEXT = 8_000
_LARGEST_ANSWER = 64_000_000
_SECONDS = 30.0


class EndpointEmbedder:
    """`url` is that of the API, such as `https://api.openai.com/v1`; `transport` is for tests."""

    def __init__(
        self,
        url: str,
        model: str,
        key: str | None = None,
        *,
        resolve: Resolve = resolve,
        transport: "httpx2.AsyncBaseTransport | None" = None,
    ) -> None:
        self.name = model
        self._target = target_of(f"{url.rstrip('/')}/embeddings")
        self._key = key
        self._resolve = resolve
        self._transport = transport

    async def embed(self, texts: Sequence[str]) -> Sequence[Sequence[float]]:
        with needed_for("embeddings", "model"):
            import httpx2
        vectors: list[Sequence[float]] = []
        async with httpx2.AsyncClient(trust_env=False, timeout=_SECONDS, transport=self._transport) as client:
            for first in range(0, len(texts), _AT_ONCE):
                batch = [text[:_LONGEST_TEXT] for text in texts[first : first + _AT_ONCE]]
                vectors += await self._call(client, batch)
        return vectors

    async def _call(self, client: "httpx2.AsyncClient", texts: list[str]) -> list[Sequence[float]]:
        address = await checked_address(
            self._target.host, self._target.port, private=True, resolve=self._resolve
        )
        headers = {"Host": self._target.host_header, "Accept-Encoding": "identity"}
        if self._key:
            headers["Authorization"] = f"Bearer {self._key}"
        response = await client.post(
            self._target.url_at(address),
            json={"model": self.name, "input": texts},
            headers=headers,
            extensions={"sni_hostname": self._target.host},
            follow_redirects=False,
        )
        if response.status_code != 200:
            raise AgentFailed(f"the embedding endpoint answered {response.status_code}")
        return _vectors(response.content, len(texts))


def _vectors(body: bytes, count: int) -> list[Sequence[float]]:
    try:
        if len(body) > _LARGEST_ANSWER:
            raise ValueError("it is too large")
        entries: list[dict[str, Any]] = sorted(json.loads(body)["data"], key=lambda entry: entry["index"])
        vectors = [[float(value) for value in entry["embedding"]] for entry in entries]
    except (ValueError, TypeError, KeyError, RecursionError) as error:
        raise AgentFailed(f"the embedding endpoint gave an answer that cannot be read: {error}") from None
    if len(vectors) != count:
        raise AgentFailed(f"the embedding endpoint gave {len(vectors)} vectors for {count} texts")
    return list(vectors)
