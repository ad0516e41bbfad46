"""Worker context: what the workers of a process share. `holder` is the name it holds leases under."""

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
    crash_suspects: CrashSuspects
    agent: Agent
    functions: Mapping[str, Function]
    evaluate_response: EvaluateResponse
    stored: frozenset[str] | None
    """Channels whose clients read the log, or None for all. Answers for other channels need a delivery."""
    holder: str
    lease_ms: int

    def outbox(self, now: int) -> Outbox:
        return Outbox(self.stored, self.ids(now))
