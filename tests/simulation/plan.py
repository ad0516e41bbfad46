"""What a seed decides before the scenario: how many hosts, which faults, how long."""

import random
from dataclasses import dataclass

from segue.model.records import Owner
from segue.model.settings import Settings


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    seed: int
    hosts: int
    settings: Settings
    seconds: float
    """How long faults and calls happen; then all work must be completed."""
    sessions: tuple[tuple[Owner, str], ...]
    verbs: int
    faults: frozenset[str]
    """Not every scenario has every fault: some bugs only show when there are few."""
    fault_count: int
    reports_tools: bool
    survivors: int
    """How many of the hosts alive at the end complete the work."""


FAULTS = ("kill", "freeze", "stop", "storm", "slow", "jump")


def draw(seed: int) -> Plan:
    rng = random.Random(f"plan {seed}")
    lease = rng.choice((2, 4, 8))
    accounts = [f"account{number}" for number in range(rng.randint(1, 3))]
    channels = ("web", "chat", "tele")
    faults = frozenset(fault for fault in FAULTS if rng.random() < 0.5)
    return Plan(
        seed=seed,
        hosts=rng.choice((1, 2, 2, 3, 4)),
        settings=Settings(
            runners=rng.randint(1, 3),
            user_runners=rng.randint(1, 4),
            lease_seconds=lease,
            patience_seconds=rng.choice((0, 5, 120)),
            turn_timeout_seconds=rng.choice((6, 12)),
            shutdown_grace_seconds=rng.choice((1, 5)),
            timezone="Europe/Berlin",
        ),
        seconds=rng.uniform(10, 40),
        sessions=tuple(
            (Owner(rng.choice(accounts), "ann"), f"{rng.choice(channels)}:{number}")
            for number in range(rng.randint(3, 8))
        ),
        verbs=rng.randint(10, 50),
        faults=faults,
        fault_count=rng.randint(2, 10) if faults else 0,
        reports_tools=rng.random() < 0.8,
        survivors=rng.choice((1, 1, 2)),
    )
