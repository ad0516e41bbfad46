"""Pruner: the number of rows stays bounded, the newest stay, and the transcript is not touched."""

from datetime import timedelta

import pytest

from segue import Ask, At, Every, Kernel, Late, Policy, Say, Settings
from segue.errors import NotFound
from segue.store import queries
from segue.store.database import Params, Transaction
from segue.testing import ManualClock, ScriptedAgent, quiet
from tests.flows.house import OpenKernel
from tests.flows.story import CHAT, count_rows, said, slots


async def test_each_job_keeps_its_newest_runs(open_kernel: OpenKernel, clock: ManualClock) -> None:
    """6.3: bounded by count, for each job."""
    kernel = await open_kernel(settings=Settings(runs_per_job=3))
    busy = await kernel.schedule(CHAT, Every(60), Ask("Look."))
    rare = await kernel.schedule(CHAT, Every(180), Ask("Stare."))
    fired = []
    for _ in range(12):
        clock.advance(minutes=1)
        await quiet(kernel)
        fired.append((await slots(kernel, busy))[-1].slot)
    kept = [run.slot for run in await slots(kernel, busy)]
    assert kept == fired[-3:]
    assert len(await slots(kernel, rare)) == 3


async def test_at_no_moment_has_a_job_more_records_than_it_may(
    open_kernel: OpenKernel, clock: ManualClock, agent: ScriptedAgent
) -> None:
    """6.3: not one more, also where a slot leaves two rows, or is skipped; and also when the job is over."""
    kernel = await open_kernel(settings=Settings(runs_per_job=5))
    gaps = await kernel.schedule(CHAT, Every(60), Ask("Look."), policy=Policy(max_runs=9))
    late = await kernel.schedule("web:2", Every(60), Ask("Look."), policy=Policy(late=Late.SKIP))
    for _ in range(20):
        clock.advance(minutes=3)
        await quiet(kernel)
        assert len(await slots(kernel, gaps)) <= 5
        assert len(await slots(kernel, late)) <= 5
    assert [len(await slots(kernel, job)) for job in (gaps, late)] == [5, 5]


async def test_the_documented_number_of_runs_is_kept(kernel: Kernel, clock: ManualClock) -> None:
    """6.3: 200."""
    job = await kernel.schedule(CHAT, Every(60), Say("Tea."))
    for _ in range(249):
        clock.advance(minutes=1)
        await kernel.workers.timer.step()
        await kernel.workers.courier.step()
    assert len(await slots(kernel, job)) == 200


async def test_runs_grow_old_but_the_newest_of_a_job_stays(kernel: Kernel, clock: ManualClock) -> None:
    """6.3: 90 days, and the newest is always kept."""
    job = await kernel.schedule(CHAT, Every(86_400), Ask("Look."))
    for _ in range(3):
        clock.advance(days=1)
        await quiet(kernel)
    await kernel.jobs.pause(job.id)
    clock.advance(days=91)
    await kernel.workers.pruner.step()
    [kept] = await slots(kernel, job)
    assert kept.outcome == "ok"


async def test_a_run_that_waits_is_not_pruned(open_kernel: OpenKernel, clock: ManualClock) -> None:
    kernel = await open_kernel(settings=Settings(runs_per_job=1, runners=0))
    job = await kernel.schedule(CHAT, Every(60), Ask("Look."))
    for _ in range(3):
        clock.advance(minutes=1)
        await kernel.workers.timer.step()
    waiting, *_ = await slots(kernel, job)
    assert waiting.state == "queued"


async def test_a_job_that_is_over_and_has_no_run_goes(kernel: Kernel, clock: ManualClock) -> None:
    gone = await kernel.schedule(CHAT, Every(60), Ask("Look."))
    await kernel.jobs.delete(gone.id)
    stays = await kernel.schedule(CHAT, Every(86_400 * 365), Ask("Look."))
    clock.advance(days=89)
    await kernel.workers.pruner.step()
    assert (await count_rows(kernel))["jobs"] == 2
    clock.advance(days=2)
    await kernel.workers.pruner.step()
    assert [job.id for job in await kernel.jobs.list(CHAT, ended=True)] == [stays.id]
    with pytest.raises(NotFound):
        await kernel.store.job(gone.id)


async def test_a_one_shot_that_ran_goes_with_its_run_when_both_are_old(
    kernel: Kernel, clock: ManualClock
) -> None:
    job = await kernel.schedule(CHAT, At(clock.now() + timedelta(hours=1)), Ask("Look."))
    clock.advance(hours=1)
    await quiet(kernel)
    clock.advance(days=89)
    await kernel.workers.pruner.step()
    assert len(await slots(kernel, job)) == 1
    clock.advance(days=2)
    await kernel.workers.pruner.step()
    rows = await count_rows(kernel)
    assert (rows["jobs"], rows["runs"], rows["turns"]) == (0, 0, 0)


async def test_deliveries_that_are_over_grow_old_too(kernel: Kernel, clock: ManualClock) -> None:
    await kernel.schedule("test:1", At(clock.now() + timedelta(hours=1)), Say("Tea."))
    clock.advance(hours=1)
    await quiet(kernel)
    clock.advance(days=91)
    await kernel.workers.pruner.step()
    assert (await count_rows(kernel))["deliveries"] == 0


async def test_nothing_of_the_transcript_is_pruned(open_kernel: OpenKernel, clock: ManualClock) -> None:
    kernel = await open_kernel(settings=Settings(runs_per_job=1, retention_days=1))
    job = await kernel.schedule(CHAT, Every(60), Ask("Look."))
    for _ in range(5):
        clock.advance(minutes=1)
        await kernel.receive(CHAT, "Hello")
        await quiet(kernel)
    await kernel.jobs.pause(job.id)
    before, rows = await said(kernel), await count_rows(kernel)
    clock.advance(days=10)
    await kernel.workers.pruner.step()
    after = await count_rows(kernel)
    assert await said(kernel) == before
    assert (after["events"], after["sessions"]) == (rows["events"], rows["sessions"])
    assert (after["turns"], after["runs"]) == (1, 1)
    assert [run.outcome for run in await kernel.runs.list(job=job.id)] == ["ok"], (
        "by the turn that it is told by"
    )


async def test_a_turn_that_waits_is_never_too_old(open_kernel: OpenKernel, clock: ManualClock) -> None:
    kernel = await open_kernel(settings=Settings(user_runners=0))
    admitted = await kernel.receive(CHAT, "Hello")
    clock.advance(days=1000)
    await kernel.workers.pruner.step()
    assert (await kernel.turns.get(admitted.turn_id)).state == "queued"


MANY = 1_200
"""More than two windows of the pruner."""
_NUMBERS = "WITH RECURSIVE numbers (n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM numbers WHERE n < :last) "
_JOBS = queries.translate(
    "test.jobs",
    f"""
    INSERT INTO jobs (id, session_id, account, kind, name, state, trigger_kind, trigger, action, policy, slot,
                      next_at, created_at, updated_at)
    {_NUMBERS}
    SELECT id || '-' || n, session_id, account, kind, name, state, trigger_kind, trigger, action, policy,
           slot, next_at, created_at, updated_at
    FROM jobs, numbers
    WHERE jobs.id = :job_id
    """,
)
_RUNS = queries.translate(
    "test.runs",
    f"""
    INSERT INTO runs (id, job_id, session_id, slot, queued_at, finished_at, outcome)
    {_NUMBERS}
    SELECT jobs.id || '-' || n || ':' || CAST(:slot AS BIGINT), jobs.id || '-' || n, session_id,
           CAST(:slot AS BIGINT), CAST(:at AS BIGINT), CAST(:at AS BIGINT), 'ok'
    FROM jobs, numbers
    WHERE jobs.id = :job_id
    """,
)


@pytest.mark.parametrize("apart_ms", [0, 1], ids=["all in one moment", "one after the other"])
async def test_rows_that_go_are_found_behind_many_that_stay(
    kernel: Kernel, clock: ManualClock, apart_ms: int
) -> None:
    job = await kernel.schedule(CHAT, Every(86_400 * 365), Ask("Look."))
    at = clock.ms()

    def fill() -> Transaction[None]:
        given: Params = {"last": MANY - 1, "job_id": job.id}
        yield _JOBS, given
        yield _RUNS, {**given, "slot": 2, "at": at}  # the newest, which stay
        yield _RUNS, {**given, "slot": 1, "at": at + apart_ms}

    await kernel.store.commit(fill)
    clock.advance(days=91)
    assert await kernel.workers.pruner.step() == MANY
    assert (await count_rows(kernel))["runs"] == MANY
    assert await kernel.workers.pruner.step() == 0
