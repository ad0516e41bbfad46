"""Budgets of jobs, sessions and accounts: reserved when a slot is taken, settled when the run ends."""

from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from segue import Ask, At, Every, Job, Kernel, OpenTurn, Policy, Settings, Usage
from segue.errors import BadPolicy
from segue.model.cost.budget import Budget
from segue.model.states import JobState
from segue.store import queries
from segue.store.database import Transaction
from segue.testing import ManualClock, ScriptedAgent, quiet
from tests.flows.house import OpenKernel
from tests.flows.recording_store import RecordingStore
from tests.flows.story import CHAT, outcomes, said, slots

_ROWS = queries.translate("test.reservations", "SELECT * FROM reservations ORDER BY run_id")


def cost(usd: float | None, tokens: int = 100, text: str = "ok") -> list[Any]:
    usage: dict[str, Any] = {"requests": 1, "input_tokens": tokens}
    return [text, Usage(usage if usd is None else {**usage, "cost_usd": usd})]


async def hourly(kernel: Kernel, budget: dict[str, Any] | None, **policy: Any) -> Job:
    return await kernel.schedule(
        CHAT,
        Every(3600),
        Ask("Look."),
        name="look",
        policy=Policy(budget=budget, **policy),  # type: ignore[arg-type]
    )


async def hours(kernel: Kernel, clock: ManualClock, count: int) -> None:
    for _ in range(count):
        clock.advance(hours=1)
        await quiet(kernel)


async def reservations(kernel: Kernel) -> list[Any]:
    return list(await kernel.store.database.read(_ROWS, {}))


async def test_a_budget_of_runs_skips_what_is_beyond_it_and_goes_on_the_next_day(
    kernel: Kernel, clock: ManualClock
) -> None:
    job = await hourly(kernel, {"runs": 2, "per": "day"})
    await hours(kernel, clock, 4)
    assert await outcomes(kernel, job) == ["ok", "ok", "skipped", "skipped"]
    assert (await slots(kernel, job))[2].reason == "budget: 2 of 2 runs used today"
    clock.set(datetime(2026, 11, 17, tzinfo=UTC))
    await hours(kernel, clock, 1)
    assert (await outcomes(kernel, job))[-1] == "ok"


async def test_the_session_is_told_once_a_period(kernel: Kernel, clock: ManualClock) -> None:
    await hourly(kernel, {"runs": 1, "per": "day"})
    await hours(kernel, clock, 4)
    told = [text for _, text in await said(kernel) if "budget" in text]
    assert told == ["look: skipped, because its budget has no room left (1 of 1 runs used today)."]
    clock.advance(days=1)
    await quiet(kernel)
    await hours(kernel, clock, 2)
    assert len([text for _, text in await said(kernel) if "budget" in text]) == 2


async def test_a_skipped_run_is_explained_in_a_sentence(kernel: Kernel, clock: ManualClock) -> None:
    job = await hourly(kernel, {"runs": 1, "per": "day"})
    await hours(kernel, clock, 2)
    told = await kernel.jobs.explain(job.id, slot=clock.now())
    assert told.verdict == "skipped"
    assert "It was skipped on" in told.text
    assert "budget: 1 of 1 runs used today" in told.text


async def test_a_budget_of_tokens_reserves_the_95th_percentile_of_past_runs(
    kernel: Kernel, clock: ManualClock, agent: ScriptedAgent
) -> None:
    job = await hourly(kernel, None)
    agent.script(*(cost(None, tokens) for tokens in (300, 400, 500)))
    await hours(kernel, clock, 3)
    await kernel.jobs.update(job.id, policy=Policy(budget={"tokens": 1_150, "per": "day"}))  # type: ignore[arg-type]
    agent.script(cost(None, 400), cost(None, 250), cost(None, 1))
    await hours(kernel, clock, 3)
    # 400 and 250 are used; 500 more would be 1,150, and then the last run has used 1.
    assert (await outcomes(kernel, job))[3:] == ["ok", "ok", "ok"]
    await hours(kernel, clock, 1)
    [skipped] = (await slots(kernel, job))[6:]
    assert skipped.reason == "budget: 651 of 1,150 tokens used today, a run takes about 500"
    assert [(row["tokens"], row["settled"]) for row in await reservations(kernel)] == [
        (400, 1),
        (250, 1),
        (1, 1),
    ]


async def test_a_budget_in_dollars_names_the_sums(
    kernel: Kernel, clock: ManualClock, agent: ScriptedAgent
) -> None:
    job = await hourly(kernel, None)
    agent.script(cost(0.04), cost(0.24), cost(0.24))
    await hours(kernel, clock, 1)
    await kernel.jobs.update(job.id, policy=Policy(budget={"usd": 0.5, "per": "day"}))  # type: ignore[arg-type]
    await hours(kernel, clock, 3)
    assert await outcomes(kernel, job) == ["ok", "ok", "ok", "skipped"]
    assert (await slots(kernel, job))[
        -1
    ].reason == "budget: $0.48 of $0.50 used today, a run takes about $0.24"


async def test_pause_pauses_the_job_with_the_reason(kernel: Kernel, clock: ManualClock) -> None:
    job = await hourly(kernel, {"runs": 1, "per": "week", "over": "pause"})
    await hours(kernel, clock, 3)
    paused = await kernel.jobs.get(job.id)
    assert (paused.state, paused.state_reason) == (JobState.PAUSED, "budget: 1 of 1 runs used this week")
    assert await outcomes(kernel, job) == ["ok", "skipped"]
    assert "Resume it to go on." in (await said(kernel))[-1][1]


async def test_ask_asks_whether_to_raise_it_and_a_raise_holds_for_the_period(
    kernel: Kernel, clock: ManualClock
) -> None:
    job = await hourly(kernel, {"runs": 1, "per": "day", "over": "ask"})
    await hours(kernel, clock, 2)
    assert (await said(kernel))[-1][1].endswith("Raise it for today?")
    await kernel.jobs.raise_budget(job.id)
    await hours(kernel, clock, 2)
    assert await outcomes(kernel, job) == ["ok", "skipped", "ok", "skipped"]
    clock.set(datetime(2026, 11, 17, tzinfo=UTC))
    await hours(kernel, clock, 2)
    assert (await outcomes(kernel, job))[-2:] == ["ok", "skipped"]


async def test_periods_are_days_of_the_sessions_zone(kernel: Kernel, clock: ManualClock) -> None:
    await kernel.sessions.open(CHAT, timezone="Pacific/Auckland")  # midnight there is 11:00 UTC
    job = await hourly(kernel, {"runs": 1, "per": "day"})
    await hours(kernel, clock, 3)  # 10:00, 11:00, 12:00 UTC
    assert await outcomes(kernel, job) == ["ok", "ok", "skipped"]


async def test_a_session_budget_holds_for_all_its_jobs(kernel: Kernel, clock: ManualClock) -> None:
    first, second = await hourly(kernel, None), await hourly(kernel, None)
    await kernel.sessions.update(CHAT, budget=Budget.from_json({"runs": 3, "per": "day"}))
    await hours(kernel, clock, 3)
    both = [*await outcomes(kernel, first), *await outcomes(kernel, second)]
    assert sorted(map(str, both)) == ["ok"] * 3 + ["skipped"] * 3
    skipped = [run.reason for job in (first, second) for run in await slots(kernel, job) if run.reason]
    assert set(skipped) == {"budget: 3 of 3 runs used today by the session"}
    await kernel.sessions.update(CHAT, budget=None)
    await hours(kernel, clock, 1)
    assert (await outcomes(kernel, first))[-1] == "ok"


async def test_an_account_budget_holds_for_all_its_sessions(
    open_kernel: OpenKernel, clock: ManualClock
) -> None:
    budget = Budget.from_json({"runs": 3, "per": "day"})
    kernel = await open_kernel(settings=Settings(account_budget=budget))
    jobs = [await kernel.schedule(f"web:{n}", Every(3600), Ask("?")) for n in range(5)]
    await hours(kernel, clock, 1)
    ended = [str(outcome) for job in jobs for outcome in await outcomes(kernel, job)]
    assert sorted(ended) == ["ok"] * 3 + ["skipped"] * 2


async def test_a_users_turn_draws_on_no_budget(kernel: Kernel, clock: ManualClock) -> None:
    await kernel.sessions.open(CHAT)
    await kernel.sessions.update(CHAT, budget=Budget.from_json({"runs": 1, "per": "day"}))
    for _ in range(3):
        await kernel.receive(CHAT, "Good morning")
        await quiet(kernel)
    assert await reservations(kernel) == []


async def test_a_run_that_passes_twice_its_reservation_is_stopped_at_its_next_model_step(
    open_kernel: OpenKernel, clock: ManualClock
) -> None:
    steps = []

    async def agent(turn: OpenTurn) -> AsyncIterator[Any]:
        spent = 0
        for step in range(5):
            await turn.joined()
            steps.append(step)
            yield f"step {step} "
            spent += 500 if len(steps) > 1 else 100
            yield Usage({"requests": step + 1, "input_tokens": spent})
            if len(steps) == 1:
                return

    kernel = await open_kernel(agent=agent)
    job = await hourly(kernel, None)
    await hours(kernel, clock, 1)
    await kernel.jobs.update(job.id, policy=Policy(budget={"tokens": 10_000, "per": "day"}))  # type: ignore[arg-type]
    await hours(kernel, clock, 1)
    [_, run] = await slots(kernel, job)
    assert run.outcome == "stopped"
    assert run.reason == "budget: it used 500 tokens, more than twice the 100 tokens it had reserved"
    assert len(steps) == 2, "no further step was begun"
    assert [row["tokens"] for row in await reservations(kernel)] == [500]


async def test_a_run_that_was_withdrawn_gives_back_what_it_reserved(
    open_kernel: OpenKernel, clock: ManualClock
) -> None:
    kernel = await open_kernel(settings=Settings(runners=0, user_runners=0))
    job = await hourly(kernel, {"runs": 1, "per": "day"})
    await hours(kernel, clock, 1)
    assert [row["settled"] for row in await reservations(kernel)] == [0]
    await kernel.jobs.delete(job.id)
    assert [(row["runs"], row["settled"]) for row in await reservations(kernel)] == [(0, 1)]


async def test_a_retried_run_counts_the_attempts_that_failed(
    kernel: Kernel, clock: ManualClock, agent: ScriptedAgent
) -> None:
    job = await hourly(kernel, {"tokens": 100_000, "per": "day"}, retries=1)
    failing: Any = [Usage({"requests": 1, "input_tokens": 70}), 1]
    agent.script(failing, cost(None, 30))
    clock.advance(hours=1)
    await quiet(kernel)
    assert [row["settled"] for row in await reservations(kernel)] == [0], "it will be tried again"
    clock.advance(minutes=20)
    await quiet(kernel)
    assert await outcomes(kernel, job) == ["ok"]
    assert [(row["tokens"], row["settled"]) for row in await reservations(kernel)] == [(100, 1)]


async def test_a_one_shot_over_budget_is_over_and_the_last_of_max_runs_is_not_lost(
    kernel: Kernel, clock: ManualClock
) -> None:
    job = await hourly(kernel, {"runs": 1, "per": "day"}, max_runs=2)
    await hours(kernel, clock, 3)
    assert (await kernel.jobs.get(job.id)).state is JobState.ACTIVE, "a skipped run is not one of max_runs"
    clock.set(datetime(2026, 11, 17, tzinfo=UTC))
    await hours(kernel, clock, 1)
    assert (await kernel.jobs.get(job.id)).state is JobState.ENDED


async def test_the_reservations_of_a_deleted_session_are_settled(
    open_kernel: OpenKernel, clock: ManualClock
) -> None:
    kernel = await open_kernel(settings=Settings(runners=0, user_runners=0))
    await hourly(kernel, {"runs": 1, "per": "day"})
    await hours(kernel, clock, 1)
    await kernel.sessions.delete(CHAT, with_jobs=True)
    assert [row["settled"] for row in await reservations(kernel)] == [1]


async def test_a_budgeted_fire_costs_one_statement_more_and_others_none(
    clock: ManualClock, recording_store: RecordingStore
) -> None:
    async with Kernel(recording_store, agent=ScriptedAgent(), clock=clock) as kernel:
        for number, budget in enumerate((None, {"runs": 9, "per": "day"}, {"tokens": 99_999, "per": "week"})):
            policy = Policy(budget=budget)  # type: ignore[arg-type]
            await kernel.schedule(f"web:{number}", Every(3600), Ask("Look."), policy=policy)
        recording_store.commits.clear()
        clock.advance(hours=1)
        await quiet(kernel)
    for begun, added in (("runs.open", "reservations.reserve"), ("turns.finish", "reservations.settle")):
        plain, *budgeted = sorted(recording_store.transactions_with(begun), key=len)
        assert added not in plain
        assert len(budgeted) == 2
        for statements in budgeted:
            assert len(statements) == len(plain) + 1
            assert [name for name in statements if name != added] == plain


async def test_a_run_without_a_budget_or_a_model_costs_what_it_costs_where_there_are_none(
    clock: ManualClock, recording_store: RecordingStore
) -> None:
    """Fire, start and settlement of a run are the same, statement for statement, and read the same."""
    settings = Settings(models={"fast": "openai-chat:gpt-oss-20b"}, account_budget=None)

    async def statements(kernel: Kernel, key: str, action: Ask) -> list[Any]:
        await kernel.schedule(key, At(clock.now() + timedelta(hours=1)), action)
        await quiet(kernel)
        recording_store.commits.clear()
        recording_store.reads.clear()
        clock.advance(hours=1)
        await quiet(kernel)
        steps = ("runs.open", "turns.start_next", "turns.finish")
        commits = [each for step in steps for each in recording_store.transactions_with(step)]
        looked_up = [name for name in recording_store.reads if name.startswith(("runs.", "reservations."))]
        return [*commits, looked_up]

    async with Kernel(recording_store, agent=ScriptedAgent(), clock=clock, settings=settings) as kernel:
        plain = await statements(kernel, "web:0", Ask("Look."))
        assert len(plain) == 4, "fire, start, settlement, and what was looked up"
        assert await statements(kernel, "web:1", Ask("Look.", model="fast")) == plain
        await kernel.sessions.open("web:2")
        await kernel.sessions.update("web:2", budget=Budget.from_json({"runs": 9, "per": "day"}))
        assert await statements(kernel, "web:3", Ask("Look.")) == plain
        assert await statements(kernel, "web:2", Ask("Look.")) != plain


@pytest.mark.parametrize("where", ["job", "session"])
async def test_a_budget_that_this_version_cannot_read_pauses_the_job(
    kernel: Kernel, clock: ManualClock, where: str
) -> None:
    job = await hourly(kernel, {"runs": 9, "per": "day"})
    await kernel.sessions.update(CHAT, budget=Budget.from_json({"runs": 9, "per": "day"}))
    table = {
        "job": "jobs SET policy = REPLACE(policy",
        "session": "session_budgets SET budget = REPLACE(budget",
    }
    await kernel.store.commit(_execute, f"UPDATE {table[where]}, 'day', 'fortnight')")
    await hours(kernel, clock, 2)
    paused = await kernel.jobs.get(job.id)
    assert (paused.state, await outcomes(kernel, job)) == (JobState.PAUSED, [])
    assert "fortnight" in str(paused.state_reason)


def _execute(text: str) -> Transaction[None]:
    yield queries.translate("test.change", text), {}


@pytest.mark.parametrize(
    "budget",
    [
        {"usd": 0, "per": "day"},
        {"usd": -1, "per": "day"},
        {"runs": 0, "per": "day"},
        {"runs": 1.5, "per": "day"},
        {"tokens": True, "per": "day"},
        {"usd": float("nan"), "per": "day"},
        {"usd": 1, "tokens": 1, "per": "day"},
        {"usd": 1},
        {"usd": 1, "per": "hour"},
        {"usd": 1, "per": "day", "over": "shout"},
        {"usd": 1, "per": "day", "extra": 1},
        "much",
    ],
)
def test_a_bad_budget_is_refused_with_a_sentence(budget: Any) -> None:
    with pytest.raises(BadPolicy, match="budget"):
        Policy(budget=budget)


async def test_old_reservations_are_pruned(kernel: Kernel, clock: ManualClock) -> None:
    await hourly(kernel, {"runs": 1, "per": "day"}, max_runs=1)
    await hours(kernel, clock, 1)
    clock.advance(timedelta(days=400))
    await kernel.workers.pruner.step()
    assert await reservations(kernel) == []
