"""The prompt of a scheduled turn, and what is stored of it."""

import hashlib

import pytest

from segue import Ask, At, Cron, Every, JobKind, Kernel, Policy
from segue.testing import ManualClock, ScriptedAgent, quiet
from tests.flows.story import CHAT, said, slots, under_way


async def test_the_agent_is_given_the_prompt_and_the_transcript_is_not(
    kernel: Kernel, clock: ManualClock, agent: ScriptedAgent
) -> None:
    """5.1, 6.1: the raw execution prompt is never a message; its trigger is."""
    await kernel.schedule(CHAT, Every(60), Ask("Look at the build."), name="Build")
    clock.advance(minutes=1)
    await quiet(kernel)
    turn = agent.asked[0].turn
    assert turn.role == "user"
    assert turn.text == "Look at the build."
    assert turn.prompt.endswith("\n\nLook at the build.")
    assert "Scheduled for: " in turn.prompt
    trigger = "Scheduled cron job triggered: Build\n\nLook at the build."
    assert await said(kernel) == [("user", trigger), ("assistant", "ok")]


async def test_the_record_of_a_run_holds_its_prompt_and_the_trigger_names_it(
    kernel: Kernel, clock: ManualClock, agent: ScriptedAgent
) -> None:
    """6.2: prompt_ref in history and record; the record's digest is that of its text."""
    job = await kernel.schedule(CHAT, Every(60), Ask("Look."), name="Look")
    clock.advance(minutes=1)
    await quiet(kernel)
    [run] = await slots(kernel, job)
    assert run.rendered_prompt == agent.asked[0].turn.prompt
    assert run.prompt_ref is not None
    assert run.prompt_vars is not None
    assert (run.prompt_ref.id, run.prompt_ref.version) == ("cron.agent_turn.reminder", 2)
    assert run.prompt_ref.sha256 == hashlib.sha256(run.rendered_prompt.encode()).hexdigest()
    assert run.prompt_vars["job"] == "Look"
    trigger, answer = await kernel.messages(CHAT)
    assert trigger.prompt_ref == run.prompt_ref.to_json()
    assert answer.prompt_ref is None
    assert await kernel.runs.get(run.id) == run


async def test_a_run_under_way_shows_its_prompt_and_one_that_waits_has_none(
    kernel: Kernel, clock: ManualClock, agent: ScriptedAgent
) -> None:
    job = await kernel.schedule(CHAT, Every(60), Ask("Look."), name="Look")
    clock.advance(minutes=1)
    await kernel.workers.timer.step()
    [waiting] = await slots(kernel, job)
    assert (waiting.state, waiting.prompt_ref, waiting.rendered_prompt) == ("queued", None, None)
    async with under_way(kernel, agent):
        [running] = await slots(kernel, job)
    [ended] = await slots(kernel, job)
    assert running.state == "running"
    assert running.rendered_prompt == agent.asked[0].turn.prompt
    assert (running.prompt_ref, running.prompt_vars) == (ended.prompt_ref, ended.prompt_vars)


async def test_the_prompt_tells_how_late_it_is_what_was_missed_and_how_it_went_before(
    kernel: Kernel, clock: ManualClock, agent: ScriptedAgent
) -> None:
    """6.4, 10.2"""
    agent.script(RuntimeError("no"))
    job = await kernel.schedule(CHAT, Every(3600), Ask("Look."), name="Look")
    clock.advance(hours=1)
    await quiet(kernel)
    clock.advance(hours=3, minutes=5)
    await quiet(kernel)
    first, _, second = await slots(kernel, job)
    assert first.prompt_vars is not None
    assert second.prompt_vars is not None
    assert first.prompt_vars["previous_outcome"] == "none, this is the first"
    assert first.prompt_vars["lateness"] == "on time"
    assert second.prompt_vars["previous_outcome"] == "error"
    assert second.prompt_vars["lateness"] == "5 min late"
    assert second.prompt_vars["missed_count"] == second.missed_count == 2


async def test_now_is_when_the_turn_starts_and_not_when_it_came_due(
    kernel: Kernel, clock: ManualClock, agent: ScriptedAgent
) -> None:
    job = await kernel.schedule(CHAT, Every(3600), Ask("Look."), name="Look")
    clock.advance(hours=1)
    await kernel.workers.timer.step()
    clock.advance(minutes=7)
    await quiet(kernel)
    [run] = await slots(kernel, job)
    assert run.lateness_ms == 0
    assert run.prompt_vars is not None
    assert run.prompt_vars["lateness"] == "7 min late"


async def test_each_attempt_is_told_its_own_time_and_the_record_holds_the_last(
    kernel: Kernel, clock: ManualClock, agent: ScriptedAgent
) -> None:
    agent.script(RuntimeError("no"))
    job = await kernel.schedule(CHAT, Every(3600), Ask("Look."), name="Look", policy=Policy(retries=1))
    clock.advance(hours=1)
    await quiet(kernel)
    clock.advance(minutes=30)
    await quiet(kernel)
    [run] = await slots(kernel, job)
    first, second = (asked.turn for asked in agent.asked)
    assert run.rendered_prompt == second.prompt != first.prompt
    starts = [event for event in await kernel.log.events(CHAT) if event.type == "stream_start"]
    assert first.prompt_ref is not None
    assert second.prompt_ref is not None
    refs = [first.prompt_ref.to_json(), second.prompt_ref.to_json()]
    assert [event.body["prompt_ref"] for event in starts] == refs


async def test_a_recalls_prompt_is_a_system_message(
    kernel: Kernel, clock: ManualClock, agent: ScriptedAgent
) -> None:
    recall = Ask("Ask how the exam went.")
    job = await kernel.schedule(CHAT, At("in 1 hour"), recall, name="the exam", kind=JobKind.RECALL)
    clock.advance(hours=1)
    await quiet(kernel)
    turn = agent.asked[0].turn
    assert turn.role == "system"
    assert turn.prompt.endswith("\n\nAsk how the exam went.")
    [run] = await slots(kernel, job)
    assert run.prompt_ref is not None
    assert run.prompt_ref.id == "recall.agent_turn"


async def test_a_users_turn_has_no_prompt_but_its_words(kernel: Kernel, agent: ScriptedAgent) -> None:
    await kernel.receive(CHAT, "Hello")
    await quiet(kernel)
    turn = agent.asked[0].turn
    assert (turn.text, turn.prompt, turn.role, turn.prompt_ref) == ("Hello", "Hello", "user", None)


@pytest.mark.parametrize(
    ("trigger", "session_zone", "told"),
    [
        (Cron("0 9 * * *", tz="Asia/Tokyo"), "Europe/Berlin", "Asia/Tokyo"),
        (Every(86_400), "Europe/Berlin", "Europe/Berlin"),
        (Every(86_400), None, "UTC"),
    ],
)
async def test_the_zone_is_the_jobs_else_the_sessions(
    kernel: Kernel,
    clock: ManualClock,
    agent: ScriptedAgent,
    trigger: Cron | Every,
    session_zone: str | None,
    told: str,
) -> None:
    await kernel.sessions.open(CHAT, timezone=session_zone)
    job = await kernel.schedule(CHAT, trigger, Ask("Look."))
    clock.advance(days=1)
    await quiet(kernel)
    [run] = await slots(kernel, job)
    assert run.prompt_vars is not None
    assert run.prompt_vars["zone"] == told
