"""Digests and held answers: what waits is sent as one message, in order, and each answer once."""

from datetime import timedelta
from typing import Any

from segue import Ask, At, Cron, Job, Kernel, Policy, Rejected, Settings
from segue.errors import AgentFailed
from segue.model.records import Delivery
from segue.testing import ManualClock, RecordingChannel, ScriptedAgent, quiet
from tests.flows.house import OpenKernel
from tests.flows.recording_store import RecordingStore
from tests.flows.story import CHAT, said, slots, under_way

PHONE = "test:42"
NIGHT = {"from": "22:00", "to": "07:00"}
AT_18 = {"at": "18:00"}
HOLDING = {
    "deliveries.carried",
    "deliveries.collecting",
    "deliveries.fill",
    "deliveries.open_for",
    "jobs.look_after_quiet",
    "sessions.count_held",
}


async def hours_later(kernel: Kernel, clock: ManualClock, hours: float) -> None:
    clock.advance(hours=hours)
    await quiet(kernel)


async def report(kernel: Kernel, cron: str, name: str, key: str = PHONE, **policy: Any) -> Job:
    policy = {"tell": "digest", **policy}
    trigger = Cron(cron, tz="UTC")
    return await kernel.schedule(
        key, trigger, Ask(f"Say {name}."), name=name, policy=Policy.from_json(policy)
    )


async def open_phone(kernel: Kernel, **fields: Any) -> None:
    await kernel.sessions.open(PHONE)
    await kernel.sessions.update(PHONE, **fields)


async def held(kernel: Kernel, key: str = PHONE) -> int:
    return (await kernel.sessions.get(key)).held


async def deliveries(kernel: Kernel) -> list[Delivery]:
    """Those of the phone, oldest first."""
    return (await kernel.log.deliveries(PHONE, limit=100))[::-1]


async def test_twenty_jobs_become_one_message_with_a_heading_each_by_slot(
    kernel: Kernel, clock: ManualClock, channel: RecordingChannel
) -> None:
    await open_phone(kernel, digest=AT_18)
    names = [f"Job {number:02}" for number in range(20)]
    for number, name in enumerate(names):
        await report(kernel, f"{40 - 2 * number} 10 * * *", name)
    for _ in range(8):
        clock.advance(minutes=15)
        await quiet(kernel)
    assert (channel.sent, await held(kernel)) == ([], 20)
    assert len([role for role, _ in await said(kernel, PHONE) if role == "assistant"]) == 20, "all are shown"
    await hours_later(kernel, clock, 7)
    [message] = channel.texts
    headings = [line.strip("*") for line in message.splitlines() if line.startswith("**")]
    assert headings == names[::-1], "by slot"
    assert await held(kernel) == 0
    *answers, carrier = sorted(await deliveries(kernel), key=lambda each: each.joins is None)
    assert {answer.joins for answer in answers} == {carrier.id}
    assert {str(each.state) for each in (*answers, carrier)} == {"sent"}


async def test_an_answer_that_waits_says_until_when_and_the_queue_says_how_many(
    kernel: Kernel, clock: ManualClock, channel: RecordingChannel
) -> None:
    await open_phone(kernel, digest=AT_18)
    await report(kernel, "0 10 * * *", "Ten")
    six = clock.ms() + 9 * 3_600_000
    await hours_later(kernel, clock, 1)
    assert (await kernel.messages(PHONE))[-1].held_until == six
    counts = [event.body["held"] for event in await kernel.log.events(PHONE) if event.type == "queue_update"]
    assert counts == [1]
    await hours_later(kernel, clock, 8)
    answer = (await kernel.messages(PHONE))[-1]
    assert (answer.held_until, answer.delivery) == (None, "sent")
    counts = [event.body["held"] for event in await kernel.log.events(PHONE) if event.type == "queue_update"]
    assert counts == [1, 0]


async def test_a_single_answer_is_sent_as_it_is_and_can_be_quoted(
    kernel: Kernel, clock: ManualClock, agent: ScriptedAgent, channel: RecordingChannel
) -> None:
    await open_phone(kernel, digest=AT_18)
    job = await report(kernel, "0 10 * * *", "Ten")
    agent.script("It snowed.")
    await hours_later(kernel, clock, 1)
    await hours_later(kernel, clock, 8)
    [sent] = channel.sent
    assert (sent.content, sent.source and sent.source.job_id) == ("It snowed.", job.id)


async def test_what_waits_is_sent_before_the_answer_to_the_users_next_message(
    kernel: Kernel, clock: ManualClock, agent: ScriptedAgent, channel: RecordingChannel
) -> None:
    await open_phone(kernel, digest=AT_18, quiet=NIGHT)
    await report(kernel, "0 10 * * *", "Ten")
    await report(kernel, "30 10 * * *", "Half")
    agent.script("First.", "Second.", "Hello.")
    await hours_later(kernel, clock, 1)
    await hours_later(kernel, clock, 1)
    await kernel.receive(PHONE, "Hi.")
    await quiet(kernel)
    assert channel.texts == ["**Ten**\n\nFirst.\n\n**Half**\n\nSecond.", "Hello."]


async def test_an_answer_that_joins_while_the_users_message_waits_in_the_lane_is_sent_first(
    kernel: Kernel, clock: ManualClock, agent: ScriptedAgent, channel: RecordingChannel
) -> None:
    await open_phone(kernel, digest=AT_18)
    await report(kernel, "0 10 * * *", "Ten")
    agent.script("Report.", "Hello.")
    clock.advance(hours=1)
    async with under_way(kernel, agent):
        await kernel.receive(PHONE, "Hi.")
    assert channel.texts == ["Report.", "Hello."]


async def test_failures_questions_and_alarms_never_wait(
    kernel: Kernel, clock: ManualClock, agent: ScriptedAgent, channel: RecordingChannel
) -> None:
    await open_phone(kernel, digest=AT_18, quiet=NIGHT)
    await report(kernel, "0 10 * * *", "Report")
    await report(kernel, "0 11 * * *", "Broken")
    await report(kernel, "0 12 * * *", "Alarm", quiet="through")
    agent.script("Report.", AgentFailed("no", shown="It broke."), "Fire!")
    for _ in range(3):
        await hours_later(kernel, clock, 1)
    assert channel.texts == ["It broke.", "Fire!"]
    await hours_later(kernel, clock, 6)
    assert channel.texts[2:] == ["Report."]


async def test_a_held_answer_runs_at_its_time_and_is_sent_when_the_quiet_hours_end(
    kernel: Kernel, clock: ManualClock, channel: RecordingChannel
) -> None:
    await open_phone(kernel, quiet=NIGHT)
    job = await report(kernel, "0 23 * * *", "Report", quiet="hold", tell="now")
    await hours_later(kernel, clock, 14)
    [run] = await slots(kernel, job)
    assert (run.outcome, channel.sent) == ("ok", [])
    assert (await kernel.sessions.overview(PHONE)).quiet_until == clock.ms() + 8 * 3_600_000
    await hours_later(kernel, clock, 8)
    assert len(channel.sent) == 1


async def test_a_digest_in_quiet_hours_waits_for_their_end(
    kernel: Kernel, clock: ManualClock, channel: RecordingChannel
) -> None:
    await open_phone(kernel, quiet=NIGHT, digest={"at": "06:00"})
    await report(kernel, "0 10 * * *", "Ten")
    await hours_later(kernel, clock, 1)
    await hours_later(kernel, clock, 20)  # 6:00
    assert channel.sent == []
    await hours_later(kernel, clock, 1)
    assert len(channel.sent) == 1


async def test_an_interval_counts_from_the_first_answer_that_waits(
    kernel: Kernel, clock: ManualClock, channel: RecordingChannel
) -> None:
    await open_phone(kernel, digest={"every_seconds": 7200})
    await report(kernel, "0,30 * * * *", "Often")
    for _ in range(6):  # 9:30 to 12:00
        await hours_later(kernel, clock, 0.5)
    [first] = channel.texts
    assert first.count("Often") >= 1
    assert await held(kernel) >= 1, "the next digest collects"


async def test_what_waits_can_be_sent_now(
    kernel: Kernel, clock: ManualClock, channel: RecordingChannel
) -> None:
    await open_phone(kernel, digest=AT_18)
    await report(kernel, "0 10 * * *", "Ten")
    await hours_later(kernel, clock, 1)
    assert await kernel.sessions.send_held(PHONE) == 1
    await quiet(kernel)
    assert (len(channel.sent), await held(kernel), await kernel.sessions.send_held(PHONE)) == (1, 0, 0)


async def test_held_and_collected_answers_are_sent_as_one_message_when_the_user_writes(
    kernel: Kernel, clock: ManualClock, agent: ScriptedAgent, channel: RecordingChannel
) -> None:
    await open_phone(kernel, quiet=NIGHT, digest={"at": "12:00"})
    await report(kernel, "0 23 * * *", "Digest", quiet="hold")
    await report(kernel, "30 23 * * *", "Hold", quiet="hold", tell="now")
    agent.script("One.", "Two.", "Hello.")
    await hours_later(kernel, clock, 14)
    await hours_later(kernel, clock, 1)
    assert await held(kernel) == 2
    await kernel.receive(PHONE, "Hi.")
    await quiet(kernel)
    assert channel.texts == ["**Digest**\n\nOne.\n\n**Hold**\n\nTwo.", "Hello."]


async def test_when_nothing_holds_answers_any_more_they_are_sent(
    kernel: Kernel, clock: ManualClock, channel: RecordingChannel
) -> None:
    await open_phone(kernel, digest=AT_18)
    await report(kernel, "0 10 * * *", "Ten")
    await hours_later(kernel, clock, 1)
    await kernel.sessions.update(PHONE, digest=None)
    await quiet(kernel)
    assert len(channel.sent) == 1


async def test_a_digest_that_is_refused_is_noted_for_each_answer(
    kernel: Kernel, clock: ManualClock, agent: ScriptedAgent, channel: RecordingChannel
) -> None:
    await open_phone(kernel, digest=AT_18)
    jobs = [await report(kernel, "0 10 * * *", "Ten"), await report(kernel, "30 10 * * *", "Half")]
    channel.fail(Rejected("blocked"))
    for _ in range(9):
        await hours_later(kernel, clock, 1)
    runs = [run for job in jobs for run in await slots(kernel, job)]
    assert [(run.outcome, run.delivery) for run in runs] == [("ok", "failed")] * 2
    notes = [message for message in await kernel.messages(PHONE) if message.role == "system"]
    assert len({note.undelivered["seq"] for note in notes if note.undelivered}) == 2
    assert await held(kernel) == 0


async def test_a_snoozed_run_at_night_is_heard_because_its_user_named_the_time(
    kernel: Kernel, clock: ManualClock, agent: ScriptedAgent, channel: RecordingChannel
) -> None:
    await open_phone(kernel, quiet=NIGHT)
    await report(kernel, "0 21 * * *", "Pills", tell="now")
    agent.script("Pills!", "Pills again!")
    await hours_later(kernel, clock, 12)
    await kernel.replies.take(PHONE, "snooze 2h")
    await quiet(kernel)
    await hours_later(kernel, clock, 2)
    assert channel.texts[-1] == "Pills again!"


async def test_a_channel_whose_readers_read_the_log_holds_nothing(kernel: Kernel, clock: ManualClock) -> None:
    await kernel.sessions.open(CHAT)
    changed = await kernel.sessions.update(CHAT, digest=AT_18)
    assert not kernel.sessions.has_push(changed)
    await report(kernel, "0 10 * * *", "Ten", CHAT)
    await hours_later(kernel, clock, 1)
    assert await held(kernel, CHAT) == 0


async def test_in_unified_mode_each_chat_gets_what_waits_for_it(
    open_kernel: OpenKernel, clock: ManualClock, agent: ScriptedAgent, channel: RecordingChannel
) -> None:
    kernel = await open_kernel(settings=Settings(unified_session=True))
    await kernel.receive(PHONE, "Hello.")
    await quiet(kernel)
    await kernel.sessions.update(PHONE, digest=AT_18)
    await report(kernel, "0 10 * * *", "Ten")
    channel.sent.clear()
    await hours_later(kernel, clock, 1)
    assert (channel.sent, await held(kernel)) == ([], 1)
    await hours_later(kernel, clock, 8)
    assert (len(channel.sent), await held(kernel)) == (1, 0)


async def test_a_job_of_a_session_without_quiet_hours_costs_no_further_statement(
    recording_store: RecordingStore, clock: ManualClock, agent: ScriptedAgent, channel: RecordingChannel
) -> None:
    """Neither its slot, nor its answer, nor its delivery, nor the user's next message."""
    async with Kernel(recording_store, agent=agent, clock=clock, channels=[channel]) as kernel:
        await kernel.schedule(PHONE, At(clock.now() + timedelta(hours=1)), Ask("Look."))
        await hours_later(kernel, clock, 1)
        await kernel.receive(PHONE, "Hi.")
        await quiet(kernel)
    spent = {name for commit in recording_store.commits for name in commit}
    assert {"runs.open", "turns.finish", "deliveries.lease", "sessions.hear"} <= spent
    assert not spent & HOLDING
    [fired] = recording_store.transactions_with("runs.open")
    assert "sessions.by_id" not in fired
    for finished in recording_store.transactions_with("turns.finish"):
        assert not {"sessions.by_id", "jobs.by_id"} & set(finished)
