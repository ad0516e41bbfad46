"""Jobs: schedule, pause, resume, edit, skip, remove; and their races."""

from dataclasses import replace
from datetime import timedelta

import pytest

from segue import Ask, At, Cron, Every, JobKind, Kernel, Policy, Say
from segue.errors import BadTrigger, Conflict, NotFound
from segue.kernel.transactions import jobs as transactions
from segue.testing import ManualClock, ScriptedAgent, quiet
from segue.times.clock import to_moment
from tests.flows.story import CHAT, outcomes, said, slots, under_way


async def test_a_paused_job_does_not_run_and_a_resumed_one_goes_on(
    kernel: Kernel, clock: ManualClock, agent: ScriptedAgent
) -> None:
    job = await kernel.schedule(CHAT, Every(60), Ask("Look."))
    paused = await kernel.jobs.pause(job.id, reason="on holiday")
    assert (paused.state, paused.state_reason, paused.next_at) == ("paused", "on holiday", None)
    clock.advance(minutes=10, seconds=30)
    await quiet(kernel)
    assert await slots(kernel, job) == []
    resumed = await kernel.jobs.resume(job.id)
    assert resumed.next_at == clock.ms() + 30_000, "its rhythm is kept"
    clock.advance(seconds=30)
    await quiet(kernel)
    assert await outcomes(kernel, job) == ["ok"]


async def test_only_an_active_job_can_be_paused_and_only_a_paused_one_resumed(kernel: Kernel) -> None:
    job = await kernel.schedule(CHAT, Every(60), Ask("Look."))
    with pytest.raises(Conflict, match="only a paused one"):
        await kernel.jobs.resume(job.id)
    await kernel.jobs.pause(job.id)
    with pytest.raises(Conflict, match="only an active one"):
        await kernel.jobs.pause(job.id)
    with pytest.raises(Conflict, match="no next slot"):
        await kernel.jobs.skip(job.id)


async def test_a_one_shot_that_was_paused_over_its_moment_runs_late_when_it_is_resumed(
    kernel: Kernel, clock: ManualClock
) -> None:
    job = await kernel.schedule(CHAT, At(clock.now() + timedelta(hours=1)), Ask("Look."))
    await kernel.jobs.pause(job.id)
    clock.advance(hours=2)
    await kernel.jobs.resume(job.id)
    await quiet(kernel)
    [run] = await slots(kernel, job)
    assert (run.outcome, run.lateness_ms) == ("ok", 3_600_000)


async def test_an_edit_changes_what_is_given_and_keeps_the_rest(kernel: Kernel, clock: ManualClock) -> None:
    job = await kernel.schedule(CHAT, Every(3600), Ask("Look."), name="Look")
    edited = await kernel.jobs.update(job.id, name="Stare", action=Ask("Stare."))
    assert (edited.name, edited.action, edited.trigger) == ("Stare", Ask("Stare."), job.trigger)
    assert (edited.slot, edited.next_at, edited.revision) == (job.slot, job.next_at, job.revision + 1)
    assert await kernel.jobs.get(job.id) == edited


async def test_an_edited_schedule_counts_from_now(kernel: Kernel, clock: ManualClock) -> None:
    job = await kernel.schedule(CHAT, Every(3600), Ask("Look."))
    clock.advance(minutes=30)
    edited = await kernel.jobs.update(job.id, trigger=Every(600))
    assert edited.next_at == clock.ms() + 600_000


async def test_an_edited_policy_does_not_lose_a_slot_that_is_due(kernel: Kernel, clock: ManualClock) -> None:
    job = await kernel.schedule(CHAT, Every(3600), Ask("Look."))
    clock.advance(hours=1)
    await kernel.jobs.update(job.id, policy=Policy(retries=3))
    await quiet(kernel)
    assert await outcomes(kernel, job) == ["ok"]


async def test_a_schedule_cannot_be_edited_into_the_past(kernel: Kernel, clock: ManualClock) -> None:
    job = await kernel.schedule(CHAT, At(clock.now() + timedelta(hours=2)), Ask("Look."))
    clock.advance(hours=1)
    with pytest.raises(BadTrigger):
        await kernel.jobs.update(job.id, trigger=At(clock.now() - timedelta(minutes=1)))
    assert await kernel.jobs.get(job.id) == job


async def test_editing_a_job_that_runs_neither_repeats_nor_loses_its_run(
    kernel: Kernel, clock: ManualClock, agent: ScriptedAgent
) -> None:
    """3.6: nor does adding another one."""
    job = await kernel.schedule(CHAT, Every(60), Ask("Look."))
    clock.advance(minutes=1)
    async with under_way(kernel, agent):
        await kernel.jobs.update(job.id, action=Ask("Stare."), trigger=Every(600))
        await kernel.schedule(CHAT, Every(3600), Ask("Something else."))
    assert await outcomes(kernel, job) == ["ok"]
    assert [asked.text for asked in agent.asked] == ["Look."]
    clock.advance(minutes=10)
    await quiet(kernel)
    assert agent.asked[-1].text == "Stare."


async def test_a_skipped_slot_is_recorded_and_the_next_one_runs(
    kernel: Kernel, clock: ManualClock, agent: ScriptedAgent
) -> None:
    job = await kernel.schedule(CHAT, Every(60), Ask("Look."))
    skipped = await kernel.jobs.skip(job.id)
    assert skipped.slot == (job.slot or 0) + 60_000
    clock.advance(minutes=2)
    await quiet(kernel)
    assert await outcomes(kernel, job) == ["skipped", "ok"]
    assert (await slots(kernel, job))[0].reason == "skipped by request"


async def test_a_skip_survives_a_change_of_the_time(kernel: Kernel, clock: ManualClock) -> None:
    """Issue 24: tomorrow's run stays skipped when 09:00 becomes 08:30."""
    job = await kernel.schedule(CHAT, Cron("0 9 * * *", tz="UTC"), Ask("Look."))
    skipped = to_moment((await kernel.jobs.get(job.id)).slot or 0)
    await kernel.jobs.skip(job.id)
    changed = await kernel.jobs.update(job.id, trigger=Cron("30 8 * * *", tz="UTC"))
    assert to_moment(changed.slot or 0) == skipped + timedelta(days=1, minutes=-30)


async def test_a_skip_survives_a_pause(kernel: Kernel, clock: ManualClock) -> None:
    job = await kernel.schedule(CHAT, Cron("0 9 * * *", tz="UTC"), Ask("Look."))
    skipped = await kernel.jobs.skip(job.id)
    await kernel.jobs.pause(job.id)
    assert (await kernel.jobs.resume(job.id)).slot == skipped.slot


async def test_a_one_shot_that_is_skipped_is_over(kernel: Kernel, clock: ManualClock) -> None:
    job = await kernel.schedule(CHAT, At(clock.now() + timedelta(hours=1)), Ask("Look."))
    over = await kernel.jobs.skip(job.id)
    assert (over.state, over.next_at) == ("ended", None)
    assert await outcomes(kernel, job) == ["skipped"]


async def test_removing_a_job_cancels_the_run_that_waits(
    kernel: Kernel, clock: ManualClock, agent: ScriptedAgent
) -> None:
    job = await kernel.schedule(CHAT, Every(60), Ask("Look."))
    await kernel.receive(CHAT, "Hello")
    async with under_way(kernel, agent):
        clock.advance(minutes=1)
        await kernel.workers.timer.step()
        await kernel.jobs.delete(job.id)
    [run] = await slots(kernel, job)
    assert (run.outcome, run.reason) == ("cancelled", "its job was removed")
    assert [asked.text for asked in agent.asked] == ["Hello"]


async def test_removing_a_job_lets_the_run_that_has_started_end(
    kernel: Kernel, clock: ManualClock, agent: ScriptedAgent
) -> None:
    """3.6."""
    job = await kernel.schedule(CHAT, Every(60), Ask("Look."))
    clock.advance(minutes=1)
    async with under_way(kernel, agent):
        await kernel.jobs.delete(job.id)
    assert await outcomes(kernel, job) == ["ok"]
    assert (await said(kernel))[-1] == ("assistant", "ok")


async def test_removing_a_message_that_was_not_sent_cancels_it(kernel: Kernel, clock: ManualClock) -> None:
    job = await kernel.schedule(CHAT, Every(60), Say("Drink water."))
    clock.advance(minutes=1)
    await kernel.workers.timer.step()
    await kernel.jobs.delete(job.id)
    await quiet(kernel)
    assert await outcomes(kernel, job) == ["cancelled"]
    assert [delivery.state for delivery in await kernel.log.deliveries(CHAT)] == ["cancelled"]
    assert await said(kernel) == []


async def test_a_removed_job_is_not_found(kernel: Kernel) -> None:
    job = await kernel.schedule(CHAT, Every(60), Ask("Look."))
    await kernel.jobs.delete(job.id)
    assert await kernel.jobs.list(CHAT, ended=True) == []
    for verb in (
        kernel.jobs.get,
        kernel.jobs.pause,
        kernel.jobs.resume,
        kernel.jobs.skip,
        kernel.jobs.delete,
        kernel.jobs.update,
    ):
        with pytest.raises(NotFound):
            await verb(job.id)


async def test_a_protected_job_is_neither_changed_nor_removed(kernel: Kernel) -> None:
    job = await kernel.schedule(CHAT, Every(60), Ask("Look."), kind=JobKind.SYSTEM, protected=True)
    for verb in (kernel.jobs.pause, kernel.jobs.delete, kernel.jobs.update, kernel.jobs.skip):
        with pytest.raises(Conflict, match="belongs to the system"):
            await verb(job.id)
    assert await kernel.jobs.get(job.id) == job


@pytest.mark.parametrize("change", ["edit", "pause", "skip", "fire"])
async def test_a_change_from_a_revision_that_is_no_longer_is_a_conflict(
    kernel: Kernel, clock: ManualClock, change: str
) -> None:
    job = await kernel.schedule(CHAT, Every(60), Ask("Look."))
    match change:
        case "edit":
            await kernel.jobs.update(job.id, name="Stare")
        case "pause":
            await kernel.jobs.pause(job.id)
        case "skip":
            await kernel.jobs.skip(job.id)
        case "fire":
            clock.advance(minutes=1)
            await quiet(kernel)
    there = await kernel.jobs.get(job.id)
    with pytest.raises(Conflict, match="changed meanwhile"):
        await kernel.store.commit(transactions.change, replace(job, name="Too late"), clock.ms())
    with pytest.raises(Conflict, match="changed meanwhile"):
        await kernel.store.commit(transactions.remove, job, "too late", clock.ms())
    assert await kernel.jobs.get(job.id) == there


async def test_a_session_is_told_of_its_jobs(kernel: Kernel) -> None:
    job = await kernel.schedule(CHAT, Every(60), Ask("Look."))
    await kernel.jobs.pause(job.id)
    await kernel.jobs.resume(job.id)
    await kernel.jobs.delete(job.id)
    told = [event for event in await kernel.log.events(CHAT) if event.type == "automation_update"]
    assert [event.body for event in told] == [{"job_id": job.id}] * 4


async def test_a_session_has_one_pending_recall_at_most(kernel: Kernel) -> None:
    first = await kernel.schedule(CHAT, At("in 1 hour"), Ask("Ask about the exam."), kind=JobKind.RECALL)
    with pytest.raises(Conflict, match="pending recall already"):
        await kernel.schedule(CHAT, At("in 2 hours"), Ask("Another."), kind=JobKind.RECALL)
    assert [job.id for job in await kernel.jobs.list(CHAT, ended=True)] == [first.id]
    other = await kernel.schedule("web:2", At("in 1 hour"), Ask("Of another chat."), kind=JobKind.RECALL)
    assert [job.id for job in await kernel.jobs.list("web:2", ended=True)] == [other.id]
    cron = await kernel.schedule(CHAT, Every(60), Ask("Of another kind."))
    assert {job.id for job in await kernel.jobs.list(CHAT, ended=True)} == {first.id, cron.id}


async def test_after_a_recall_has_fired_the_next_may_be_set(
    kernel: Kernel, clock: ManualClock, agent: ScriptedAgent
) -> None:
    await kernel.schedule(CHAT, At("in 1 hour"), Ask("First."), kind=JobKind.RECALL)
    clock.advance(hours=1)
    async with under_way(kernel, agent):
        await kernel.schedule(CHAT, At("in 1 hour"), Ask("Second."), kind=JobKind.RECALL)
    clock.advance(hours=1)
    await quiet(kernel)
    assert [asked.text for asked in agent.asked] == ["First.", "Second."]


async def test_after_a_recall_was_removed_the_next_may_be_set(kernel: Kernel) -> None:
    first = await kernel.schedule(CHAT, At("in 1 hour"), Ask("First."), kind=JobKind.RECALL)
    await kernel.jobs.delete(first.id)
    second = await kernel.schedule(CHAT, At("in 1 hour"), Ask("Second."), kind=JobKind.RECALL)
    assert [job.id for job in await kernel.jobs.list(CHAT, ended=True)] == [second.id]


async def test_a_paused_recall_cannot_be_resumed_beside_another(kernel: Kernel) -> None:
    first = await kernel.schedule(CHAT, At("in 1 hour"), Ask("First."), kind=JobKind.RECALL)
    paused = await kernel.jobs.pause(first.id)
    await kernel.schedule(CHAT, At("in 1 hour"), Ask("Second."), kind=JobKind.RECALL)
    with pytest.raises(Conflict, match="pending recall already"):
        await kernel.jobs.resume(first.id)
    assert await kernel.jobs.get(first.id) == paused
