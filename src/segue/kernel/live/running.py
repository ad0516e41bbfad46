"""Running turns of this process: their text so far, why one was cancelled, and which may crash the process.

A crash counts against every turn that the process was running, because the one at fault is not known. If all
turns that crashed twice were rerun side by side, a third crash would park all of them. So `CrashSuspects`
lets a process run them one at a time: a turn that is parked after the third crash was the only suspect.
"""

import asyncio
import threading
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from enum import Enum
from typing import Any

from segue.errors import NotJson
from segue.kernel.transactions.lease import HeldLane
from segue.model import closure
from segue.model.agent import json_text
from segue.model.closure import Closure
from segue.model.cost.budget import Estimate, over_reservation
from segue.model.cost.past_runs import used
from segue.model.cost.usage import run_usage
from segue.model.records import Turn
from segue.times.clock import Clock

LONGEST_ANSWER = 1_000_000
"""Characters. A turn fails if its answer grows longer."""
MOST_REMEMBERED = 1_000_000
"""Characters of thoughts that are remembered of turns that have ended."""

WATCHED_MS = 5_000
"""For how long a turn counts as watched after another process has read its draft."""

LONGEST_SUSPECT_MS = 60_000
"""A crash suspect that has run for so long no longer keeps the next one waiting."""


class CancelReason(Enum):
    """Why a running turn was cancelled."""

    STOPPED = "stopped"
    TIMED_OUT = "timed out"
    LEASE_LOST = "lease lost"
    OVER_BUDGET = "over budget"


@dataclass(slots=True, eq=False)
class RunningTurn:
    held: HeldLane
    task: asyncio.Task[None]
    began: int
    """This and the times below are by the process's steady clock."""
    held_until: int
    """Until then its lease can be relied on; without a renewal the keeper then cancels it."""
    agent_running: bool = True
    """False once its agent has ended: from then on the turn is settled and cannot be cancelled."""
    cancel_reason: CancelReason | None = None
    cancelled_at: int = 0
    settled: bool = False
    """It was settled while its agent ignored the cancellation."""
    last_seq: int = 0
    saved: dict[str, Any] = field(default_factory=dict)
    """The agent's own state (`OpenTurn.saved`)."""
    stopping: threading.Event = field(default_factory=threading.Event)
    usage: Mapping[str, Any] = field(default_factory=dict)
    ending: Closure | None = None
    """How it ended; None while its agent is running, and if its lease was lost."""
    retried: bool = False
    """Its agent failed, and it will run again."""
    _text_pieces: list[str] = field(default_factory=list)
    text_length: int = 0
    _thought_pieces: list[str] = field(default_factory=list)
    thought_length: int = 0
    draft_length: int = 0
    watched_until: int = 0
    """Until then another process is taken to follow it."""

    def add_text(self, text: str) -> None:
        self._text_pieces.append(text)
        self.text_length += len(text)

    def add_thought(self, text: str) -> None:
        self._thought_pieces.append(text)
        self.thought_length += len(text)

    @property
    def text(self) -> str:
        return "".join(self._text_pieces)

    @property
    def thoughts(self) -> str:
        return "".join(self._thought_pieces)

    def cancel(self, reason: CancelReason, now: int) -> None:
        if self.cancel_reason is None and self.agent_running:
            self.cancel_reason = reason
            self.cancelled_at = now
            self.stopping.set()
            self.task.cancel()

    def cut_short(self) -> Closure:
        """The closure of a turn that was stopped or timed out."""
        if self.cancel_reason is CancelReason.TIMED_OUT:
            return closure.timed_out(self.held.turn.timeout_ms / 1000)
        if self.cancel_reason is CancelReason.OVER_BUDGET:
            reason = over_reservation(self.held.turn.reserved or Estimate(), self.spent)
            return replace(closure.over_budget(self.text, self.usage, reason), saved=self._saved_text())
        return replace(closure.stopped(self.text, self.usage), saved=self._saved_text())

    @property
    def spent(self) -> Estimate:
        """What it has used so far, as far as it is known."""
        usd_micros, tokens = used(run_usage(self.usage))
        return Estimate(usd_micros=usd_micros or 0, tokens=tokens or 0)

    @property
    def is_over_budget(self) -> bool:
        """Whether it used more than twice what it reserved, and may not begin another model step."""
        reserved = self.held.turn.reserved
        return reserved is not None and reserved.is_exceeded_by(self.spent)

    def _saved_text(self) -> str | None:
        try:
            return json_text(self.saved, "turn.saved")
        except NotJson:
            return None


class RunningTurns:
    """The runners add and remove turns, the keeper watches them.

    A turn may be here twice: with an agent that ignores its cancellation, and with its next attempt.
    """

    def __init__(self) -> None:
        self._turns: dict[RunningTurn, None] = {}
        self._thoughts: dict[tuple[str, int], str] = {}
        self._remembered = 0
        self._not_empty = asyncio.Event()
        self.ended = 0
        """How many turns have run here and ended."""

    def __len__(self) -> int:
        return len(self._turns)

    def __iter__(self) -> Iterator[RunningTurn]:
        return iter(list(self._turns))

    async def wait_for_one(self) -> None:
        """Wait until there is one."""
        await self._not_empty.wait()

    def add(self, running: RunningTurn) -> None:
        self._turns[running] = None
        self._not_empty.set()

    def get(self, turn_id: str) -> RunningTurn | None:
        """The newest attempt of a turn; None if it does not run here."""
        return next((running for running in reversed(self._turns) if running.held.turn.id == turn_id), None)

    def thoughts_of(self, turn_id: str, attempt: int) -> str:
        """The thoughts of a turn that runs here or ended here recently. The store has none."""
        for running in self._turns:
            if (running.held.turn.id, running.held.turn.attempt) == (turn_id, attempt):
                return running.thoughts
        return self._thoughts.get((turn_id, attempt), "")

    def drop(self, running: RunningTurn) -> None:
        if running not in self._turns:
            return
        del self._turns[running]
        self.ended += 1
        if running.thought_length:
            self._remember((running.held.turn.id, running.held.turn.attempt), running.thoughts)
        if not self._turns:
            self._not_empty.clear()

    def _remember(self, key: tuple[str, int], thoughts: str) -> None:
        """For a follower that connected before the turn ended and reads its log after that."""
        self._thoughts[key] = thoughts
        self._remembered += len(thoughts)
        while self._remembered > MOST_REMEMBERED:
            oldest = next(iter(self._thoughts))
            self._remembered -= len(self._thoughts.pop(oldest))


class CrashSuspects:
    """At most one turn of this process that has crashed twice runs at a time."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._reserved = False
        self._turn_id: str | None = None
        self._over_at = 0

    def reserve(self) -> bool:
        """Whether a lease may start a suspect now. If so, the caller must then call `begin`."""
        under_way = self._turn_id is not None and self._clock.steady_ms() < self._over_at
        if self._reserved or under_way:
            return False
        self._reserved = True
        return True

    def begin(self, taken: Iterable[Turn]) -> None:
        """End the reservation; `taken` are the turns that the lease has started."""
        self._reserved = False
        self._turn_id = next((turn.id for turn in taken if turn.on_trial), None)
        self._over_at = self._clock.steady_ms() + LONGEST_SUSPECT_MS

    def end(self, turn: Turn) -> None:
        if turn.id == self._turn_id:
            self._turn_id = None
