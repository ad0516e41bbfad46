"""A budget for k runs never starts k + 1, however many timers find the same slots due in the same moment."""

import asyncio
import random
from contextlib import AsyncExitStack

import pytest

from segue import Ask, Every, Kernel, Policy, Settings
from segue.model.cost.budget import Budget, BudgetUnit, Per
from segue.store.open import open_database
from segue.store.queries import translate
from segue.testing import ManualClock, ScriptedAgent, audit
from tests.races.by_hand import LONG

TIMERS = 200 if LONG else 12
HANDLES = 8 if LONG else 3
"""Databases that the kernels share, so that their connections suffice."""
K = 7
THREE = Budget(BudgetUnit.RUNS, 3, Per.DAY)
SEVEN = Budget(BudgetUnit.RUNS, K, Per.DAY)

_started = translate("test.started", "SELECT COUNT(*) AS found FROM runs WHERE turn_id IS NOT NULL")
_skipped = translate("test.skipped", "SELECT COUNT(*) AS found FROM runs WHERE outcome = 'skipped'")


@pytest.mark.parametrize("scope", ["job", "session", "account"])
async def test_many_timers_start_no_run_beyond_the_budget(database_url: str, scope: str) -> None:
    clock = ManualClock()
    settings = Settings(account_budget=SEVEN if scope == "account" else None)
    async with AsyncExitStack() as stack:
        handles = [await open_database(database_url) for _ in range(HANDLES)]
        for handle in handles:
            stack.push_async_callback(handle.close)
        kernels = [
            await stack.enter_async_context(
                Kernel(
                    handles[number % HANDLES],
                    agent=ScriptedAgent(),
                    clock=clock,
                    settings=settings,
                    rng=random.Random(number),
                    name=f"timer-{number}",
                )
            )
            for number in range(TIMERS)
        ]
        first = kernels[0]
        policy = Policy(overlap="buffer_all", budget=THREE if scope == "job" else None)  # type: ignore[arg-type]
        for number in range(6):
            key = f"web:{number if scope == 'account' else 0}"
            await first.schedule(key, Every(3600), Ask("?"), policy=policy)
        if scope == "session":
            await first.sessions.update("web:0", budget=SEVEN)
        for _ in range(5):
            clock.advance(hours=1)
            await asyncio.gather(*(kernel.workers.timer.step() for kernel in kernels))
            await first.workers.timer.step()
        started = (await handles[0].read(_started, {}))[0]["found"]
        skipped = (await handles[0].read(_skipped, {}))[0]["found"]
        assert started == (6 * 3 if scope == "job" else K)
        assert started + skipped == 6 * 5, "every slot left a row"
        assert await audit(handles[0]) == {}
