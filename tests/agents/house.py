"""Test harness for the model agent: a kernel, a fake provider and a clock."""

import asyncio
from collections.abc import AsyncIterator, Awaitable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Protocol

from segue import Event, Kernel, Turn
from segue.agents.llm import ModelLimits
from segue.agents.tools.registry import Tool
from segue.testing import ManualClock, quiet
from segue.testing.scripted_provider import ScriptedProvider

CHAT = "web:1"
MODELS = {"openai": "openai-chat:gpt-4o", "anthropic": "anthropic:claude-haiku-5-5"}
_TIMEOUT = 20.0
"""Seconds until a test that hangs fails."""


@dataclass(frozen=True)
class Harness:
    kernel: Kernel
    provider: ScriptedProvider
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
