"""Parts of a checked agent: the tools that it offers, a scripted provider, and a kernel to run it in."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from typing import TypeAlias

from segue.kernel.kernel import Kernel
from segue.model.agent import Agent, AgentFunction, as_agent
from segue.model.channel import Stored
from segue.model.records import Event, Turn
from segue.model.settings import Settings
from segue.store.database import Begin, Database, T
from segue.store.open import open_database
from segue.testing.forwarding import ForwardingDatabase
from segue.testing.manual_clock import ManualClock
from segue.testing.quiesce import quiet
from segue.testing.scripted_provider import ScriptedProvider

CHAT = "web:anna"
HANG = "hang"
"""The note that does not return."""
_WRITE_SECONDS = 0.02
_TIMEOUT = 20.0
"""Seconds until a check that hangs fails."""


@dataclass
class AgentParts:
    """What a checked agent is made of: a provider's address and two tools.

    The agent offers `note` as a tool that runs at once, and `pay` as one that needs the user's approval, if
    it has such tools. A model name may be any.
    """

    provider: ScriptedProvider
    notes: list[str] = field(default_factory=list)
    payments: list[int] = field(default_factory=list)
    reported: list[bool] = field(default_factory=list)
    """For each note: whether its call was in the log when the tool began."""
    hanging: asyncio.Event = field(default_factory=asyncio.Event)
    """Set while a note does not return."""
    released: asyncio.Event = field(default_factory=asyncio.Event)
    """Set when the tool of that note was cancelled."""
    log: Callable[[], Awaitable[list[Event]]] | None = None

    @property
    def base_url(self) -> str:
        """The address of the scripted provider, as a client of OpenAI takes it."""
        return self.provider.base_url

    async def note(self, text: str) -> str:
        """Write a note."""
        assert self.log is not None, "the tool was called outside a check"
        calls = [event for event in await self.log() if event.type == "tool_started"]
        self.reported.append(any(call.body["arguments"] == {"text": text} for call in calls))
        self.notes.append(text)
        if text == HANG:
            self.hanging.set()
            try:
                await asyncio.Event().wait()
            finally:
                self.released.set()
        return f"noted: {text}"

    async def pay(self, amount: int) -> str:
        """Pay an amount of money."""
        self.payments.append(amount)
        return f"paid: {amount}"


MakeAgent: TypeAlias = Callable[[AgentParts], Agent | AgentFunction]


class SlowDatabase(ForwardingDatabase):
    """Takes its time for each write, so that an agent that does not wait for its report is found out."""

    async def run(self, begin: Begin[T]) -> T:
        pause = asyncio.Event()
        asyncio.get_running_loop().call_later(_WRITE_SECONDS, pause.set)
        await pause.wait()
        return await super().run(begin)


class Trial:
    """One check's own agent, kernel and provider."""

    agent: Agent
    kernel: Kernel

    def __init__(self, make: MakeAgent, tool_name: Callable[[str], str], database: Database) -> None:
        self._make = make
        self._database = SlowDatabase(database)
        self._opened = AsyncExitStack()
        self.tool_name = tool_name
        """How the model names a tool of the agent."""
        self.provider = ScriptedProvider(keep_alive=False)
        self.parts = AgentParts(self.provider, log=lambda: self.kernel.log.events(CHAT, limit=500))
        self.clock = ManualClock()

    async def start(self) -> None:
        """Make the agent, and open a kernel with it."""
        self.agent = as_agent(self._make(self.parts))
        kernel = Kernel(
            self._database,
            agent=self.agent,
            clock=self.clock,
            channels=[Stored("web")],
            settings=Settings(timezone="Europe/Berlin"),
        )
        self.kernel = await self._opened.enter_async_context(kernel)

    async def end(self) -> None:
        await self._opened.aclose()

    async def restart(self) -> None:
        """Go on with another kernel and another agent, as after the end of a process."""
        await self.end()
        await self.start()

    async def ask(self, text: str, chat: str = CHAT) -> Turn:
        """Send a user's message; return the turn when it has ended."""
        admitted = await self.kernel.receive(chat, text)
        await self.settle()
        return await self.kernel.turns.get(admitted.turn_id)

    async def settle(self) -> None:
        """Run what is due."""
        async with asyncio.timeout(_TIMEOUT):
            await quiet(self.kernel)

    async def events(self, kind: str) -> list[Event]:
        return [event for event in await self.kernel.log.events(CHAT, limit=500) if event.type == kind]

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Run the kernel's workers inside the block."""
        run = asyncio.get_running_loop().create_task(self.kernel.run())
        try:
            async with asyncio.timeout(_TIMEOUT):
                yield
        finally:
            run.cancel()
            await asyncio.wait([run])


@asynccontextmanager
async def trial(make: MakeAgent, tool_name: Callable[[str], str]) -> AsyncIterator[Trial]:
    database = await open_database("sqlite://:memory:")
    opened = Trial(make, tool_name, database)
    try:
        async with opened.provider.listening():
            await opened.start()
            try:
                yield opened
                broken = await opened.kernel.audit()
                assert not broken, f"invariants are broken: {broken}"
            finally:
                await opened.end()
    finally:
        await database.close()
