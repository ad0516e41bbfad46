"""Scripted agent: answers from a script, and records what it was asked."""

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from segue.model.agent import Delta, OpenTurn
from segue.model.transcript import Message
from segue.record import positional

Line: TypeAlias = "str | BaseException | Sequence[Delta | str] | None"


@positional
class Asked:
    """What the agent was given in one call."""

    turn: OpenTurn
    history: list[Message]

    @property
    def text(self) -> str:
        return self.turn.text


@dataclass
class ScriptedAgent:
    """Each turn takes the next line: a string is the answer, a list is yielded piece by piece, an
    exception is raised, None yields nothing. After the last line, it answers `ok`."""

    reports_tools: bool = True
    asked: list[Asked] = field(default_factory=list)
    _lines: deque[Line] = field(default_factory=deque)
    _gate: asyncio.Event | None = None
    _waiting: asyncio.Event = field(default_factory=asyncio.Event)

    def script(self, *lines: Line) -> None:
        self._lines.extend(lines)

    def pause(self) -> None:
        """Let each turn wait before its answer, until `go_on`."""
        self._gate = asyncio.Event()
        self._waiting.clear()

    def go_on(self) -> None:
        if self._gate is not None:
            self._gate.set()
            self._gate = None

    async def under_way(self) -> None:
        """Wait until a turn waits because of `pause`."""
        await self._waiting.wait()
        self._waiting.clear()

    async def answer(self, turn: OpenTurn) -> AsyncIterator[Delta | str]:
        self.asked.append(Asked(turn, await turn.history()))
        line: Line = self._lines.popleft() if self._lines else "ok"
        if self._gate is not None:
            gate = self._gate
            self._waiting.set()
            await gate.wait()
        if isinstance(line, BaseException):
            raise line
        pieces = [line] if isinstance(line, str) else line or ()
        for piece in pieces:
            yield piece
