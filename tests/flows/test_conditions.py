"""Conditions on the conversation: `when`, `otherwise`, `renew_after`, and the mode `say`."""

from datetime import timedelta
from typing import Any

import pytest

from segue import Ask, At, Cron, Every, Job, Kernel, Policy, Settings
from segue.errors import BadPolicy, NotHere, NotPrivateChat
from segue.model.prompts import Mode
from segue.testing import ManualClock, ScriptedAgent, quiet
from segue.times.clock import to_moment
from tests.flows.house import OpenKernel
from tests.flows.story import CHAT, outcomes, said, slots

UNANSWERED = [{"if": "unanswered"}]


def policy(*when: dict[str, Any], **fields: Any) -> Policy:
    return Policy.from_json({"when": list(when), **fields})


async def hours_later(kernel: Kernel, clock: ManualClock, hours: float) -> None:
    clock.advance(hours=hours)
    await quiet(kernel)


async def reasons(kernel: Kernel, job: Job) -> list[str | None]:
    return [run.reason for run in await slots(kernel, job)]


async def write(kernel: Kernel, text: str, key: str = CHAT) -> None:
    await kernel.receive(key, text)
    await quiet(kernel)


async def test_a_reminder_ends_without_a_run_if_its_user_has_answered(
    kernel: Kernel, clock: ManualClock, agent: ScriptedAgent
) -> None:
    unless_answered = policy({"if": "unanswered", "since": "created"}, otherwise="end")
    tomorrow = At(clock.now() + timedelta(days=1))
    job = await kernel.schedule(CHAT, tomorrow, Ask("Remind me."), policy=unless_answered)
    await hours_later(kernel, clock, 12)
    await write(kernel, "I have done it.")
    answered = clock.now()
    asked = len(agent.asked)
    await hours_later(kernel, clock, 12)
    assert await outcomes(kernel, job) == ["skipped"]
    assert await reasons(kernel, job) == [f"unless: you answered at {answered:%H:%M on %Y-%m-%d}"]
    assert len(agent.asked) == asked, "it costs no question to the agent"
    over = await kernel.jobs.get(job.id)
    assert (over.state, over.state_reason) == ("ended", "its condition no longer holds")


async def test_a_reminder_runs_if_its_user_has_not_answered(kernel: Kernel, clock: ManualClock) -> None:
    await write(kernel, "Remind me tomorrow unless I answer.")
    unless_answered = policy({"if": "unanswered", "since": "created"}, otherwise="end")
    job = await kernel.schedule(
        CHAT, At(clock.now() + timedelta(days=1)), Ask("Remind me."), policy=unless_answered
    )
    await hours_later(kernel, clock, 24)
    assert await outcomes(kernel, job) == ["ok"]


async def test_an_answer_since_the_last_run_skips_the_next_one_only(
    kernel: Kernel, clock: ManualClock
) -> None:
    job = await kernel.schedule(CHAT, Every(3600), Ask("Look."), policy=policy(*UNANSWERED))
    await hours_later(kernel, clock, 1)
    clock.advance(minutes=10)
    await write(kernel, "Seen.")
    await hours_later(kernel, clock, 1)
    assert await outcomes(kernel, job) == ["ok", "skipped"]
    assert (await kernel.jobs.get(job.id)).state == "active"


async def test_an_answer_while_the_run_waits_in_the_lane_withdraws_it(
    kernel: Kernel, clock: ManualClock, agent: ScriptedAgent
) -> None:
    within = policy(*UNANSWERED, budget={"runs": 9, "per": "day"})
    job = await kernel.schedule(CHAT, Every(3600), Ask("Nag."), policy=within)
    clock.advance(hours=1)
    await kernel.workers.timer.step()
    assert await outcomes(kernel, job) == [None], "it waits"
    clock.advance(seconds=1)
    await kernel.receive(CHAT, "Done already.")
    await quiet(kernel)
    assert await outcomes(kernel, job) == ["skipped"]
    [reason] = await reasons(kernel, job)
    assert reason is not None
    assert reason.startswith("unless: you answered at ")
    assert [asked.text for asked in agent.asked] == ["Done already."]
    explanation = await kernel.jobs.explain(job.id, slot=to_moment((await slots(kernel, job))[0].slot))
    assert explanation.verdict == "skipped"
    assert reason in explanation.text
    [answer] = [each for each in await kernel.messages(CHAT) if each.content == "Done already."]
    assert explanation.facts["message_seq"] == answer.seq
    [of_job] = (await kernel.sessions.budget(CHAT)).jobs
    assert (of_job.now.spent, of_job.now.reserved) == (0, 0), (
        "a run that did not start uses nothing of a budget"
    )
    assert not any((await kernel.audit()).values())


async def test_a_withdrawn_run_ends_its_job_and_the_lane_goes_on(
    kernel: Kernel, clock: ManualClock, agent: ScriptedAgent
) -> None:
    until_answered = policy(*UNANSWERED, otherwise="end")
    job = await kernel.schedule(CHAT, Every(3600), Ask("Nag."), policy=until_answered)
    other = await kernel.schedule(CHAT, Every(3600), Ask("Report."))
    clock.advance(hours=1)
    await kernel.workers.timer.step()
    clock.advance(seconds=1)
    await kernel.receive(CHAT, "Done already.")
    await quiet(kernel)
    assert await outcomes(kernel, job) == ["skipped"]
    assert (await kernel.jobs.get(job.id)).state == "ended"
    assert await outcomes(kernel, other) == ["ok"]
    numbers = [event.seq for event in await kernel.log.events(CHAT, limit=1000)]
    assert numbers == list(range(1, len(numbers) + 1))


async def test_each_condition(kernel: Kernel, clock: ManualClock) -> None:
    quiet_for_two = policy({"if": "quiet", "for_seconds": 7200})
    lively = policy({"if": "active", "for_seconds": 7200})
    said_it = policy({"if": "said", "words": ["green light"], "since": "created"})
    unsaid = policy({"if": "unsaid", "words": ["stop", "Ende"], "since": "created"})
    answered = policy({"if": "answered", "since": "created"})
    jobs = [
        await kernel.schedule(CHAT, Cron("0 * * * *", "UTC"), Ask("Look."), policy=one)
        for one in (quiet_for_two, lively, said_it, unsaid, answered)
    ]
    await hours_later(kernel, clock, 1)
    assert [await outcomes(kernel, job) for job in jobs] == [
        ["ok"],
        ["skipped"],
        ["skipped"],
        ["ok"],
        ["skipped"],
    ]
    await write(kernel, "You have the GREEN LIGHT, unstoppable.")
    await hours_later(kernel, clock, 1)
    assert [(await outcomes(kernel, job))[-1] for job in jobs] == ["skipped", "ok", "ok", "ok", "ok"]
    await write(kernel, "ENDE!")
    await hours_later(kernel, clock, 3)
    assert [(await outcomes(kernel, job))[-1] for job in jobs] == ["ok", "skipped", "ok", "skipped", "ok"]


async def test_a_job_follows_the_outcome_of_another(
    kernel: Kernel, clock: ManualClock, agent: ScriptedAgent
) -> None:
    build = await kernel.schedule(CHAT, Every(3600), Ask("Build."), name="build")
    after = policy({"if": "outcome", "job": build.id, "is": "ok", "within_seconds": 5400})
    deploy = await kernel.schedule(CHAT, Cron("30 * * * *", "UTC"), Ask("Deploy."), policy=after)
    clock.advance(minutes=30)
    await quiet(kernel)
    assert await reasons(kernel, deploy) == ["only if 'build' ended as ok: it has not run"]
    await hours_later(kernel, clock, 0.5)
    await hours_later(kernel, clock, 0.5)
    assert await outcomes(kernel, deploy) == ["skipped", "ok"]


async def test_a_job_nags_until_its_user_says_done(
    kernel: Kernel, clock: ManualClock, agent: ScriptedAgent
) -> None:
    until_done = policy({"if": "not_done"}, otherwise="end")
    nag = Ask("Take the pills.", mode=Mode.SAY)
    job = await kernel.schedule(CHAT, Every(3600), nag, name="pills", policy=until_done)
    await hours_later(kernel, clock, 1)
    await kernel.replies.take(CHAT, "What are they for?")
    await quiet(kernel)
    await hours_later(kernel, clock, 1)
    assert await outcomes(kernel, job) == ["ok", "ok"]
    done = await kernel.replies.take(CHAT, "done")
    assert getattr(done, "action", None) == "done"
    await hours_later(kernel, clock, 1)
    assert await outcomes(kernel, job) == ["ok", "ok", "skipped"]
    assert (await kernel.jobs.get(job.id)).state == "ended"
    assert [asked.turn.role for asked in agent.asked] == ["user"]


async def test_the_question_whether_to_go_on_takes_a_reply(kernel: Kernel, clock: ManualClock) -> None:
    job = await kernel.schedule(CHAT, Every(3600), Ask("Report."), policy=Policy(renew_after=1))
    for _ in range(2):
        await hours_later(kernel, clock, 1)
    assert (await kernel.jobs.get(job.id)).state == "paused"
    await kernel.replies.take(CHAT, "go on")
    assert (await kernel.jobs.get(job.id)).state == "active"


async def test_a_postponed_slot_runs_with_the_message_that_it_waits_for(
    kernel: Kernel, clock: ManualClock
) -> None:
    waits = policy({"if": "answered", "since": "created"}, otherwise="postpone")
    job = await kernel.schedule(CHAT, At(clock.now() + timedelta(hours=1)), Ask("Go on."), policy=waits)
    await hours_later(kernel, clock, 1)
    assert await outcomes(kernel, job) == []
    clock.advance(minutes=5)
    await write(kernel, "Here I am.")
    assert await outcomes(kernel, job) == ["ok"]


async def test_a_job_that_no_user_answers_asks_whether_to_go_on(kernel: Kernel, clock: ManualClock) -> None:
    await write(kernel, "Report every hour.")
    job = await kernel.schedule(CHAT, Every(3600), Ask("Report."), policy=Policy(renew_after=3))
    for _ in range(5):
        await hours_later(kernel, clock, 1)
    assert await outcomes(kernel, job) == ["ok", "ok", "ok", "skipped"]
    assert (await kernel.jobs.get(job.id)).state == "paused"
    question = "No answer to the last 3. Keep it, change it or stop it?"
    assert [text for _, text in await said(kernel) if text == question] == [question]
    await kernel.jobs.resume(job.id)
    for _ in range(3):
        await hours_later(kernel, clock, 1)
    assert await outcomes(kernel, job) == ["ok", "ok", "ok", "skipped", "ok", "ok", "ok"]


async def test_an_answer_renews_a_job(kernel: Kernel, clock: ManualClock) -> None:
    job = await kernel.schedule(CHAT, Every(3600), Ask("Report."), policy=Policy(renew_after=2))
    for _ in range(4):
        await hours_later(kernel, clock, 1)
        await write(kernel, "Thanks.")
    assert await outcomes(kernel, job) == ["ok"] * 4


async def test_a_message_is_said_word_for_word_without_the_agent(
    kernel: Kernel, clock: ManualClock, agent: ScriptedAgent
) -> None:
    job = await kernel.schedule(CHAT, Every(3600), Ask("Drink *water*.", mode=Mode.SAY), name="water")
    await hours_later(kernel, clock, 1)
    assert await outcomes(kernel, job) == ["ok"]
    assert await said(kernel) == [
        ("user", "Scheduled cron job triggered: water"),
        ("assistant", "Drink *water*."),
    ]
    assert agent.asked == []
    [run] = await slots(kernel, job)
    assert (run.rendered_prompt, run.usage) == (None, None)


async def test_a_group_is_not_spoken_to_without_its_agent(kernel: Kernel) -> None:
    await kernel.sessions.open("web:group", chat_type="group")
    with pytest.raises(NotPrivateChat, match="use the mode turn"):
        await kernel.schedule("web:group", Every(3600), Ask("Hi.", mode=Mode.SAY))


async def test_in_unified_mode_an_answer_in_any_chat_counts(
    open_kernel: OpenKernel, clock: ManualClock, agent: ScriptedAgent
) -> None:
    kernel = await open_kernel(settings=Settings(unified_session=True))
    await write(kernel, "Hello")
    job = await kernel.schedule(CHAT, Every(3600), Ask("Nag."), policy=policy(*UNANSWERED))
    clock.advance(minutes=10)
    await write(kernel, "From another chat", key="web:2")
    await hours_later(kernel, clock, 1)
    assert await outcomes(kernel, job) == ["skipped"]


@pytest.mark.parametrize(
    ("when", "says"),
    [
        ([], "1 to 10 conditions"),
        ([{"if": "unansered"}], "did you mean unanswered?"),
        ([{"if": "quiet"}], "needs for_seconds"),
        ([{"if": "quiet", "for_seconds": 0}], "from 1 to"),
        ([{"if": "said", "words": []}], "1 to 10 words"),
        ([{"if": "said", "words": ["a"] * 11}], "1 to 10 words"),
        ([{"if": "unanswered", "since": "yesterday"}], "last_run, created"),
        ([{"if": "not_done", "since": "created"}], "no other field"),
        ([{"if": "outcome", "job": "x", "is": "fine"}], "is is one of ok"),
        ("unanswered", "is a list"),
        (["unanswered"], "is an object"),
    ],
)
def test_a_condition_that_cannot_be_read_is_refused_in_a_sentence(when: Any, says: str) -> None:
    with pytest.raises(BadPolicy, match=says):
        Policy.from_json({"when": when})


async def test_a_condition_on_a_job_of_another_session_is_refused(kernel: Kernel) -> None:
    other = await kernel.schedule("web:other", Every(3600), Ask("Look."))
    for named in (other.id, "no-such-job"):
        after = policy({"if": "outcome", "job": named, "is": "ok"})
        with pytest.raises(NotHere):
            await kernel.schedule(CHAT, Every(3600), Ask("Look."), policy=after)
    job = await kernel.schedule(CHAT, Every(3600), Ask("Look."))
    with pytest.raises(NotHere):
        await kernel.jobs.update(job.id, policy=policy({"if": "outcome", "job": job.id, "is": "ok"}))


def test_a_policy_without_conditions_is_stored_without_values_that_older_versions_cannot_read() -> None:
    stored = Policy().to_json()
    assert [stored[name] for name in ("when", "otherwise", "renew_after")] == [None, None, None]
    whole = policy({"if": "unsaid", "words": ["stop"]}, otherwise="end", renew_after=5)
    assert Policy.stored(whole.to_json()) == whole


def test_a_stored_condition_that_this_version_does_not_know_pauses_the_job() -> None:
    newer = Policy.stored({"when": [{"if": "full_moon"}]})
    assert newer.unreadable is not None
    assert "full_moon" in newer.unreadable
