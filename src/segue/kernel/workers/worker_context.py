"""What the workers of a process share: its store, its clock, its agent, and the name it holds lanes by."""

import random
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, TypeAlias

from segue.kernel.live.bell import Bell
from segue.kernel.live.hub import Hub
from segue.kernel.live.running import RunningTurns
from segue.kernel.transactions.crash_suspects import CrashSuspects
from segue.kernel.transactions.deliveries import Outbox
from segue.model.agent import Agent
from segue.model.evaluation import EvaluateResponse
from segue.model.records import Ids
from segue.record import record
from segue.store.store import Store
from segue.times.clock import Clock

Function: TypeAlias = Callable[..., Awaitable[Any]]
"""What a `Call` names: `async def(turn, **arguments)`."""


@record
class WorkerContext:
    store: Store
    clock: Clock
    bell: Bell
    hub: Hub
    ids: Ids
    rng: random.Random
    turns: RunningTurns
    trial: CrashSuspects
    agent: Agent
    functions: Mapping[str, Function]
    evaluate_response: EvaluateResponse
    stored: frozenset[str] | None
    """The channels for which stored is sent, or None for all; the others want each answer delivered."""
    holder: str
    lease_ms: int

    def outbox(self, now: int) -> Outbox:
        return Outbox(self.stored, self.ids(now))
