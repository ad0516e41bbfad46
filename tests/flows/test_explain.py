"""Why a slot ran, waited, was skipped or missed, with the facts that decided it, and what comes next."""

from datetime import UTC, datetime, timedelta

import pytest

from segue import Ask, At, Busy, Cron, Every, Idle, Job, Kernel, Late, Owner, Policy, Settings
from segue.errors import AgentFailed, NotFound
from segue.testing import ManualClock, ScriptedAgent, quiet
from segue.times.clock import to_moment
from tests.flows.house import OpenKernel
from tests.flows.story import CHAT, slots, under_way

HOUR = timedelta(hours=1)
START = datetime(2026, 11, 16, 9, tzinfo=UTC)
TEN = "Mon 16 Nov 2026, 10:00 (UTC)"


async def hourly(kernel: Kernel, policy: Policy | None = None) -> Job:
    return await kernel.schedule(CHAT, Every(3600), Ask("Look."), name="look", policy=policy)


async def test_a_job_ahead_of_its_time_tells_the_next_five(kernel: Kernel) -> None:
    job = await hourly(kernel)
    told = await kernel.jobs.explain(job.id)
    assert (told.verdict, told.slot, told.run_id) == ("scheduled", None, None)
    assert [each.at for each in told.next] == [START + n * HOUR for n in range(1, 6)]
    assert told.sentences[:2] == ("It runs next on:", f"- {TEN}")


async def test_the_next_moments_end_where_the_job_does(kernel: Kernel) -> None:
    few = await hourly(kernel, Policy(max_runs=2))
    until = await hourly(kernel, Policy(until=START + 3 * HOUR))
    once = await kernel.schedule(CHAT, At(START + HOUR), Ask("Look."))
    silent = await kernel.schedule(CHAT, Idle(60), Ask("Look."))
    assert [len((await kernel.jobs.explain(job.id)).next) for job in (few, until, once, silent)] == [
        2,
        3,
        1,
        1,
    ]


async def test_a_run_that_ended_is_told_from_due_to_end(kernel: Kernel, clock: ManualClock) -> None:
    job = await hourly(kernel)
    clock.advance(hours=1)
    await quiet(kernel)
    told = await kernel.jobs.explain(job.id, slot=START + HOUR)
    assert (told.verdict, told.run_id) == ("ok", (await slots(kernel, job))[0].id)
    assert told.sentences[:2] == (f"'look' was due on {TEN}.", f"It ended as ok on {TEN}.")
    assert (await kernel.jobs.explain(job.id)).verdict == "scheduled"


async def test_a_run_that_failed_says_its_error(
    kernel: Kernel, clock: ManualClock, agent: ScriptedAgent
) -> None:
    job = await hourly(kernel)
    agent.script(AgentFailed("the provider said 401"))
    clock.advance(hours=1)
    await quiet(kernel)
    told = await kernel.jobs.explain(job.id, slot=START + HOUR)
    assert told.verdict == "error"
    assert "The error was: " in told.text
    assert "the provider said 401" in told.text


async def test_a_run_that_waits_names_the_turn_it_waits_for(
    kernel: Kernel, clock: ManualClock, agent: ScriptedAgent
) -> None:
    """Busy with turn X for 3 min, while it waits and when it has ended."""
    job = await hourly(kernel)
    clock.advance(minutes=58)
    admitted = await kernel.receive(CHAT, "Think long.")
    async with under_way(kernel, agent):
        clock.advance(minutes=2)
        await kernel.workers.timer.step()
        clock.advance(minutes=1)
        told = await kernel.jobs.explain(job.id)
        assert told.verdict == "queued"
        assert (
            f"It waits for 1 min now: its session is busy with a user's turn ({admitted.turn_id}) for 3 min."
            in told.sentences
        )
        assert (told.facts["busy_with"], told.facts["ahead"]) == (admitted.turn_id, 0)
    told = await kernel.jobs.explain(job.id, slot=START + HOUR)
    assert told.verdict == "ok"
    assert (
        f"It then waited 1 min, while its session was busy with a user's turn ({admitted.turn_id}, 3 min)."
        in told.sentences
    )
    assert told.facts["waited_ms"] == 60_000


async def test_a_run_in_a_free_session_waits_for_a_runner(
    open_kernel: OpenKernel, clock: ManualClock
) -> None:
    """The quota of runners."""
    kernel = await open_kernel(settings=Settings(runners=0))
    job = await hourly(kernel)
    clock.advance(hours=1)
    await kernel.workers.timer.step()
    told = await kernel.jobs.explain(job.id)
    assert told.verdict == "queued"
    assert "its session is free, but no worker has taken it up" in told.text
    assert (told.facts["at_work"], told.facts["runners"]) == (0, 0)


async def test_a_run_that_will_be_tried_again_says_when(
    kernel: Kernel, clock: ManualClock, agent: ScriptedAgent
) -> None:
    job = await hourly(kernel, Policy(retries=1))
    agent.script(AgentFailed("no"))
    clock.advance(hours=1)
    await quiet(kernel)
    told = await kernel.jobs.explain(job.id)
    assert (told.verdict, "an attempt failed, and the next is on" in told.text) == ("queued", True)


async def test_what_runs_is_told_with_its_attempt(
    kernel: Kernel, clock: ManualClock, agent: ScriptedAgent
) -> None:
    job = await hourly(kernel)
    clock.advance(hours=1)
    async with under_way(kernel, agent):
        clock.advance(minutes=2)
        told = await kernel.jobs.explain(job.id)
        assert (told.verdict, "It is running for 2 min now." in told.sentences) == ("running", True)


async def test_a_skipped_slot_says_why(kernel: Kernel, clock: ManualClock, agent: ScriptedAgent) -> None:
    job = await hourly(kernel, Policy(busy=Busy.SKIP))
    reason = "busy: the session was at work"
    clock.advance(minutes=59)
    await kernel.receive(CHAT, "Hello")
    async with under_way(kernel, agent):
        clock.advance(minutes=1)
        await kernel.workers.timer.step()
    told = await kernel.jobs.explain(job.id, slot=START + HOUR)
    assert (told.verdict, told.facts["reason"]) == ("skipped", reason)
    assert f"It was skipped on {TEN}: {reason}." in told.sentences


async def test_an_overlap_is_told(kernel: Kernel, clock: ManualClock, agent: ScriptedAgent) -> None:
    job = await hourly(kernel)
    clock.advance(hours=1)
    async with under_way(kernel, agent):
        for _ in range(2):
            clock.advance(hours=1)
            await kernel.workers.timer.step()
    told = await kernel.jobs.explain(job.id, slot=START + 3 * HOUR)
    assert (told.verdict, told.facts["reason"]) == ("skipped", "overlap: an earlier run is still waiting")


async def test_a_slot_that_was_late_beyond_its_grace_says_so(kernel: Kernel, clock: ManualClock) -> None:
    """One row stands for all of them, and each of them is explained by it."""
    job = await hourly(kernel, Policy(late=Late.SKIP))
    clock.advance(hours=5, minutes=30)
    await quiet(kernel)
    for hour in range(1, 6):
        told = await kernel.jobs.explain(job.id, slot=START + hour * HOUR)
        assert told.verdict == "missed", hour
        assert (
            "late: it came due 30 min ago, and late slots are skipped. It stands for 5 moments" in told.text
        )
    assert (await kernel.jobs.explain(job.id, slot=START + 6 * HOUR)).verdict == "scheduled"


async def test_a_postponed_slot_says_when_it_is_looked_at_again(
    kernel: Kernel, clock: ManualClock, agent: ScriptedAgent
) -> None:
    job = await hourly(kernel, Policy(busy=Busy.POSTPONE))
    clock.advance(minutes=59)
    await kernel.receive(CHAT, "Hello")
    async with under_way(kernel, agent):
        clock.advance(minutes=1)
        await kernel.workers.timer.step()
        told = await kernel.jobs.explain(job.id)
        listed = (await kernel.jobs.get(job.id)).state_reason
    assert told.verdict == "postponed"
    assert (
        f"It was due on {TEN} and was put off (busy: the session was at work): it looks again on "
        "Mon 16 Nov 2026, 10:01 (UTC)." in told.sentences
    )
    assert listed == told.facts["reason"] == "busy: the session was at work"
    clock.advance(minutes=1)
    await quiet(kernel)
    [run] = await slots(kernel, job)
    assert (run.outcome, run.reason) == ("ok", "put off: busy: the session was at work")
    told = await kernel.jobs.explain(job.id, slot=START + HOUR)
    assert (
        "Its moment was taken up 1 min late, because it was put off (busy: the session was at work)."
        in told.sentences
    )
    assert "It ended as ok on Mon 16 Nov 2026, 10:01 (UTC)." in told.sentences
    assert (await kernel.jobs.get(job.id)).state_reason is None


async def test_slots_that_passed_while_the_session_was_busy_say_so(
    kernel: Kernel, clock: ManualClock, agent: ScriptedAgent
) -> None:
    """A worker was there all the time: the row must not say that none was."""
    job = await kernel.schedule(CHAT, Every(60), Ask("Look."), policy=Policy(busy=Busy.POSTPONE))
    await kernel.receive(CHAT, "Hello")
    async with under_way(kernel, agent):
        for _ in range(3):
            clock.advance(minutes=1)
            await kernel.workers.timer.step()
        clock.advance(minutes=1)
    await quiet(kernel)
    passed, ran = await slots(kernel, job)
    why = "busy: the session was at work; 3 slots passed, and a later one ran instead"
    assert (passed.outcome, passed.reason, passed.missed_count) == ("missed", why, 3)
    assert (ran.outcome, ran.reason, ran.missed_count) == ("ok", None, 3)
    assert why in (await kernel.jobs.explain(job.id, slot=to_moment(passed.slot))).text


async def test_another_schedule_forgets_why_the_slot_was_put_off(
    kernel: Kernel, clock: ManualClock, agent: ScriptedAgent
) -> None:
    job = await hourly(kernel, Policy(busy=Busy.POSTPONE))
    await kernel.receive(CHAT, "Hello")
    async with under_way(kernel, agent):
        clock.advance(hours=1)
        await kernel.workers.timer.step()
        edited = await kernel.jobs.update(job.id, trigger=Every(7200))
        assert edited.state_reason is None


async def test_a_paused_job_says_who_paused_it_and_since_when(kernel: Kernel, clock: ManualClock) -> None:
    job = await hourly(kernel)
    await kernel.jobs.pause(job.id, reason="paused by the user")
    clock.advance(hours=2)
    told = await kernel.jobs.explain(job.id)
    assert (told.verdict, told.next) == ("paused", ())
    assert "The job is paused since Mon 16 Nov 2026, 09:00 (UTC): paused by the user." in told.text
    assert (await kernel.jobs.explain(job.id, slot=START + HOUR)).verdict == "paused"


async def test_a_job_that_no_worker_takes_asks_for_a_worker(kernel: Kernel, clock: ManualClock) -> None:
    job = await hourly(kernel)
    clock.advance(hours=1)
    told = await kernel.jobs.explain(job.id)
    assert (told.verdict, "no worker has looked yet" in told.text) == ("due", True)
    assert (await kernel.jobs.explain(job.id, slot=START + HOUR)).verdict == "due"


async def test_a_job_that_is_over_says_why(kernel: Kernel, clock: ManualClock) -> None:
    job = await kernel.schedule(CHAT, At(START + HOUR), Ask("Look."), name="look")
    clock.advance(hours=1)
    await quiet(kernel)
    told = await kernel.jobs.explain(job.id)
    assert (told.verdict, f"The job is over since {TEN}: ran once." in told.text) == ("ended", True)
    await kernel.jobs.delete(job.id)
    assert "its job was removed" in (await kernel.jobs.explain(job.id)).text


async def test_a_moment_that_is_none_of_the_jobs_is_told_apart(kernel: Kernel, clock: ManualClock) -> None:
    job = await hourly(kernel)
    clock.advance(hours=1)
    await quiet(kernel)
    cases = {
        START - HOUR: "On Mon 16 Nov 2026, 08:00 (UTC) the job was not there yet",
        START + HOUR / 2: "is no moment of this job, which runs every 1 h",
        START + 2 * HOUR: "has not come yet",
    }
    for slot, words in cases.items():
        assert words in (await kernel.jobs.explain(job.id, slot=slot)).text
    await kernel.jobs.pause(job.id)
    clock.advance(hours=1)
    await kernel.jobs.resume(job.id)
    assert "Nothing is recorded for" in (await kernel.jobs.explain(job.id, slot=START + 2 * HOUR)).text


@pytest.mark.parametrize(
    ("line", "zone", "day", "note"),
    [
        ("30 2 * * *", "Europe/Berlin", (2027, 3, 28), "jump over 02:30 that day, so it runs at 03:00"),
        ("30 2 * * *", "Europe/Berlin", (2027, 10, 31), "show 02:30 twice that day; it runs the first time"),
        ("30 * * * *", "Europe/Berlin", (2027, 10, 31), "show 02:30 twice that day, and it runs both times"),
        ("15 2 * * *", "Australia/Lord_Howe", (2027, 10, 3), "jump over 02:15 that day, so it runs at 02:30"),
        ("45 1 * * *", "Australia/Lord_Howe", (2027, 4, 4), "show 01:45 twice that day; it runs the first"),
    ],
)
async def test_what_a_change_of_the_clocks_does_to_a_slot_is_told(
    open_kernel: OpenKernel, line: str, zone: str, day: tuple[int, int, int], note: str
) -> None:
    """DST gap and fold, both hemispheres."""
    before = datetime(*day, 12, tzinfo=UTC) - timedelta(days=2)
    kernel = await open_kernel(clock=ManualClock(before))
    job = await kernel.schedule(CHAT, Cron(line, tz=zone), Ask("Look."))
    told: list[str] = []
    while not told:
        told = [each.note for each in (await kernel.jobs.explain(job.id)).next if each.note]
        await kernel.jobs.skip(job.id)
    assert note in told[0]


async def test_a_slot_of_an_earlier_schedule_is_not_blamed_on_the_clocks(
    kernel: Kernel, clock: ManualClock
) -> None:
    job = await hourly(kernel)
    clock.advance(hours=1)
    await quiet(kernel)
    await kernel.jobs.update(job.id, trigger=Cron("30 7 * * *", tz="Europe/Berlin"))
    told = await kernel.jobs.explain(job.id, slot=START + HOUR)
    assert not any("clocks" in sentence for sentence in told.sentences)


async def test_a_job_of_another_user_is_not_explained(kernel: Kernel) -> None:
    job = await kernel.schedule(CHAT, Every(60), Ask("Look."), owner=Owner("acme", "ann"))
    with pytest.raises(NotFound):
        await kernel.jobs.explain(job.id)
    assert (await kernel.jobs.explain(job.id, owner=Owner("acme", "ann"))).next[0].at == to_moment(
        job.slot or 0
    )
