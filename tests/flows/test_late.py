"""The store was down for three days. What each policy makes of the slots that passed."""

from datetime import timedelta

import pytest

from segue import Ask, At, Cron, Every, Kernel, Late, Phase, Policy, Trigger
from segue.testing import ManualClock, ScriptedAgent, quiet
from segue.testing.manual_clock import START
from tests.flows.story import CHAT, outcomes, said, slots

DAY = 86_400
DOWN = timedelta(days=3, minutes=30)
HOURLY = Cron("0 * * * *", tz="UTC")
IN_AN_HOUR = At(START + timedelta(hours=1))


@pytest.mark.parametrize(
    ("trigger", "policy", "ran", "missed"),
    [
        pytest.param(Every(3600), Policy(), 1, 71, id="every hour, run_once"),
        pytest.param(Every(3600), Policy(late=Late.SKIP), 0, 72, id="every hour, skip"),
        pytest.param(Every(3600), Policy(late=Late.ALL), 10, 62, id="every hour, all, no more than catch_up"),
        pytest.param(
            Every(3600), Policy(late=Late.ALL, catch_up=100), 24, 48, id="every hour, all, in grace"
        ),
        pytest.param(Every(3600), Policy(grace_seconds=600), 0, 72, id="every hour, beyond the grace"),
        pytest.param(Every(3600, phase=Phase.RELATIVE), Policy(), 1, 0, id="an hour after the last"),
        pytest.param(HOURLY, Policy(), 1, 71, id="cron, run_once"),
        pytest.param(HOURLY, Policy(late=Late.SKIP), 0, 72, id="cron, skip"),
        pytest.param(HOURLY, Policy(late=Late.ALL, catch_up=3), 3, 69, id="cron, all"),
        pytest.param(HOURLY, Policy(grace_seconds=600), 0, 72, id="cron, beyond the grace"),
        pytest.param(IN_AN_HOUR, Policy(grace_seconds=4 * DAY), 1, 0, id="once, run_once"),
        pytest.param(IN_AN_HOUR, Policy(late=Late.ALL, grace_seconds=4 * DAY), 1, 0, id="once, all"),
        pytest.param(IN_AN_HOUR, Policy(late=Late.SKIP), 0, 1, id="once, skip"),
        pytest.param(IN_AN_HOUR, Policy(), 0, 1, id="once, beyond the grace"),
    ],
)
async def test_after_three_days_the_policys_count_runs_and_the_rest_is_one_row(
    kernel: Kernel,
    clock: ManualClock,
    agent: ScriptedAgent,
    trigger: Trigger,
    policy: Policy,
    ran: int,
    missed: int,
) -> None:
    job = await kernel.schedule(CHAT, trigger, Ask("Look."), policy=policy)
    clock.advance(DOWN)
    await quiet(kernel)
    assert await outcomes(kernel, job) == ["missed"] * (missed > 0) + ["ok"] * ran
    runs = await slots(kernel, job)
    assert [run.missed_count for run in runs if run.outcome == "missed"] == [missed] * (missed > 0)
    assert len(agent.asked) == ran


@pytest.mark.parametrize(
    ("late", "ran", "missed"), [(Late.RUN_ONCE, 1, 4319), (Late.SKIP, 0, 4320), (Late.ALL, 11, 4309)]
)
async def test_a_job_of_every_minute_catches_up_as_its_policy_says(
    kernel: Kernel, clock: ManualClock, late: Late, ran: int, missed: int
) -> None:
    job = await kernel.schedule(CHAT, Every(60), Ask("Look."), policy=Policy(late=late))
    clock.advance(days=3, seconds=30)
    await quiet(kernel)
    assert await outcomes(kernel, job) == ["missed"] + ["ok"] * ran
    assert (await slots(kernel, job))[0].missed_count == missed


async def test_a_million_missed_slots_are_one_row(kernel: Kernel, clock: ManualClock) -> None:
    job = await kernel.schedule(CHAT, Every(1), Ask("Look."))
    clock.advance(seconds=1_000_001)
    await quiet(kernel)
    missed, ran = await slots(kernel, job)
    assert (missed.outcome, missed.missed_count) == ("missed", 1_000_000)
    assert (ran.outcome, ran.missed_count, ran.lateness_ms) == ("ok", 1_000_000, 0)


async def test_slots_that_are_caught_up_run_in_their_order(kernel: Kernel, clock: ManualClock) -> None:
    job = await kernel.schedule(CHAT, Every(3600), Ask("Look."), policy=Policy(late=Late.ALL))
    clock.advance(hours=4, minutes=30)
    await quiet(kernel)
    runs = await slots(kernel, job)
    assert [run.lateness_ms // 60_000 for run in runs] == [210, 150, 90, 30]
    started = [run.started_at or 0 for run in runs]
    assert started == sorted(started)


async def test_the_rhythm_is_kept_after_a_gap(kernel: Kernel, clock: ManualClock) -> None:
    job = await kernel.schedule(CHAT, Every(3600), Ask("Look."))
    clock.advance(hours=5, minutes=20)
    await quiet(kernel)
    clock.advance(minutes=40)
    await quiet(kernel)
    assert (await slots(kernel, job))[-1].lateness_ms == 0


async def test_a_one_shot_that_runs_late_says_how_late(kernel: Kernel, clock: ManualClock) -> None:
    job = await kernel.schedule(CHAT, At(clock.now() + timedelta(hours=1)), Ask("Look."))
    clock.advance(hours=3)
    await quiet(kernel)
    [run] = await slots(kernel, job)
    assert run.lateness_ms == 2 * 3_600_000
    assert (await kernel.jobs.get(job.id)).state == "ended"


async def test_a_one_shot_past_its_grace_ends_as_missed_where_people_see_it(
    kernel: Kernel, clock: ManualClock
) -> None:
    job = await kernel.schedule(CHAT, IN_AN_HOUR, Ask("Look."), name="The look")
    clock.advance(DOWN)
    await quiet(kernel)
    [(role, words)] = await said(kernel)
    assert role == "assistant"
    assert words.startswith("Missed: The look.")
    ended = await kernel.jobs.get(job.id)
    assert (ended.state, ended.next_at, ended.last_outcome) == ("ended", None, "missed")


async def test_missed_slots_of_a_repeating_job_do_not_clutter_the_chat(
    kernel: Kernel, clock: ManualClock
) -> None:
    await kernel.schedule(CHAT, HOURLY, Ask("Look."), policy=Policy(late=Late.SKIP))
    clock.advance(DOWN)
    await quiet(kernel)
    assert await said(kernel) == []


async def test_a_clock_that_is_set_back_repeats_nothing(
    kernel: Kernel, clock: ManualClock, agent: ScriptedAgent
) -> None:
    """10.4: no double run."""
    job = await kernel.schedule(CHAT, Every(3600), Ask("Look."))
    clock.advance(hours=1)
    await quiet(kernel)
    clock.advance(hours=-1)
    await quiet(kernel)
    clock.advance(hours=1)
    await quiet(kernel)
    assert await outcomes(kernel, job) == ["ok"]
    assert len(agent.asked) == 1


async def test_a_clock_that_is_set_forward_runs_once_and_counts_what_it_jumped_over(
    kernel: Kernel, clock: ManualClock, agent: ScriptedAgent
) -> None:
    """10.4: no double run, no loss; nor when it is set right again."""
    hourly = await kernel.schedule(CHAT, Every(3600), Ask("Look."))
    once = await kernel.schedule(CHAT, IN_AN_HOUR, Ask("Once."))
    clock.advance(hours=3)
    await quiet(kernel)
    clock.advance(hours=-3)
    await quiet(kernel)
    assert await outcomes(kernel, once) == ["ok"]
    assert [(run.outcome, run.missed_count) for run in await slots(kernel, hourly)] == [
        ("missed", 2),
        ("ok", 2),
    ]
    clock.advance(hours=4)
    await quiet(kernel)
    assert await outcomes(kernel, hourly) == ["missed", "ok", "ok"]


async def test_a_one_shot_waits_for_a_clock_that_was_set_back(kernel: Kernel, clock: ManualClock) -> None:
    """10.4: it runs when its moment is there, once."""
    job = await kernel.schedule(CHAT, IN_AN_HOUR, Ask("Look."))
    clock.advance(hours=-5)
    await quiet(kernel)
    assert await slots(kernel, job) == []
    clock.advance(hours=6)
    await quiet(kernel)
    [run] = await slots(kernel, job)
    assert (run.outcome, run.lateness_ms) == ("ok", 0)
