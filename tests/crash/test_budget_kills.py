"""Workers are killed while jobs with a budget run: no run beyond it starts, and no reservation stays open.

The long form has 200 kernels in 8 processes, each with a timer and runners of its own.
"""

import asyncio
import random
from functools import partial
from pathlib import Path

import pytest

from segue.errors import StoreUnavailable
from segue.kernel.kernel import Kernel
from segue.model.action import Ask
from segue.model.cost.budget import Budget, BudgetUnit, Per
from segue.model.policy import Policy
from segue.model.records import Job
from segue.store.queries import translate
from segue.times.trigger import Every
from tests.crash.figures import Record
from tests.crash.processes import LONG, processes
from tests.eventually import eventually

PROCESSES, KERNELS, KILLS = (8, 25, 60) if LONG else (3, 2, 5)
BETWEEN_KILLS = 0.8
K = 6
LEASE = 5 if LONG else 1.5
PATIENCE = 600 if LONG else 60

_started = translate(
    "test.started",
    "SELECT COUNT(DISTINCT run_id) AS found FROM turns WHERE run_id IS NOT NULL AND attempt > 0",
)
_skipped = translate("test.skipped", "SELECT COUNT(*) AS found FROM runs WHERE outcome = 'skipped'")
_open = translate("test.open", "SELECT COUNT(*) AS found FROM reservations WHERE settled = 0")


async def started(kernel: Kernel) -> int:
    return int((await kernel.store.database.read(_started, {}))[0]["found"])


async def is_deleted(kernel: Kernel, job: Job) -> bool:
    """Whether it could be deleted: under 200 workers a session's row may be locked for too long."""
    try:
        await kernel.jobs.delete(job.id)
    except StoreUnavailable:
        return False
    return True


@pytest.mark.serial
@pytest.mark.parametrize("scope", ["session", "account"])
async def test_kills_start_no_run_beyond_the_budget(
    migrated_postgres_url: str, tmp_path: Path, figure: Record, scope: str
) -> None:
    rng = random.Random(5)
    of_account = K if scope == "account" else 0
    async with (
        processes(migrated_postgres_url, tmp_path, lease=LEASE) as doomed,
        doomed.successor("door") as kernel,
    ):
        policy = Policy(overlap="buffer_all", crash="rerun")  # type: ignore[arg-type]
        keys = [f"web:{number if scope == 'account' else 1}" for number in range(4)]
        for key in keys:
            await kernel.sessions.open(key)
        if scope == "session":
            await kernel.sessions.update("web:1", budget=Budget(BudgetUnit.RUNS, K, Per.MONTH))
        jobs = [await kernel.schedule(key, Every(1), Ask("work 150"), policy=policy) for key in keys]
        start = partial(doomed.start, runners=3, kernels=KERNELS, account_runs=of_account)
        workers = [start() for _ in range(PROCESSES)]
        await doomed.ready(*workers)
        for _ in range(KILLS):
            await asyncio.sleep(BETWEEN_KILLS)
            victim = rng.randrange(PROCESSES)
            await workers[victim].kill()
            workers[victim] = start()

        async def is_used_up() -> bool:
            return await started(kernel) >= K

        await eventually(is_used_up, "the budget is used up", within=PATIENCE)
        for job in jobs:
            await eventually(partial(is_deleted, kernel, job), "the job is deleted", within=PATIENCE)

        async def at_rest() -> bool:
            return not any([(await kernel.sessions.get(key)).busy for key in keys])

        await eventually(at_rest, "the lanes are empty", within=PATIENCE)
        database = kernel.store.database
        skipped = (await database.read(_skipped, {}))[0]["found"]
        figure(
            "runs started",
            f"{await started(kernel)} of a budget for {K}, {skipped} skipped, {PROCESSES * KERNELS} workers "
            f"in {PROCESSES} processes, {KILLS} kills",
        )
        assert await started(kernel) == K
        assert (await database.read(_open, {}))[0]["found"] == 0
        assert await kernel.audit() == {}
