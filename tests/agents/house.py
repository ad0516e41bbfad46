"""Test harness for the model agent: a kernel, a fake provider and a clock."""

import asyncio
from collections.abc import AsyncIterator, Awaitable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any, Protocol

from segue import Event, Kernel, Turn
from segue.agents.llm import ModelLimits
from segue.agents.tools.registry import Tool
from segue.testing import ManualClock, quiet
from tests.agents.double import Double

CHAT = "web:1"
MODELS = {"openai": "openai-chat:gpt-4o", "anthropic": "anthropic:claude-haiku-5-5"}
_TIMEOUT = 20.0
"""Seconds until a test that hangs fails."""


@dataclass(frozen=True)
class Harness:
    kernel: Kernel
    provider: Double
    clock: ManualClock

    async def ask(self, text: str) -> Turn:
        """Send a user's message; return the finished turn."""
        admitted = await self.kernel.receive(CHAT, text)
        async with asyncio.timeout(_TIMEOUT):
            await quiet(self.kernel)
        return await self.kernel.turns.get(admitted.turn_id)

    async def events(self, *kinds: str) -> list[Event]:
        events = await self.kernel.log.events(CHAT, limit=500)
        return [event for event in events if not kinds or event.type in kinds]

    async def transcript(self) -> list[tuple[str, str]]:
        return [(message.role, message.content) for message in await self.kernel.messages(CHAT)]

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Run the kernel's workers inside the block."""
        async with asyncio.TaskGroup() as group:
            run = group.create_task(self.kernel.run())
            async with asyncio.timeout(_TIMEOUT):
                yield
            run.cancel()


class OpenHarness(Protocol):
    def __call__(
        self,
        dialect: str = "openai",
        *,
        tools: "list[Tool] | tuple[()]" = (),
        limits: ModelLimits | None = None,
    ) -> Awaitable[Harness]: ...


def words_sent(body: dict[str, Any]) -> list[tuple[str, str]]:
    """Return the messages of a request in either format as (role, text), the system prompt first."""
    messages: list[tuple[str, str]] = []
    if "system" in body:
        messages.append(("system", _text(body["system"])))
    return messages + [(message["role"], _text(message.get("content"))) for message in body["messages"]]


def calls_and_results(body: dict[str, Any]) -> list[tuple[str, str | None]]:
    """Return the roles of a request's messages, each with the id of the tool call it makes or answers."""
    messages: list[tuple[str, str | None]] = []
    for message in body["messages"]:
        blocks = message["content"] if isinstance(message.get("content"), list) else []
        made = [call["id"] for call in message.get("tool_calls", ())]
        made += [block["id"] for block in blocks if block["type"] == "tool_use"]
        answered = [block["tool_use_id"] for block in blocks if block["type"] == "tool_result"]
        answered += [message["tool_call_id"]] if message["role"] == "tool" else []
        if made:
            messages += [("assistant", call_id) for call_id in made]
        elif answered:
            messages += [("result", call_id) for call_id in answered]
        elif message["role"] != "system":
            messages.append((message["role"], None))
    return messages


def _text(content: Any) -> str:
    if isinstance(content, list):
        return "\n".join(str(block.get("text", block.get("content", ""))) for block in content)
    return str(content or "")
