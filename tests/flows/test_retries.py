"""A turn that fails and may be tried again: the same turn, a little later, with one end."""

import random
from datetime import timedelta

from segue import Ask, Every, Kernel, Policy
from segue.errors import AgentFailed
from segue.model.policy import backoff
from segue.testing import ManualClock, ScriptedAgent, quiet
from segue.times.clock import to_moment
from tests.flows.house import OpenKernel
from tests.flows.story import CHAT, log, outcomes, said, slots

DOWN = AgentFailed("503 from the provider", shown="The model is not answering.")


async def test_a_failed_turn_succeeds_on_its_second_attempt(
    kernel: Kernel, clock: ManualClock, agent: ScriptedAgent
) -> None:
    agent.script(DOWN, "All is well.")
    job = await kernel.schedule(CHAT, Every(3600), Ask("Look."), name="Look", policy=Policy(retries=2))
    clock.advance(hours=1)
    await quiet(kernel)
    [first] = await slots(kernel, job)
    assert (first.state, first.outcome, first.attempt) == ("queued", None, 1)
    clock.advance(seconds=10)
    await quiet(kernel)
    [run] = await slots(kernel, job)
    assert (run.outcome, run.attempt, run.turn_id, run.error) == ("ok", 2, first.turn_id, None)
    assert [asked.turn.attempt for asked in agent.asked] == [1, 2]
    assert await said(kernel) == [
        ("user", "Scheduled cron job triggered: Look\n\nLook."),
        ("assistant", "All is well."),
    ]
    assert (await kernel.jobs.get(job.id)).failures == 0


async def test_no_attempt_comes_before_its_time(
    kernel: Kernel, clock: ManualClock, agent: ScriptedAgent
) -> None:
    agent.script(DOWN)
    job = await kernel.schedule(CHAT, Every(3600), Ask("Look."), policy=Policy(retries=1))
    clock.advance(hours=1)
    await quiet(kernel)
    [run] = await slots(kernel, job)
    turn = await kernel.turns.get(run.turn_id or "")
    assert clock.ms() < turn.not_before <= clock.ms() + 10_000
    clock.set(to_moment(turn.not_before - 1))
    await quiet(kernel)
    assert len(agent.asked) == 1
    clock.advance(milliseconds=1)
    await quiet(kernel)
    assert await outcomes(kernel, job) == ["ok"]


async def test_when_all_attempts_failed_there_is_one_error_and_one_closure(
    kernel: Kernel, clock: ManualClock, agent: ScriptedAgent
) -> None:
    agent.script(DOWN, DOWN, DOWN)
    job = await kernel.schedule(CHAT, Every(3600), Ask("Look."), name="Look", policy=Policy(retries=2))
    clock.advance(hours=1)
    for _ in range(3):
        await quiet(kernel)
        clock.advance(seconds=20)
    [run] = await slots(kernel, job)
    assert (run.outcome, run.attempt) == ("error", 3)
    assert run.error == "503 from the provider"
    assert [words for role, words in await said(kernel) if role == "assistant"] == [
        "The model is not answering."
    ]
    assert (await kernel.jobs.get(job.id)).failures == 1


async def test_between_two_attempts_a_user_is_served(
    kernel: Kernel, clock: ManualClock, agent: ScriptedAgent
) -> None:
    agent.script(DOWN, "Hello yourself.", "All is well.")
    await kernel.schedule(CHAT, Every(3600), Ask("Look."), policy=Policy(retries=1))
    clock.advance(hours=1)
    await quiet(kernel)
    await kernel.receive(CHAT, "Hello")
    await quiet(kernel)
    assert [asked.text for asked in agent.asked] == ["Look.", "Hello"]
    clock.advance(seconds=10)
    await quiet(kernel)
    assert (await said(kernel))[-1] == ("assistant", "All is well.")


async def test_each_attempt_begins_and_ends_in_the_log(
    kernel: Kernel, clock: ManualClock, agent: ScriptedAgent
) -> None:
    agent.script(DOWN)
    await kernel.schedule(CHAT, Every(3600), Ask("Look."), policy=Policy(retries=1))
    clock.advance(hours=1)
    await quiet(kernel)
    clock.advance(seconds=10)
    await quiet(kernel)
    first = ["stream_start", "stream_end", "session_sync"]
    last = ["stream_start", "stream_end", "automation_update", "session_sync"]
    assert (await log(kernel))[1:] == [*first, *last]
    starts = [event for event in await kernel.log.events(CHAT) if event.type == "stream_start"]
    assert [event.body["attempt"] for event in starts] == [1, 2]
    ends = [event for event in await kernel.log.events(CHAT) if event.type == "stream_end"]
    assert [event.body["state"] for event in ends] == ["queued", "done"]


async def test_an_attempt_does_not_see_its_own_words_twice(
    kernel: Kernel, clock: ManualClock, agent: ScriptedAgent
) -> None:
    agent.script("Noted.", DOWN)
    await kernel.receive(CHAT, "Remember the milk.")
    await quiet(kernel)
    await kernel.schedule(CHAT, Every(3600), Ask("Look."), policy=Policy(retries=1))
    clock.advance(hours=1)
    await quiet(kernel)
    clock.advance(seconds=10)
    await quiet(kernel)
    for asked in agent.asked[1:]:
        assert [message.content for message in asked.history] == ["Remember the milk.", "Noted."]


async def test_a_users_turn_is_not_tried_again(kernel: Kernel, agent: ScriptedAgent) -> None:
    agent.script(RuntimeError("boom"))
    turn = await kernel.receive(CHAT, "Hello")
    await quiet(kernel)
    failed = await kernel.turns.get(turn.turn_id)
    assert (failed.state, failed.outcome) == ("failed", "error")
    assert "boom" in (failed.error or "")
    assert "boom" not in (await said(kernel))[-1][1]


async def test_a_thousand_failures_at_once_do_not_come_back_at_once(
    open_kernel: OpenKernel, clock: ManualClock, agent: ScriptedAgent
) -> None:
    kernel = await open_kernel(rng=random.Random(7))
    agent.script(*[DOWN] * 20)
    jobs = [
        await kernel.schedule(f"web:{n}", Every(3600), Ask("Look."), policy=Policy(retries=1))
        for n in range(20)
    ]
    clock.advance(hours=1)
    await quiet(kernel)
    moments = []
    for job in jobs:
        [run] = await slots(kernel, job)
        moments.append((await kernel.turns.get(run.turn_id or "")).not_before)
    assert len(set(moments)) == 20
    assert max(moments) - min(moments) > 5_000


def test_the_pause_grows_and_is_bounded() -> None:
    rng = random.Random(1)
    longest = [max(backoff(attempt, rng) for _ in range(200)) for attempt in (1, 2, 4, 50)]
    assert longest[0] <= timedelta(seconds=10) < longest[1] <= timedelta(seconds=20) < longest[2]
    assert longest[3] <= timedelta(seconds=600)
