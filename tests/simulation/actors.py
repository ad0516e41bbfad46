"""Simulated parts of a host: clocks that jump, agents that misbehave, channels that lose messages."""

import asyncio
import random
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from segue.errors import AgentFailed
from segue.model.agent import Delta, OpenTurn, Text, Thinking, ToolCalled, ToolStarted, Usage
from segue.model.channel import Capabilities, Channel, NotTaken, Receipt
from segue.model.records import Delivery
from segue.times.clock import SystemClock
from tests.simulation.loop import Host, SimulatedLoop

EPOCH_MS = 1_795_000_000_000
"""A morning in November 2026, far from any change of clocks."""


class HostClock(SystemClock):
    """A machine's wall clock, which may be set. The loop's time is the true one."""

    def __init__(self, loop: SimulatedLoop, offset_ms: int = 0) -> None:
        self.offset_ms = offset_ms
        self._loop = loop
        super().__init__(lambda: EPOCH_MS + round(loop.time() * 1000) + self.offset_ms)

    def steady_ms(self) -> int:
        return round(self._loop.time() * 1000)


@dataclass(slots=True)
class Attempt:
    """One attempt at a turn, as its agent saw it."""

    host: Host
    session_id: str
    turn_id: str
    attempt: int
    job_id: str | None
    began: float
    ended: float | None = None
    ignored: float | None = None
    """When it was told to stop and did not."""
    heard: list[str] = field(default_factory=list)


class AgentLog:
    """What the agents did, as they report it, and which attempts overlapped."""

    def __init__(self, loop: SimulatedLoop, rng: random.Random, *, longest: float) -> None:
        self.loop = loop
        self.rng = rng
        self.longest = longest
        self.attempts: list[Attempt] = []
        self.on: dict[str, list[Attempt]] = {}
        self.wrong: list[str] = []
        self.excused: Callable[[Host], bool] = lambda host: False
        self.in_trouble: Callable[[Host], None] = lambda host: None

    @contextmanager
    def enter(self, host: Host, turn: OpenTurn) -> Iterator[Attempt]:
        job_id = turn.source.job_id if turn.source else None
        mine = Attempt(host, turn.session.id, turn.id, turn.attempt, job_id, self.loop.time())
        others = self.on.setdefault(turn.session.id, [])
        for other in others:
            if other.ignored is None and not self.excused(other.host):
                self.wrong.append(
                    f"{mine.began:.3f} {host.name}: {turn.id}#{turn.attempt} began beside "
                    f"{other.turn_id}#{other.attempt} of {other.host.name}"
                )
        others.append(mine)
        self.attempts.append(mine)
        try:
            yield mine
        finally:
            mine.ended = self.loop.time()
            others.remove(mine)


def marked(turn: OpenTurn) -> str:
    """A text that names the attempt that produced it; the observer looks for it."""
    return f"{turn.id}#{turn.attempt}."


class WaywardAgent:
    """Answers, fails, hangs, falls silent, uses tools, and does not always stop when it is told to."""

    def __init__(self, log: AgentLog, host: Host, *, reports_tools: bool) -> None:
        self.reports_tools = reports_tools
        self._log = log
        self._host = host

    async def answer(self, turn: OpenTurn) -> AsyncIterator[Delta | str]:
        rng = self._log.rng
        with self._log.enter(self._host, turn) as mine:
            mine.heard += [message.content for message in await turn.history(20)]
            for _ in range(rng.choice((0, 1, 1, 2, 3))):
                await self._work(mine)
                async for piece in self._one_step(turn, mine):
                    yield piece
            match rng.random():
                case luck if luck < 0.08:
                    raise AgentFailed("the provider is down", shown="Sorry.")
                case luck if luck < 0.12:
                    raise ValueError("a bug in the agent")
                case luck if luck < 0.16:
                    await self._hang(mine)
                case luck if luck < 0.9:
                    yield f" {marked(turn)}"
                    yield Usage({"tokens": 7})

    async def _one_step(self, turn: OpenTurn, mine: Attempt) -> AsyncIterator[Delta | str]:
        rng = self._log.rng
        mine.heard += [message.content for message in await turn.joined()]
        match rng.randrange(4):
            case 0:
                yield Thinking("hm")
            case 1:
                yield Text(marked(turn))
            case 2:
                call = f"{marked(turn)}{rng.randrange(1000)}"
                yield ToolStarted(call_id=call, name="look")
                await self._work(mine)
                yield ToolCalled(call_id=call, name="look", result="seen")

    async def _work(self, mine: Attempt) -> None:
        rng = self._log.rng
        if rng.random() < 0.05:
            await self._stubbornly(mine, rng.uniform(0, self._log.longest))
        else:
            await asyncio.sleep(rng.expovariate(1.0))

    async def _stubbornly(self, mine: Attempt, seconds: float) -> None:
        loop = self._log.loop
        until = loop.time() + seconds
        while loop.time() < until:
            try:
                await asyncio.sleep(until - loop.time())
            except asyncio.CancelledError:
                if self._host.buried:
                    raise
                mine.ignored = mine.ignored or loop.time()
                self._log.in_trouble(self._host)

    async def _hang(self, mine: Attempt) -> None:
        await asyncio.Event().wait()

    async def tidy(self, turn: OpenTurn, **arguments: Any) -> str | None:
        """The function that `Call` jobs name."""
        with self._log.enter(self._host, turn) as mine:
            await self._work(mine)
            if self._log.rng.random() < 0.2:
                raise RuntimeError("a bug in the function")
            return marked(turn) if self._log.rng.random() < 0.7 else None


class Post:
    """The world outside: how often each delivery really arrived."""

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng
        self.arrived: Counter[str] = Counter()
        self.texts: dict[str, str] = {}
        """What arrived, by delivery: a repeat has the same text."""
        self.wrong: list[str] = []


class LossyChannel(Channel):
    """Slow, refusing, failing before or after it took the message."""

    def __init__(self, name: str, post: Post, *, idempotent: bool) -> None:
        self.name = name
        self._idempotent = idempotent
        self._post = post

    @property
    def capabilities(self) -> Capabilities:
        return Capabilities(idempotent=self._idempotent)

    async def send(self, delivery: Delivery) -> Receipt:
        rng = self._post.rng
        await asyncio.sleep(rng.random() * 0.3)
        luck = rng.random()
        if luck < 0.1:
            raise NotTaken("slow down", retry_after=rng.choice((None, 0.5)))
        if luck < 0.15:
            raise ConnectionError("reset before it was sent")
        self._post.arrived[delivery.id] += 1
        if self._post.texts.setdefault(delivery.id, delivery.content) != delivery.content:
            self._post.wrong.append(f"delivery {delivery.id} was repeated with another text")
        if luck < 0.2:
            raise ConnectionError("reset after it was sent")
        await asyncio.sleep(rng.random() * 0.3)
        return Receipt(f"{self.name}-{delivery.id}")
