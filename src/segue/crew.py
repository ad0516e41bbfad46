"""What the workers of a process share: its store, its clock, its agent, and the name it holds lanes by."""

import random
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, TypeAlias

from segue.agent import Agent
from segue.bell import Bell
from segue.clock import Clock
from segue.evaluation import EvaluateResponse
from segue.hub import Hub
from segue.live import LiveTurns
from segue.model import Ids
from segue.outbox import Outbox
from segue.record import record
from segue.store.store import Store
from segue.trial import Trial

Function: TypeAlias = Callable[..., Awaitable[Any]]
"""What a `Call` names: `async def(turn, **arguments)`."""


@record
class Crew:
    store: Store
    clock: Clock
    bell: Bell
    hub: Hub
    ids: Ids
    rng: random.Random
    turns: LiveTurns
    trial: Trial
    agent: Agent
    functions: Mapping[str, Function]
    evaluate_response: EvaluateResponse
    stored: frozenset[str] | None
    """The channels for which stored is sent, or None for all; the others want each answer delivered."""
    holder: str
    lease_ms: int

    def outbox(self, now: int) -> Outbox:
        return Outbox(self.stored, self.ids(now))
