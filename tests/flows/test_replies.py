"""Replies to a job's message: a word acts at once, without a model, on the job that was quoted."""

from datetime import timedelta

import pytest

from segue import Ask, At, Cron, Every, Idle, Kernel, Owner, Policy, Say, Settings
from segue.errors import UnknownMessage
from segue.kernel.transactions.idempotency import Request
from segue.kernel.transactions.lane import QueuedTurn
from segue.kernel.transactions.replies import Acted, Quoted
from segue.kernel.transactions.result import Name
from segue.model.action import Action
from segue.model.channel import Arrival
from segue.model.records import Job, message_id
from segue.testing import ManualClock, RecordingChannel, ScriptedAgent, quiet
from segue.times.trigger import Trigger
from tests.flows.house import OpenKernel
from tests.flows.recording_store import RecordingStore
from tests.flows.story import CHAT, outcomes, said, slots, under_way

PHONE = "test:1"
MORNING = Cron("0 10 * * *", tz="UTC")


async def spoken(
    kernel: Kernel,
    clock: ManualClock,
    *,
    key: str = CHAT,
    name: str = "morning report",
    trigger: Trigger = MORNING,
    action: Action | None = None,
) -> Job:
    """A job that has just said something: it is 10:00 then."""
    job = await kernel.schedule(key, trigger, action or Ask("Report."), name=name)
    assert job.slot is not None
    clock.advance(timedelta(milliseconds=job.slot - clock.ms()))
    await quiet(kernel)
    return await kernel.jobs.get(job.id)


async def newest_id(kernel: Kernel, key: str = CHAT) -> str:
    """The id of the newest message."""
    session = await kernel.sessions.get(key)
    return message_id(session.id, (await kernel.messages(key, limit=1000))[-1].seq)


async def reply(kernel: Kernel, text: str, key: str = CHAT, **options: object) -> Acted:
    done = await kernel.replies.take(key, text, **options)  # type: ignore[arg-type]
    assert isinstance(done, Acted)
    return done


async def test_stop_pauses_the_job_and_go_on_resumes_it_without_asking_the_agent(
    kernel: Kernel, clock: ManualClock, agent: ScriptedAgent
) -> None:
    job = await spoken(kernel, clock)
    asked = len(agent.asked)
    done = await reply(kernel, "Stop!", reply_to=await newest_id(kernel))
    assert done == Acted(
        session_id=job.session_id,
        action="stop",
        job_id=job.id,
        line="Paused: morning report. Say ‘go on’ to resume.",
        undo="go on",
    )
    paused = await kernel.jobs.get(job.id)
    assert (paused.state, paused.state_reason) == ("paused", "stopped by the reply ‘Stop!’")
    assert (await said(kernel))[-2:] == [("user", "Stop!"), ("assistant", done.line)]
    source = (await kernel.messages(CHAT, limit=1000))[-1].source
    assert source is not None
    assert (source.job_id, source.label) == (job.id, "morning report")
    assert (await reply(kernel, "go on")).line == "Resumed: morning report. It runs next tomorrow at 10:00."
    assert (await kernel.jobs.get(job.id)).state == "active"
    await quiet(kernel)
    assert len(agent.asked) == asked


async def test_a_word_that_gives_an_idle_job_its_deadline_wakes_the_timer(
    kernel: Kernel, clock: ManualClock
) -> None:
    """No other event would: nothing else was due."""
    await spoken(kernel, clock)
    await kernel.schedule(CHAT, Idle(60), Ask("Sum up."), name="summary")
    await kernel.receive(CHAT, "Thanks.")
    await quiet(kernel)
    clock.advance(minutes=1)
    await quiet(kernel)
    await kernel.bell.wait(Name.TIMER, clock.ms())  # forgets earlier rings
    await reply(kernel, "why?", reply_to=await newest_id(kernel))
    assert kernel.bell.is_rung(Name.TIMER)
    clock.advance(minutes=1)
    await quiet(kernel)
    assert (await said(kernel))[-1] == ("assistant", "ok")


async def test_stop_while_the_turn_of_that_job_runs_stops_the_turn(
    kernel: Kernel, clock: ManualClock, agent: ScriptedAgent
) -> None:
    job = await spoken(kernel, clock)
    quoted = await newest_id(kernel)
    clock.advance(days=1)
    async with under_way(kernel, agent):
        turn = await kernel.turns.running(CHAT)
        assert turn is not None
        await reply(kernel, "stop", reply_to=quoted)
        await kernel.workers.keeper.step()
    assert await outcomes(kernel, job) == ["ok", "stopped"]


async def test_a_snooze_is_one_extra_run_and_the_rhythm_stays(kernel: Kernel, clock: ManualClock) -> None:
    job = await spoken(kernel, clock)
    assert (await reply(kernel, "snooze 1h")).line == "Snoozed: morning report runs once more today at 11:00."
    clock.advance(minutes=30)
    done = await reply(kernel, "snooze 2h", reply_to=await newest_id(kernel))
    assert done.line == "Snoozed: morning report runs once more today at 12:30."
    clock.advance(minutes=45)
    await quiet(kernel)
    assert await outcomes(kernel, job) == ["ok"], "the second snooze replaced the first"
    clock.advance(hours=24)
    await quiet(kernel)
    times = [(run.slot - job.created_at) // 60_000 for run in await slots(kernel, job)]
    assert times == [60, 60 + 150, 60 + 24 * 60]
    after = await kernel.jobs.get(job.id)
    assert (after.snoozed_to, after.run_count) == (None, 2)


async def test_a_one_shot_that_is_over_can_be_snoozed_and_is_over_again(
    kernel: Kernel, clock: ManualClock
) -> None:
    job = await spoken(kernel, clock, trigger=At(clock.now() + timedelta(hours=1)))
    assert job.state == "ended"
    await reply(kernel, "later")
    assert (await kernel.jobs.get(job.id)).state == "active"
    clock.advance(hours=1)
    await quiet(kernel)
    assert await outcomes(kernel, job) == ["ok", "ok"]
    assert (await kernel.jobs.get(job.id)).state == "ended"


async def test_a_paused_job_drops_its_snooze(kernel: Kernel, clock: ManualClock) -> None:
    job = await spoken(kernel, clock)
    await reply(kernel, "snooze")
    await kernel.jobs.pause(job.id)
    await kernel.jobs.resume(job.id)
    clock.advance(hours=2)
    await quiet(kernel)
    assert await outcomes(kernel, job) == ["ok"]


async def test_an_edit_and_a_skip_keep_the_snooze(kernel: Kernel, clock: ManualClock) -> None:
    job = await spoken(kernel, clock, trigger=Every(1800))
    await reply(kernel, "snooze 10 minutes")
    await kernel.jobs.update(job.id, name="other")
    await kernel.jobs.skip(job.id)
    clock.advance(minutes=31)
    await quiet(kernel)
    assert await outcomes(kernel, job) == ["ok", "ok", "skipped"]


async def test_skip_skips_the_next_slot_only(kernel: Kernel, clock: ManualClock) -> None:
    job = await spoken(kernel, clock)
    done = await reply(kernel, "skip the next one")
    assert done.line == "Skipped: morning report, tomorrow at 10:00. It runs next on Wed 18 Nov at 10:00."
    clock.advance(days=2)
    await quiet(kernel)
    assert await outcomes(kernel, job) == ["ok", "skipped", "ok"]


async def test_a_skip_survives_stop_and_go_on_and_a_new_time(kernel: Kernel, clock: ManualClock) -> None:
    job = await spoken(kernel, clock)
    await reply(kernel, "skip")
    skipped = await kernel.jobs.get(job.id)
    await reply(kernel, "stop", reply_to=await newest_id(kernel))
    await reply(kernel, "go on", reply_to=await newest_id(kernel))
    assert (await kernel.jobs.get(job.id)).slot == skipped.slot
    await reply(kernel, "make it 8", reply_to=await newest_id(kernel))
    assert (await kernel.jobs.get(job.id)).slot == (skipped.slot or 0) - 2 * 3_600_000


async def test_make_it_8_moves_the_time_of_day_and_keeps_the_days(kernel: Kernel, clock: ManualClock) -> None:
    job = await spoken(kernel, clock, trigger=Cron("0 10 * * 1-5", tz="Europe/Berlin"))
    done = await reply(kernel, "make it 8:30")
    assert (await kernel.jobs.get(job.id)).trigger == Cron("30 8 * * 1-5", tz="Europe/Berlin")
    assert done.line.endswith("It runs next tomorrow at 08:30.")
    assert done.undo == "make it 10"
    await reply(kernel, done.undo)
    assert (await kernel.jobs.get(job.id)).trigger == job.trigger


async def test_a_new_schedule_is_read_by_the_time_reader(kernel: Kernel, clock: ManualClock) -> None:
    job = await spoken(kernel, clock)
    await reply(kernel, "alle zwei Stunden")
    changed = (await kernel.jobs.get(job.id)).trigger
    assert isinstance(changed, Every)
    assert changed.interval == timedelta(hours=2)
    clock.advance(hours=4)
    await quiet(kernel)
    assert await outcomes(kernel, job) == ["ok", "missed", "ok"]
    assert (await reply(kernel, "why?")).job_id == job.id


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("make it 8", "It runs at 10 and 17. Say which: ‘make 10 8’."),
        ("make 9 8", "It does not run at 9, but at 10, 17."),
        ("make 10 8:30", "One schedule cannot run at 08:30, 17. Choose times with the same minutes."),
        ("snooze 0", "A snooze takes from 1 minute to 30 days, such as ‘snooze 30m’."),
        ("snooze 2 years", "A snooze takes from 1 minute to 30 days, such as ‘snooze 30m’."),
    ],
)
async def test_a_control_that_cannot_be_done_is_refused_in_a_sentence(
    kernel: Kernel, clock: ManualClock, text: str, line: str
) -> None:
    job = await spoken(kernel, clock, trigger=Cron("0 10,17 * * *", tz="UTC"))
    done = await reply(kernel, text)
    assert (done.line, done.undo) == (line, None)
    assert await kernel.jobs.get(job.id) == job


async def test_one_of_several_times_is_moved(kernel: Kernel, clock: ManualClock) -> None:
    job = await spoken(kernel, clock, trigger=Cron("0 10,17 * * *", tz="UTC"))
    done = await reply(kernel, "make 17 18")
    assert (await kernel.jobs.get(job.id)).trigger == Cron("0 10,18 * * *", tz="UTC")
    assert done.undo == "make 18 17"


async def test_a_job_that_is_gone_or_protected_is_not_changed(
    kernel: Kernel, clock: ManualClock, agent: ScriptedAgent
) -> None:
    job = await spoken(kernel, clock)
    quoted = await newest_id(kernel)
    await kernel.jobs.delete(job.id)
    assert (await reply(kernel, "stop", reply_to=quoted)).line == "That job is over."
    clock.advance(hours=1)
    system = await kernel.jobs.add("web:2", MORNING, Ask("Check."), protected=True, name="heartbeat")
    clock.advance(days=1)
    await quiet(kernel)
    done = await reply(kernel, "stop", "web:2", reply_to=await newest_id(kernel, "web:2"))
    assert done.line == "‘heartbeat’ belongs to the system, so a reply cannot change it."
    assert (await kernel.jobs.get(system.id)).state == "active"


async def test_why_says_what_explain_says(kernel: Kernel, clock: ManualClock) -> None:
    job = await spoken(kernel, clock)
    told = (await kernel.jobs.explain(job.id)).text
    assert (await reply(kernel, "why?")).line == told


async def test_explain_says_what_a_reply_did(kernel: Kernel, clock: ManualClock) -> None:
    job = await spoken(kernel, clock)
    await reply(kernel, "snooze 1h")
    told = (await kernel.jobs.explain(job.id)).text
    assert "a user answered ‘snooze 1h’, and one extra run was scheduled, beside its schedule." in told
    assert "It is snoozed: the extra run is on Mon 16 Nov 2026, 11:00 (UTC)." in told
    await reply(kernel, "done")
    assert "a user answered ‘done’, and it was marked as done." in (await kernel.jobs.explain(job.id)).text


async def test_done_is_stored_with_the_job_and_ends_a_snooze(kernel: Kernel, clock: ManualClock) -> None:
    job = await spoken(kernel, clock)
    await reply(kernel, "snooze")
    assert (await reply(kernel, "Done!")).line == "Done: morning report."
    done = await kernel.jobs.get(job.id)
    assert done.replied is not None
    assert (done.replied.done_at, done.snoozed_to, done.next_at) == (clock.ms(), None, job.next_at)


async def test_words_that_are_no_control_are_a_turn_whose_agent_knows_the_job(
    kernel: Kernel, clock: ManualClock, agent: ScriptedAgent
) -> None:
    job = await spoken(kernel, clock)
    run = (await slots(kernel, job))[0]
    taken = await kernel.replies.take(CHAT, "make it shorter")
    assert isinstance(taken, QueuedTurn)
    await quiet(kernel)
    turn = agent.asked[-1].turn
    assert turn.text == "make it shorter"
    assert turn.prompt == (
        f"(This answers the job ‘morning report’: job_id {job.id}, run_id {run.id}.)\n\nmake it shorter"
    )
    assert ("user", "make it shorter") in await said(kernel)


async def test_go_on_to_a_job_that_is_not_paused_is_left_to_the_agent(
    kernel: Kernel, clock: ManualClock
) -> None:
    await spoken(kernel, clock)
    assert isinstance(await kernel.replies.take(CHAT, "go on"), QueuedTurn)


async def test_receive_always_makes_a_turn(kernel: Kernel, clock: ManualClock, agent: ScriptedAgent) -> None:
    job = await spoken(kernel, clock)
    queued = await kernel.receive(CHAT, "stop", reply_to=await newest_id(kernel))
    await quiet(kernel)
    assert (await kernel.turns.get(queued.turn_id)).state == "done"
    assert f"job_id {job.id}" in agent.asked[-1].turn.prompt
    assert (await kernel.jobs.get(job.id)).state == "active"


async def test_after_ten_minutes_or_another_message_only_a_quote_is_a_reply(
    kernel: Kernel, clock: ManualClock
) -> None:
    await spoken(kernel, clock)
    quoted = await newest_id(kernel)
    clock.advance(minutes=10)
    assert isinstance(await kernel.replies.take(CHAT, "stop"), QueuedTurn)
    await quiet(kernel)
    assert isinstance(await kernel.replies.take(CHAT, "stop"), QueuedTurn), "the agent spoke last"
    assert (await reply(kernel, "stop", reply_to=quoted)).action == "stop"


async def test_in_a_group_only_a_quote_is_a_reply(kernel: Kernel, clock: ManualClock) -> None:
    await kernel.sessions.open("web:group", chat_type="group")
    await spoken(kernel, clock, key="web:group")
    quoted = await newest_id(kernel, "web:group")
    assert isinstance(await kernel.replies.take("web:group", "stop"), QueuedTurn)
    assert (await reply(kernel, "stop", "web:group", reply_to=quoted)).action == "stop"


async def test_two_jobs_that_spoke_make_a_question_and_nothing_is_done(
    kernel: Kernel, clock: ManualClock
) -> None:
    one = await kernel.schedule(CHAT, MORNING, Ask("Report."), name="report")
    other = await kernel.schedule(CHAT, MORNING, Ask("Plants."), name="plants")
    clock.advance(hours=1)
    await quiet(kernel)
    done = await reply(kernel, "stop")
    assert (done.action, done.job_id) == ("which", None)
    assert "‘report’" in done.line
    assert "‘plants’" in done.line
    states = [(await kernel.jobs.get(job.id)).state for job in (one, other)]
    assert states == ["active", "active"]


async def test_an_answer_to_a_written_message_is_left_to_the_agent(
    kernel: Kernel, clock: ManualClock
) -> None:
    await spoken(kernel, clock, key=PHONE, trigger=At(clock.now() + timedelta(hours=1)), action=Say("Drink."))
    taken = await kernel.replies.take(PHONE, "done")
    assert isinstance(taken, QueuedTurn)


async def test_an_unknown_message_is_refused(kernel: Kernel, clock: ManualClock) -> None:
    await spoken(kernel, clock)
    await kernel.receive("web:2", "Hello")
    await quiet(kernel)
    elsewhere = await newest_id(kernel, "web:2")
    for unknown in ("", "x", "x-1", elsewhere, f"{elsewhere}fffff", "é-1"):
        with pytest.raises(UnknownMessage, match="take the id from the list"):
            await kernel.replies.take(CHAT, "stop", reply_to=unknown)


async def test_the_same_message_twice_acts_once(kernel: Kernel, clock: ManualClock) -> None:
    job = await spoken(kernel, clock)
    request = Request(owner=Owner(), name="update 7", digest="x")
    first = await reply(kernel, "skip", request=request)
    second = await reply(kernel, "skip", request=request)
    assert first == second
    clock.advance(days=2)
    await quiet(kernel)
    assert await outcomes(kernel, job) == ["ok", "skipped", "ok"]


async def test_a_quote_on_a_network_acts_on_its_job_and_the_line_is_sent_once(
    kernel: Kernel, clock: ManualClock, channel: RecordingChannel
) -> None:
    job = await spoken(kernel, clock, key=PHONE)
    other = await spoken(kernel, clock, key=PHONE, name="plants", trigger=Cron("5 10 * * *", tz="UTC"))
    session = await kernel.sessions.get(PHONE)
    [first, _] = channel.sent
    arrival = Arrival(chat_id="1", text="stop", id="u1", reply_to=f"test-{first.id}")
    await kernel.guests.receive("test", arrival, user=session.owner.user)
    await kernel.guests.receive("test", arrival, user=session.owner.user)
    await quiet(kernel)
    assert (await kernel.jobs.get(job.id)).state == "paused"
    assert (await kernel.jobs.get(other.id)).state == "active"
    assert channel.texts[2:] == ["Paused: morning report. Say ‘go on’ to resume."]
    assert (await said(kernel, PHONE))[-2:] == [("user", "stop"), ("assistant", channel.texts[2])]
    line = channel.sent[-1]
    again = await reply(kernel, "go on", PHONE, reply_to=Quoted(f"test-{line.id}", "test"))
    assert again.job_id == job.id, "the line itself can be answered"


async def test_an_anchor_that_was_pruned_makes_an_ordinary_turn_and_a_tap_says_so(
    kernel: Kernel, clock: ManualClock, channel: RecordingChannel
) -> None:
    await spoken(kernel, clock, key=PHONE)
    session = await kernel.sessions.get(PHONE)
    quoted = f"test-{channel.sent[0].id}"
    clock.advance(days=kernel.settings.retention_days + 1)
    await quiet(kernel)
    assert await kernel.workers.pruner.step() > 0
    assert isinstance(await kernel.replies.take(PHONE, "stop", reply_to=Quoted(quoted, "test")), QueuedTurn)
    tap = Arrival(chat_id="1", text="Stop", id="u2", reply_to=quoted, tapped=True)
    told = await kernel.guests.receive("test", tap, user=session.owner.user)
    assert told == "This button is too old: its job is not known any more."


async def test_a_message_that_answers_no_job_costs_no_further_statement(
    recording_store: RecordingStore, clock: ManualClock
) -> None:
    async with Kernel(recording_store, agent=ScriptedAgent(), clock=clock) as kernel:
        for text in ("Hello", "stop"):
            await kernel.receive(CHAT, text)
            received = recording_store.commits[-1]
            await quiet(kernel)
            await kernel.replies.take(CHAT, text)
            taken = recording_store.commits[-1]
            await quiet(kernel)
        assert taken == received
        await spoken(kernel, clock)
        clock.advance(minutes=10)
        await kernel.replies.take(CHAT, "stop")
        assert recording_store.commits[-1] == received, "the job spoke too long ago"


async def test_in_unified_mode_a_word_acts_on_the_job_that_spoke_in_that_chat(
    open_kernel: OpenKernel, clock: ManualClock
) -> None:
    kernel = await open_kernel(settings=Settings(unified_session=True))
    job = await spoken(kernel, clock)
    done = await reply(kernel, "stop")
    assert done.job_id == job.id
    assert (await kernel.jobs.get(job.id)).state == "paused"
    assert (await said(kernel))[-1] == ("assistant", done.line)
    assert (await said(kernel, "unified:default"))[-2:] == [("user", "stop"), ("assistant", done.line)]


async def test_a_snooze_for_which_the_budget_has_no_room_is_over(kernel: Kernel, clock: ManualClock) -> None:
    once_a_day = Policy.from_json({"budget": {"runs": 1, "per": "day"}})
    job = await kernel.schedule(CHAT, MORNING, Ask("Report."), name="report", policy=once_a_day)
    assert job.slot is not None
    clock.advance(timedelta(milliseconds=job.slot - clock.ms()))
    await quiet(kernel)
    await reply(kernel, "snooze 1h")
    clock.advance(hours=1)
    await quiet(kernel)
    assert await outcomes(kernel, job) == ["ok", "skipped"]
    left = await kernel.jobs.get(job.id)
    assert (left.snoozed_to, left.next_at) == (None, left.slot)
