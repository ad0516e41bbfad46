"""What the stories of a model are told with."""

import asyncio
from collections.abc import AsyncIterator, Awaitable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any, Protocol

from segue import Event, Kernel, Turn
from segue.agents.llm import Limits
from segue.agents.tools.registry import Tool
from segue.testing import ManualClock, quiet
from tests.agents.double import Double

CHAT = "web:1"
MODELS = {"openai": "openai-chat:gpt-4o", "anthropic": "anthropic:claude-haiku-5-5"}
_PATIENCE = 20.0
"""Seconds until a story that hangs is called a failure."""


@dataclass(frozen=True)
class House:
    kernel: Kernel
    provider: Double
    clock: ManualClock

    async def ask(self, text: str) -> Turn:
        """A user's message and the turn that came of it."""
        admitted = await self.kernel.receive(CHAT, text)
        async with asyncio.timeout(_PATIENCE):
            await quiet(self.kernel)
        return await self.kernel.turn(admitted.turn_id)

    async def events(self, *kinds: str) -> list[Event]:
        found = await self.kernel.events(CHAT, limit=500)
        return [event for event in found if not kinds or event.type in kinds]

    async def said(self) -> list[tuple[str, str]]:
        return [(message.role, message.content) for message in await self.kernel.messages(CHAT)]

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """While the kernel runs by itself."""
        async with asyncio.TaskGroup() as group:
            run = group.create_task(self.kernel.run())
            async with asyncio.timeout(_PATIENCE):
                yield
            run.cancel()


class HouseOf(Protocol):
    def __call__(
        self, dialect: str = "openai", *, tools: "list[Tool] | tuple[()]" = (), limits: Limits | None = None
    ) -> Awaitable[House]: ...


def words_sent(body: dict[str, Any]) -> list[tuple[str, str]]:
    """The messages of a request in either format, as (role, text); system first where it stands apart."""
    found: list[tuple[str, str]] = []
    if "system" in body:
        found.append(("system", _text(body["system"])))
    return found + [(message["role"], _text(message.get("content"))) for message in body["messages"]]


def calls_and_results(body: dict[str, Any]) -> list[tuple[str, str | None]]:
    """The messages of a request after the system's, with the id of the call that each makes or answers."""
    found: list[tuple[str, str | None]] = []
    for message in body["messages"]:
        blocks = message["content"] if isinstance(message.get("content"), list) else []
        made = [call["id"] for call in message.get("tool_calls", ())]
        made += [block["id"] for block in blocks if block["type"] == "tool_use"]
        answered = [block["tool_use_id"] for block in blocks if block["type"] == "tool_result"]
        answered += [message["tool_call_id"]] if message["role"] == "tool" else []
        if made:
            found += [("assistant", call_id) for call_id in made]
        elif answered:
            found += [("result", call_id) for call_id in answered]
        elif message["role"] != "system":
            found.append((message["role"], None))
    return found


def _text(content: Any) -> str:
    if isinstance(content, list):
        return "\n".join(str(block.get("text", block.get("content", ""))) for block in content)
    return str(content or "")
