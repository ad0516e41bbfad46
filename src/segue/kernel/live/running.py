"""The turns that this process holds, while they run: what was said so far, and why one was let go."""

import asyncio
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

from segue.kernel.transactions.lease import HeldLane
from segue.model import closure
from segue.model.closure import Closure

LONGEST_ANSWER = 1_000_000
"""Characters. A model that does not end is ended."""
MOST_REMEMBERED = 1_000_000
"""Characters of thoughts of turns that have ended."""


class CancelReason(Enum):
    """Why a running turn was cancelled from outside."""

    STOPPED = "stopped"
    TIMED_OUT = "timed out"
    LEASE_LOST = "lease lost"


@dataclass(slots=True, eq=False)
class RunningTurn:
    held: HeldLane
    task: asyncio.Task[None]
    began: int
    """This and the moments below by this process's own steady clock."""
    held_until: int
    """Its lease can be relied on until then. A worker cut off from the store stops the turn by itself."""
    listening: bool = True
    """Its agent is at work. When it has ended, nothing may come between it and its settling."""
    let_go: CancelReason | None = None
    let_go_at: int = 0
    settled: bool = False
    """Its turn has ended without its agent, which is still told to stop."""
    last_seq: int = 0
    usage: Mapping[str, Any] = field(default_factory=dict)
    _said: list[str] = field(default_factory=list)
    length: int = 0
    _thought: list[str] = field(default_factory=list)
    thought: int = 0
    drafted: int = 0

    def say(self, text: str) -> None:
        self._said.append(text)
        self.length += len(text)

    def think(self, text: str) -> None:
        self._thought.append(text)
        self.thought += len(text)

    @property
    def text(self) -> str:
        return "".join(self._said)

    @property
    def thoughts(self) -> str:
        return "".join(self._thought)

    def cancel(self, why: CancelReason, now: int) -> None:
        if self.let_go is None and self.listening:
            self.let_go = why
            self.let_go_at = now
            self.task.cancel()

    def cut_short(self) -> Closure:
        """How a turn ends that was stopped or ran out of time."""
        if self.let_go is CancelReason.TIMED_OUT:
            return closure.timed_out(self.held.turn.timeout_ms / 1000)
        return closure.stopped(self.text, self.usage)


class RunningTurns:
    """The runners put them in, the keeper looks after them.

    A turn may be here twice: with an agent that was let go and does not end, and with its next attempt.
    """

    def __init__(self) -> None:
        self._live: dict[RunningTurn, None] = {}
        self._thoughts: dict[tuple[str, int], str] = {}
        self._remembered = 0
        self._some = asyncio.Event()

    def __len__(self) -> int:
        return len(self._live)

    def __iter__(self) -> Iterator[RunningTurn]:
        return iter(list(self._live))

    async def some(self) -> None:
        """Sleep until there is one."""
        await self._some.wait()

    def add(self, live: RunningTurn) -> None:
        self._live[live] = None
        self._some.set()

    def get(self, turn_id: str) -> RunningTurn | None:
        """Its newest attempt."""
        return next((live for live in reversed(self._live) if live.held.turn.id == turn_id), None)

    def thoughts_of(self, turn_id: str, attempt: int) -> str:
        """Of a turn that runs here, or ended here a moment ago: the store keeps none."""
        for live in self._live:
            if (live.held.turn.id, live.held.turn.attempt) == (turn_id, attempt):
                return live.thoughts
        return self._thoughts.get((turn_id, attempt), "")

    def drop(self, live: RunningTurn) -> None:
        if live not in self._live:
            return
        del self._live[live]
        if live.thought:
            self._remember((live.held.turn.id, live.held.turn.attempt), live.thoughts)
        if not self._live:
            self._some.clear()

    def _remember(self, key: tuple[str, int], thoughts: str) -> None:
        """For a follower who asked before the turn ended, and is given its log after that."""
        self._thoughts[key] = thoughts
        self._remembered += len(thoughts)
        while self._remembered > MOST_REMEMBERED:
            oldest = next(iter(self._thoughts))
            self._remembered -= len(self._thoughts.pop(oldest))
