"""A provider double with a prefix cache: it records each request, and says what it had in its cache.

Tokens are estimated from characters. The two caches are those of the providers: OpenAI's finds by itself
what a request has in common with earlier ones, from 1,024 tokens on and in steps of 128; Anthropic's finds
what was marked. Both forget what was not used for some minutes, by the clock of the test.
"""

import json
from dataclasses import dataclass, field
from itertools import accumulate
from typing import Any

from segue.model.tokens import estimate
from segue.testing import ManualClock
from segue.testing.scripted_provider import Line, ProviderRequest, ScriptedProvider
from segue.testing.wire_formats import Says

NOTE = "(Note for this turn"
LEAST, GRAIN = 1_024, 128
READ, WRITE = 0.1, {"openai": 1.0, "anthropic": 1.25}
"""Prices of cached tokens, relative to the price of an input token: of current models of both providers."""


@dataclass
class Seen:
    """A request as its provider reads it, and what its prompt cost."""

    request: ProviderRequest
    segments: list[str]
    """The tools, the system prompt, and each message or block of one; without the marks for the cache."""
    marks: list[int] = field(default_factory=list)
    """How many segments are before each mark."""
    read: int = 0
    written: int = 0

    @property
    def text(self) -> str:
        return "".join(self.segments)

    @property
    def own(self) -> int:
        """The index of the first segment that is the turn's own."""
        return max(index for index, segment in enumerate(self.segments) if NOTE in segment)

    @property
    def before(self) -> list[str]:
        """Everything before the turn's own prompt."""
        return self.segments[: self.own]

    @property
    def tokens(self) -> int:
        return sum(map(estimate, self.segments))

    @property
    def history_tokens(self) -> int:
        """Without the tools and the system prompt."""
        return sum(map(estimate, self.segments[2:]))

    def common(self, later: "Seen") -> float:
        """The share of this request that a later one begins with."""
        pairs = zip(self.text, later.text, strict=False)
        same = next((index for index, (a, b) in enumerate(pairs) if a != b), len(self.text))
        return same / len(self.text)

    def cost(self, dialect: str) -> float:
        """In uncached input tokens."""
        plain = self.tokens - self.read - self.written
        return plain + READ * self.read + WRITE[dialect] * self.written


class CachingProvider(ScriptedProvider):
    def __init__(self, clock: ManualClock, dialect: str, *, minutes: int = 5) -> None:
        super().__init__()
        self._clock = clock
        self._dialect = dialect
        self._ttl_ms = minutes * 60_000
        self._cache: dict[tuple[str, str], int] = {}
        """When each cached prefix of a model was last used."""
        self.seen: list[Seen] = []

    def answer_to(self, asked: ProviderRequest) -> str:
        return f"Sda7 is {len(self.seen)} percent full, nothing else has changed."

    def line_for(self, asked: ProviderRequest) -> Line:
        seen = read_request(asked)
        self.seen.append(seen)
        now = self._clock.ms()
        model = asked.body["model"]
        self._cache = {key: at for key, at in self._cache.items() if now - at <= self._ttl_ms}
        ends = self._ends(seen)
        found = [(end, tokens) for end, tokens in ends if (model, seen.text[:end]) in self._cache]
        seen.read = max((tokens for _, tokens in found), default=0)
        if self._dialect == "anthropic":
            seen.written = (
                max([tokens for _, tokens in ends if tokens > seen.read], default=seen.read) - seen.read
            )
        for end, _ in ends:
            self._cache[(model, seen.text[:end])] = now
        answer = self.answer_to(asked)
        return Says((answer,), usage=(seen.tokens, estimate(answer)), cached=(seen.read, seen.written))

    def _ends(self, seen: Seen) -> list[tuple[int, int]]:
        """Where prefixes of the request end that are cached: by characters, and by tokens."""
        if self._dialect == "openai":
            whole = estimate(seen.text)
            return [(tokens * 4, tokens) for tokens in range(LEAST, whole, GRAIN)]
        characters = [0, *accumulate(map(len, seen.segments))]
        tokens = [0, *accumulate(map(estimate, seen.segments))]
        # As the provider does it, an earlier mark is found if at most twenty blocks follow it.
        near = {end for mark in seen.marks for end in range(max(1, mark - 20), mark + 1)}
        kept = {*seen.marks} | {end for end in near if self._is_cached(seen, characters[end])}
        return [(characters[end], tokens[end]) for end in sorted(kept)]

    def _is_cached(self, seen: Seen, end: int) -> bool:
        return (seen.request.body["model"], seen.text[:end]) in self._cache


def read_request(asked: ProviderRequest) -> Seen:
    body = asked.body
    seen = Seen(asked, [json.dumps(_unmarked(body.get("tools", [])))])
    if "system" in body:
        seen.segments.append(json.dumps(_unmarked(body["system"])))
        if _has_mark(body["system"]):
            seen.marks.append(2)
    for message in body["messages"]:
        content = message.get("content")
        blocks = content if isinstance(content, list) else [message]
        for block in blocks:
            seen.segments.append(json.dumps([message["role"], _unmarked(block)], ensure_ascii=False))
            if _has_mark(block):
                seen.marks.append(len(seen.segments))
    return seen


def _has_mark(value: Any) -> bool:
    return '"cache_control"' in json.dumps(value)


def _unmarked(value: Any) -> Any:
    if isinstance(value, list):
        return [_unmarked(each) for each in value]
    if isinstance(value, dict):
        return {name: _unmarked(each) for name, each in value.items() if name != "cache_control"}
    return value
