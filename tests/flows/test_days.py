"""Working days of an account: jobs follow their set, also when it changes or a process is lost in between."""

import asyncio
from datetime import UTC, datetime, timedelta

import pytest

from segue import Ask, Cron, Job, Kernel, Owner, Policy
from segue.errors import BadDays, Conflict, DaysInUse, NotFound, UnknownDays
from segue.kernel.transactions import day_sets
from segue.kernel.transactions.day_sets import MOST_SETS
from segue.model.states import JobState
from segue.testing import ManualClock, quiet
from segue.times.clock import to_moment
from segue.times.days.ics import from_ics
from tests.eventually import eventually
from tests.flows.house import OpenKernel
from tests.flows.story import CHAT, log, outcomes

NINE = timedelta(hours=9)
MONDAY = datetime(2026, 11, 16, tzinfo=UTC)
"""The day on which every test begins, at nine."""


def off(*days: str) -> str:
    """A calendar file with these days of November 2026."""
    events = (f"BEGIN:VEVENT\nDTSTART;VALUE=DATE:202611{day}\nSUMMARY:Training\nEND:VEVENT\n" for day in days)
    return f"BEGIN:VCALENDAR\n{''.join(events)}END:VCALENDAR\n"


def slot(job: Job) -> datetime:
    assert job.slot is not None
    return to_moment(job.slot)


def day(number: int) -> datetime:
    """Nine o'clock of a day in November 2026."""
    return MONDAY.replace(day=number) + NINE


async def daily(kernel: Kernel, days: str = "school", policy: Policy | None = None) -> Job:
    trigger = Cron("0 9 * * *", tz="UTC", days=days)
    return await kernel.schedule(CHAT, trigger, Ask("Look."), name="look", policy=policy)


async def test_a_job_counts_the_working_days_of_its_account(kernel: Kernel, clock: ManualClock) -> None:
    await kernel.days.add("school", off("17", "18"))
    job = await daily(kernel)
    assert slot(job) == day(19)
    clock.advance(days=3)
    await quiet(kernel)
    assert await outcomes(kernel, job) == ["ok"]
    assert slot(await kernel.jobs.get(job.id)) == day(20)
    told = await kernel.jobs.explain(job.id, slot=day(17))
    assert "17 Nov 2026 is a holiday in school: Training" in told.text


async def test_a_changed_set_moves_the_next_slot_and_explain_says_when(
    kernel: Kernel, clock: ManualClock
) -> None:
    await kernel.days.add("school", off("17"))
    job = await daily(kernel)
    clock.advance(minutes=1)
    before = (await log(kernel)).count("automation_update")
    await kernel.days.add("school", off("18", "19"))
    assert slot(await kernel.jobs.get(job.id)) == day(17)
    told = await kernel.jobs.explain(job.id)
    assert "Its day set school was last changed on Mon 16 Nov 2026, 09:01 (UTC)." in told.sentences
    assert [each.at for each in told.next][:2] == [day(17), day(20)]
    assert (await log(kernel)).count("automation_update") == before + 1


async def test_the_same_days_again_change_nothing(kernel: Kernel) -> None:
    await kernel.days.add("school", off("17"))
    job = await daily(kernel)
    await kernel.days.add("school", off("17"))
    assert (await kernel.jobs.get(job.id)).revision == job.revision


async def test_another_process_runs_a_job_by_the_changed_set(
    open_kernel: OpenKernel, clock: ManualClock
) -> None:
    changing, working = await open_kernel(), await open_kernel()
    await changing.days.add("school", off("17"))
    job = await daily(changing)
    await quiet(working)
    await changing.days.add("school", off("18", "19"))
    clock.advance(days=4)
    await quiet(working)
    runs = await working.runs.list(job=job.id)
    assert sorted(to_moment(run.slot) for run in runs) == [day(17), day(20)]


async def test_a_process_that_is_lost_between_the_set_and_its_jobs_leaves_the_rest_to_another(
    kernel: Kernel, clock: ManualClock
) -> None:
    await kernel.days.add("school", off("17"))
    jobs = [await daily(kernel) for _ in range(3)]
    changed = from_ics("school", off("18"), today=clock.now().date())
    await kernel.store.commit(day_sets.put, "default", changed, clock.ms())
    assert slot(await kernel.jobs.get(jobs[0].id)) == day(18)
    assert await kernel.workers.day_mover.step() == 3
    assert [slot(await kernel.jobs.get(job.id)) for job in jobs] == [day(17)] * 3
    assert await kernel.workers.day_mover.step() == 0


async def test_a_running_process_finds_the_jobs_that_were_left_behind(
    kernel: Kernel, clock: ManualClock
) -> None:
    await kernel.days.add("school", off("17"))
    job = await daily(kernel)
    changed = from_ics("school", off("18"), today=clock.now().date())
    await kernel.store.commit(day_sets.put, "default", changed, clock.ms())

    async def is_moved() -> bool:
        return slot(await kernel.jobs.get(job.id)) == day(17)

    assert not await is_moved()
    running = asyncio.create_task(kernel.run())
    await eventually(is_moved, "the job follows its set")
    running.cancel()
    await asyncio.wait([running])


async def test_a_slot_that_is_due_runs_though_its_day_is_off_since(
    kernel: Kernel, clock: ManualClock
) -> None:
    await kernel.days.add("school", off("20"))
    job = await daily(kernel)
    clock.advance(days=1)
    await kernel.days.add("school", off("17", "18", "20"))
    await quiet(kernel)
    assert [to_moment(run.slot) for run in await kernel.runs.list(job=job.id)] == [day(17)]
    assert slot(await kernel.jobs.get(job.id)) == day(19)


async def test_a_slot_that_was_skipped_does_not_come_back_with_a_changed_set(kernel: Kernel) -> None:
    await kernel.days.add("school", off("20"))
    job = await daily(kernel)
    await kernel.jobs.skip(job.id)
    await kernel.days.add("school", off("19"))
    assert slot(await kernel.jobs.get(job.id)) == day(18)


async def test_a_paused_job_goes_on_with_the_changed_set(kernel: Kernel) -> None:
    await kernel.days.add("school", off("20"))
    job = await daily(kernel)
    await kernel.jobs.pause(job.id)
    await kernel.days.add("school", off("17"))
    assert slot(await kernel.jobs.resume(job.id)) == day(18)


async def test_a_job_whose_end_comes_before_its_next_working_day_is_paused(kernel: Kernel) -> None:
    await kernel.days.add("school", off("20"))
    job = await daily(kernel, policy=Policy(until=day(17)))
    await kernel.days.add("school", off("17"))
    paused = await kernel.jobs.get(job.id)
    assert paused.state is JobState.PAUSED
    assert "until" in (paused.state_reason or "")


async def test_a_set_in_use_is_not_deleted_and_names_its_jobs(kernel: Kernel) -> None:
    await kernel.days.add("school", off("20"))
    job = await daily(kernel)
    with pytest.raises(DaysInUse, match="school is used by 'look'") as refused:
        await kernel.days.delete("school")
    assert refused.value.jobs == [job.id]
    await kernel.jobs.update(job.id, trigger=Cron("0 9 * * *", tz="UTC"))
    await kernel.days.delete("school")
    with pytest.raises(NotFound, match="no day set school"):
        await kernel.days.delete("school")


async def test_a_deleted_job_and_a_deleted_session_use_no_set(kernel: Kernel) -> None:
    await kernel.days.add("school", off("20"))
    await kernel.jobs.delete((await daily(kernel)).id)
    await daily(kernel)
    await kernel.sessions.delete(CHAT, with_jobs=True)
    await kernel.days.delete("school")


async def test_a_set_belongs_to_its_account(kernel: Kernel) -> None:
    other = Owner("other", "anna")
    await kernel.days.add("school", off("17"), owner=other)
    assert "school" not in [each.name for each in await kernel.days.list()]
    assert [each.name for each in await kernel.days.list(owner=other)][-1] == "school"
    with pytest.raises(UnknownDays, match="known are CN, DE"):
        await daily(kernel)
    with pytest.raises(NotFound):
        await kernel.days.get("school")
    with pytest.raises(NotFound):
        await kernel.days.delete("school")


async def test_an_unknown_set_is_refused_with_the_nearest_of_the_account(kernel: Kernel) -> None:
    await kernel.days.add("School", off("17"))
    with pytest.raises(UnknownDays, match=r"did you mean School.*known are CN, .*, School"):
        await daily(kernel, "scholl")
    job = await daily(kernel, "CN")
    with pytest.raises(UnknownDays, match="did you mean DE"):
        await kernel.jobs.update(job.id, trigger=Cron("0 9 * * *", tz="UTC", days="DEU"))


async def test_a_shipped_set_is_neither_replaced_nor_deleted(kernel: Kernel) -> None:
    with pytest.raises(BadDays, match="CN comes with Segue"):
        await kernel.days.add("cn", off("17"))
    with pytest.raises(Conflict, match="cannot be deleted"):
        await kernel.days.delete("CN")
    assert (await kernel.days.get("CN")).known_until.year == 2026


async def test_an_account_has_a_limited_number_of_sets(kernel: Kernel) -> None:
    for number in range(MOST_SETS):
        await kernel.days.add(f"set-{number}", off("17"))
    with pytest.raises(BadDays, match="at most 100"):
        await kernel.days.add("one-more", off("17"))
    await kernel.days.add("set-1", off("18"))


async def test_a_session_has_a_set_for_its_words_until_it_is_cleared(kernel: Kernel) -> None:
    session = (await kernel.sessions.open(CHAT)).session
    assert await kernel.days.of_session(session) is None
    await kernel.sessions.update(CHAT, days="CN")
    assert await kernel.days.of_session(session) == "CN"
    assert (await kernel.sessions.overview(CHAT)).days == "CN"
    await kernel.sessions.update(CHAT, title="Work")
    assert await kernel.days.of_session(session) == "CN"
    await kernel.sessions.update(CHAT, days=None)
    assert (await kernel.sessions.overview(CHAT)).days is None


async def test_a_session_takes_no_unknown_set_and_keeps_the_one_that_it_has(kernel: Kernel) -> None:
    await kernel.sessions.open(CHAT)
    await kernel.days.add("school", off("17"))
    await kernel.sessions.update(CHAT, days="school")
    with pytest.raises(UnknownDays, match="did you mean school"):
        await kernel.sessions.update(CHAT, days="shool", title="Lost")
    assert (await kernel.sessions.get(CHAT)).title is None
    with pytest.raises(DaysInUse, match=f"is that of {CHAT}"):
        await kernel.days.delete("school")
    await kernel.sessions.delete(CHAT)
    await kernel.days.delete("school")


async def notices(kernel: Kernel) -> list[str]:
    await kernel.workers.day_notices.step()
    await quiet(kernel)
    return [each.content for each in await kernel.log.messages(CHAT) if "calendar" in each.content]


@pytest.mark.parametrize("days", ["CN", "school"])
async def test_a_session_is_told_once_that_the_calendar_of_its_jobs_ends_and_that_it_has_ended(
    kernel: Kernel, clock: ManualClock, days: str
) -> None:
    await kernel.days.add("school", off("17"))
    jobs = [await daily(kernel, days) for _ in range(2)]
    for job in jobs:
        await kernel.jobs.update(job.id, trigger=Cron("0 9 1 6 *", tz="UTC", days=days))
    clock.advance(days=15)
    assert await notices(kernel) == []
    clock.advance(days=1)
    (soon,) = await notices(kernel)
    assert f"The calendar {days} ends on 31 Dec 2026." in soon
    clock.advance(days=20)
    assert await notices(kernel) == [soon]
    clock.advance(days=10)
    assert (await notices(kernel))[1].startswith(f"The calendar {days} ended on 31 Dec 2026.")
    assert len(await notices(kernel)) == 2


async def test_a_session_without_an_active_job_of_the_calendar_is_not_told(
    kernel: Kernel, clock: ManualClock
) -> None:
    paused, changed = await daily(kernel, "CN"), await daily(kernel, "CN")
    await kernel.jobs.pause(paused.id)
    await kernel.jobs.update(changed.id, trigger=Cron("0 9 1 6 *", tz="UTC"))
    clock.advance(days=40)
    assert await notices(kernel) == []
