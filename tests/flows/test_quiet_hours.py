"""Quiet hours: a night is one record and one run, or none, and costs no question to the agent."""

from datetime import timedelta

import pytest

from segue import Ask, At, Cron, Every, Job, Kernel, Policy, Say, Settings
from segue.model.prompts import Mode
from segue.model.quiet.hours import QuietHours
from segue.store import queries
from segue.testing import ManualClock, RecordingChannel, ScriptedAgent, quiet
from segue.times.clock import to_moment
from segue.times.trigger import Phase
from tests.flows.house import OpenKernel
from tests.flows.story import CHAT, outcomes, slots

PHONE = "test:42"
NIGHT = {"from": "22:00", "to": "07:00", "days": "all"}
NIGHT_UNTIL_7 = "quiet hours until 07:00"
QUARTERS = Cron("*/15 6-23 * * *", tz="UTC")


async def hours_later(kernel: Kernel, clock: ManualClock, hours: float) -> None:
    clock.advance(hours=hours)
    await quiet(kernel)


async def open_quiet(kernel: Kernel, key: str = CHAT) -> None:
    await kernel.sessions.open(key)
    await kernel.sessions.update(key, quiet=NIGHT)


async def play(kernel: Kernel, clock: ManualClock, hours: int, *, step_minutes: int = 15) -> None:
    for _ in range(hours * 60 // step_minutes):
        clock.advance(minutes=step_minutes)
        await quiet(kernel)


async def passed(kernel: Kernel, job: Job) -> list[tuple[str | None, int]]:
    """The reasons and the counts of the slots that were skipped, oldest first."""
    found = [run for run in await slots(kernel, job) if run.outcome == "skipped"]
    return [(run.reason, run.missed_count + 1) for run in found]


async def ran_at_night(kernel: Kernel, *jobs: Job) -> list[int]:
    """When turns of the jobs started in the quiet hours."""
    runs = [run for job in jobs for run in await slots(kernel, job)]
    starts = [run.started_at for run in runs if run.started_at is not None]
    return [at for at in starts if not 7 <= to_moment(at).hour < 22]


@pytest.mark.new_connections
async def test_a_job_every_15_minutes_asks_nothing_at_night_and_runs_once_when_it_ends(
    kernel: Kernel, clock: ManualClock, agent: ScriptedAgent
) -> None:
    """The load of a public report: every 15 minutes from 6 to 24, three days."""
    await open_quiet(kernel)
    job = await kernel.schedule(CHAT, QUARTERS, Ask("Look."))
    await play(kernel, clock, 72)
    assert not await ran_at_night(kernel, job), "no model call in the window"
    assert len(agent.asked) == 3 * 60
    assert await passed(kernel, job) == [(NIGHT_UNTIL_7, 12)] * 3
    firsts = [run.started_at for run in await slots(kernel, job) if run.slot % 86_400_000 == 7 * 3_600_000]
    assert [at % 86_400_000 for at in firsts if at] == [7 * 3_600_000] * 3, "its first run is at the end"


async def test_the_timer_is_not_woken_for_the_slots_of_a_night(
    kernel: Kernel, clock: ManualClock, agent: ScriptedAgent
) -> None:
    await open_quiet(kernel)
    job = await kernel.schedule(CHAT, Cron("*/15 * * * *", tz="UTC"), Ask("Look."))
    await play(kernel, clock, 13)
    waiting = await kernel.jobs.get(job.id)
    assert (waiting.state_reason, await kernel.store.next_due()) == (NIGHT_UNTIL_7, waiting.next_at)
    assert waiting.next_at is not None
    assert waiting.next_at % 86_400_000 == 7 * 3_600_000


async def test_one_run_at_the_end_stands_for_a_night_without_a_slot_at_its_end(
    kernel: Kernel, clock: ManualClock, agent: ScriptedAgent
) -> None:
    await open_quiet(kernel)
    job = await kernel.schedule(CHAT, Cron("30 * * * *", tz="UTC"), Ask("Look."))
    await play(kernel, clock, 22)
    *_, night, run = await slots(kernel, job)
    assert (night.outcome, night.reason, night.missed_count) == ("skipped", NIGHT_UNTIL_7, 7)
    assert (run.outcome, run.reason) == ("ok", f"put off: {NIGHT_UNTIL_7}")
    assert run.started_at is not None
    assert run.started_at % 86_400_000 == 7 * 3_600_000


@pytest.mark.parametrize("late", ["run_once", "skip", "all"])
async def test_a_single_slot_at_night_runs_at_the_end_whatever_its_grace_is(
    kernel: Kernel, clock: ManualClock, late: str
) -> None:
    await open_quiet(kernel)
    policy = Policy.from_json({"late": late, "grace_seconds": 60})
    job = await kernel.schedule(CHAT, Cron("0 3 * * *", tz="UTC"), Ask("Look."), policy=policy)
    await play(kernel, clock, 22, step_minutes=60)
    assert await outcomes(kernel, job) == ["ok"]


async def test_a_check_is_skipped_with_one_record_at_the_beginning_of_the_night(
    kernel: Kernel, clock: ManualClock, agent: ScriptedAgent
) -> None:
    await open_quiet(kernel)
    job = await kernel.schedule(CHAT, Cron("30 * * * *", tz="UTC"), Ask("Look.", mode=Mode.CHECK))
    await play(kernel, clock, 14, step_minutes=30)
    assert await passed(kernel, job) == [(NIGHT_UNTIL_7, 9)]
    before = len(agent.asked)
    await play(kernel, clock, 8, step_minutes=30)
    assert len(agent.asked) == before, "nothing runs at the end of the night"
    await play(kernel, clock, 1, step_minutes=30)
    assert len(agent.asked) == before + 1


async def test_an_interval_counted_from_the_last_run_waits_for_the_end(
    kernel: Kernel, clock: ManualClock, agent: ScriptedAgent
) -> None:
    await open_quiet(kernel)
    every = Every(timedelta(minutes=40), phase=Phase.RELATIVE)
    job = await kernel.schedule(CHAT, every, Ask("Look."))
    skipped = await kernel.schedule(CHAT, every, Ask("Check.", mode=Mode.CHECK))
    await play(kernel, clock, 24, step_minutes=10)
    assert await ran_at_night(kernel, job, skipped) == []
    assert await passed(kernel, job) == []
    assert await passed(kernel, skipped) == [(NIGHT_UNTIL_7, 1)]


async def test_an_alarm_a_moment_that_was_named_and_a_written_message_come_at_their_time(
    kernel: Kernel, clock: ManualClock, channel: RecordingChannel
) -> None:
    await open_quiet(kernel, PHONE)
    at_night = clock.now() + timedelta(hours=15)
    through = Policy.from_json({"quiet": "through"})
    alarm = await kernel.schedule(PHONE, Cron("0 0 * * *", tz="UTC"), Ask("Alarm."), policy=through)
    named = await kernel.schedule(PHONE, At(at_night), Ask("Named."))
    written = await kernel.schedule(PHONE, At(at_night), Say("Written."))
    await hours_later(kernel, clock, 15)
    assert [await outcomes(kernel, job) for job in (alarm, named, written)] == [["ok"], ["ok"], ["ok"]]
    assert len(channel.sent) == 3


async def test_a_recall_at_night_waits_for_the_end(
    kernel: Kernel, clock: ManualClock, agent: ScriptedAgent
) -> None:
    await open_quiet(kernel)
    await kernel.recalls.add(CHAT, "Ask again.", when="in 15 hours")
    await hours_later(kernel, clock, 15)
    assert agent.asked == []
    await hours_later(kernel, clock, 7)
    assert len(agent.asked) == 1


async def test_the_default_of_the_settings_holds_until_a_session_has_its_own(
    open_kernel: OpenKernel, clock: ManualClock, agent: ScriptedAgent
) -> None:
    settings = Settings(quiet=QuietHours("22:00", "07:00"), timezone="UTC")
    kernel = await open_kernel(settings=settings)
    await kernel.sessions.open("web:2")
    await kernel.sessions.update("web:2", quiet=None)
    for key in (CHAT, "web:2"):
        await kernel.schedule(key, Cron("0 0 * * *", tz="UTC"), Ask("Look."))
    await hours_later(kernel, clock, 15)
    assert [asked.turn.session.key for asked in agent.asked] == ["web:2"]
    assert (await kernel.sessions.overview(CHAT)).quiet == NIGHT
    assert (await kernel.sessions.overview("web:2")).quiet is None


async def test_when_quiet_hours_are_cleared_a_waiting_job_runs(
    kernel: Kernel, clock: ManualClock, agent: ScriptedAgent
) -> None:
    await open_quiet(kernel)
    await kernel.schedule(CHAT, Cron("0 23 * * *", tz="UTC"), Ask("Look."))
    await hours_later(kernel, clock, 14)
    assert agent.asked == []
    await kernel.sessions.update(CHAT, quiet=None)
    await quiet(kernel)
    assert len(agent.asked) == 1


async def test_in_unified_mode_the_common_session_decides(
    open_kernel: OpenKernel, clock: ManualClock, agent: ScriptedAgent
) -> None:
    kernel = await open_kernel(settings=Settings(unified_session=True))
    await kernel.receive(CHAT, "Hello.")
    await quiet(kernel)
    await kernel.sessions.update(CHAT, quiet=NIGHT)
    assert (await kernel.sessions.get("unified:default")).quiet is not None
    await kernel.schedule("web:2", Cron("0 23 * * *", tz="UTC"), Ask("Look."))
    await hours_later(kernel, clock, 14)
    assert len(agent.asked) == 1
    assert (await kernel.sessions.overview("web:2")).quiet_until is not None
    await hours_later(kernel, clock, 8)
    assert len(agent.asked) == 2


async def test_quiet_hours_that_this_version_cannot_read_pause_the_job_and_not_a_message(
    kernel: Kernel, clock: ManualClock, agent: ScriptedAgent
) -> None:
    session = (await kernel.sessions.open(CHAT)).session
    job = await kernel.schedule(CHAT, Cron("0 10 * * *", tz="UTC"), Ask("Look."))
    message = await kernel.schedule(CHAT, At("in 1 hour"), Say("Written."))
    write = queries.translate("test.set_quiet", "UPDATE sessions SET quiet = '{\"moon\": 1}' WHERE id = :id")

    def newer():  # type: ignore[no-untyped-def]
        yield write, {"id": session.id}

    await kernel.store.commit(newer)
    await hours_later(kernel, clock, 1)
    paused = await kernel.jobs.get(job.id)
    assert (paused.state, agent.asked) == ("paused", [])
    assert "quiet hours of its session cannot be read" in (paused.state_reason or "")
    assert await outcomes(kernel, message) == ["ok"]


async def test_an_explanation_says_what_quiet_hours_did_and_will_do(
    kernel: Kernel, clock: ManualClock
) -> None:
    await open_quiet(kernel, PHONE)
    job = await kernel.schedule(PHONE, Cron("30 6,21,23 * * *", tz="UTC"), Ask("Look."))
    before = await kernel.jobs.explain(job.id)
    assert f"{NIGHT_UNTIL_7}; it runs when they end" in before.text
    await hours_later(kernel, clock, 12.5)
    await hours_later(kernel, clock, 2.5)
    waiting = await kernel.jobs.explain(job.id)
    assert waiting.verdict == "postponed"
    assert f"was put off ({NIGHT_UNTIL_7})" in waiting.text
    await hours_later(kernel, clock, 7)
    night, _ = (await slots(kernel, job))[-2:]
    skipped = await kernel.jobs.explain(job.id, slot=to_moment(night.slot))
    assert (skipped.verdict, skipped.facts["quiet"]) == ("skipped", NIGHT_UNTIL_7)
    held = Policy.from_json({"quiet": "hold"})
    holding = await kernel.schedule(PHONE, Cron("0 23 * * *", tz="UTC"), Ask("Look."), policy=held)
    await hours_later(kernel, clock, 16)
    answered = await kernel.jobs.explain(holding.id)
    assert "Its answer is in the conversation, and is sent on" in answered.text
