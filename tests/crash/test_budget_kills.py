"""Workers are killed while jobs with a budget run: no run beyond it starts, and no reservation stays open."""

import asyncio
import random
from pathlib import Path

import pytest

from segue.model.action import Ask
from segue.model.cost.budget import Budget, BudgetUnit, Per
from segue.model.policy import Policy
from segue.store.queries import translate
from segue.times.trigger import Every
from tests.crash.processes import LONG, processes
from tests.eventually import eventually

WORKERS, KILLS = (8, 60) if LONG else (3, 5)
BETWEEN_KILLS = 0.8
K = 6
LEASE = 1.5

_started = translate(
    "test.started",
    "SELECT COUNT(DISTINCT run_id) AS found FROM turns WHERE run_id IS NOT NULL AND attempt > 0",
)
_open = translate("test.open", "SELECT COUNT(*) AS found FROM reservations WHERE settled = 0")


@pytest.mark.serial
async def test_kills_start_no_run_beyond_the_budget(postgres_url: str, tmp_path: Path) -> None:
    rng = random.Random(5)
    async with (
        processes(postgres_url, tmp_path, lease=LEASE) as doomed,
        doomed.successor("door") as kernel,
    ):
        policy = Policy(overlap="buffer_all", crash="rerun")  # type: ignore[arg-type]
        jobs = [await kernel.schedule("web:1", Every(1), Ask("work 150"), policy=policy) for _ in range(4)]
        await kernel.sessions.set_budget("web:1", Budget(BudgetUnit.RUNS, K, Per.MONTH))
        workers = [doomed.start(runners=3) for _ in range(WORKERS)]
        await doomed.ready(*workers)
        for _ in range(KILLS):
            await asyncio.sleep(BETWEEN_KILLS)
            victim = rng.randrange(WORKERS)
            await workers[victim].kill()
            workers[victim] = doomed.start(runners=3)
        for job in jobs:
            await kernel.jobs.delete(job.id)

        async def at_rest() -> bool:
            return not (await kernel.sessions.get("web:1")).busy

        await eventually(at_rest, "the lane is empty", within=60)
        database = kernel.store.database
        assert (await database.read(_started, {}))[0]["found"] == K
        assert (await database.read(_open, {}))[0]["found"] == 0
        assert await kernel.audit() == {}
