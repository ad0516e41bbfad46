"""Waiting for a person: the agent asks, scheduled turns are held, the user's next turn has the question."""

import asyncio
from datetime import datetime, timedelta

import pytest

from segue import Ask, At, Busy, Every, Kernel, Policy, Say, Settings, Text, Waiting
from segue.errors import BadTime, EmptyText, NotJson
from segue.testing import ManualClock, ScriptedAgent, quiet
from tests.flows.house import OpenKernel
from tests.flows.story import CHAT, said, slots

PAY = Waiting("Pay 30 €?", ("yes", "no"), {"payment": 7})


async def ask_for_approval(kernel: Kernel, agent: ScriptedAgent, waiting: Waiting = PAY) -> str:
    agent.script([Text("I have the bill."), waiting])
    asked = await kernel.receive(CHAT, "Pay the bill")
    await quiet(kernel)
    return asked.turn_id


async def test_the_question_ends_the_turn(kernel: Kernel, agent: ScriptedAgent) -> None:
    turn = await kernel.turns.get(await ask_for_approval(kernel, agent))
    assert (turn.state, turn.outcome) == ("done", "asked")
    assert turn.reply == "I have the bill.\n\nPay 30 €? (yes / no)"
    assert (await said(kernel))[-1] == ("assistant", turn.reply)
    [event] = [event for event in await kernel.log.events(CHAT) if event.type == "waiting"]
    assert event.turn_id == turn.id
    assert event.body["question"] == "Pay 30 €?"
    assert event.body["choices"] == ["yes", "no"]


async def test_an_approval_is_not_lost_because_a_job_came_due(
    kernel: Kernel, clock: ManualClock, agent: ScriptedAgent
) -> None:
    job = await kernel.schedule(CHAT, Every(3600), Ask("Check the mail"), name="mail")
    asked = await ask_for_approval(kernel, agent)
    clock.advance(hours=1)
    await quiet(kernel)
    [run] = await slots(kernel, job)
    assert (run.state, run.outcome) == ("queued", None)
    await kernel.receive(CHAT, "yes")
    await quiet(kernel)
    answer, scheduled = agent.asked[1:]
    assert answer.text == "yes"
    assert answer.turn.resumed is not None
    assert answer.turn.resumed.question == "Pay 30 €?"
    assert answer.turn.resumed.choices == ("yes", "no")
    assert answer.turn.resumed.state == {"payment": 7}
    assert answer.turn.resumed.turn_id == asked
    assert scheduled.turn.resumed is None
    assert (await slots(kernel, job))[0].outcome == "ok"


async def test_a_turn_that_was_queued_before_the_question_is_held_too(
    kernel: Kernel, clock: ManualClock, agent: ScriptedAgent
) -> None:
    job = await kernel.schedule(CHAT, At(clock.now() + timedelta(minutes=1)), Ask("Check the mail"))
    agent.script([PAY])
    agent.pause()
    await kernel.receive(CHAT, "Pay the bill")
    working = asyncio.create_task(kernel.workers.user_runner.step())
    await agent.under_way()
    clock.advance(minutes=1)
    await kernel.workers.timer.step()
    agent.go_on()
    await working
    await quiet(kernel)
    assert (await slots(kernel, job))[0].outcome is None
    assert await kernel.audit() == {}
    await kernel.receive(CHAT, "no")
    await quiet(kernel)
    assert [asked.text for asked in agent.asked] == ["Pay the bill", "no", "Check the mail"]


async def test_only_the_next_turn_of_the_user_is_the_answer(kernel: Kernel, agent: ScriptedAgent) -> None:
    await ask_for_approval(kernel, agent)
    for text in ("yes", "thanks"):
        await kernel.receive(CHAT, text)
    await quiet(kernel)
    assert [asked.turn.resumed is not None for asked in agent.asked] == [False, True, False]


async def test_the_waiting_ends_by_itself(kernel: Kernel, clock: ManualClock, agent: ScriptedAgent) -> None:
    job = await kernel.schedule(CHAT, Every(3600), Ask("Check the mail"))
    await ask_for_approval(kernel, agent, Waiting("Pay?", until=clock.now() + timedelta(hours=2)))
    clock.advance(hours=1)
    await quiet(kernel)
    assert (await slots(kernel, job))[0].outcome is None
    clock.advance(hours=1)
    await quiet(kernel)
    assert {run.outcome for run in await slots(kernel, job)} <= {"ok", "skipped"}
    await kernel.receive(CHAT, "yes")
    await quiet(kernel)
    assert agent.asked[-1].turn.resumed is None


async def test_it_waits_a_day_by_default(kernel: Kernel, clock: ManualClock, agent: ScriptedAgent) -> None:
    await ask_for_approval(kernel, agent)
    session = await kernel.sessions.get(CHAT)
    assert session.waiting_until == clock.ms() + 24 * 3_600_000


@pytest.mark.parametrize(
    ("busy", "outcome"), [(Busy.SKIP, "skipped"), (Busy.POSTPONE, None)], ids=["skip", "postpone"]
)
async def test_the_policy_for_a_busy_session_applies(
    kernel: Kernel, clock: ManualClock, agent: ScriptedAgent, busy: Busy, outcome: str | None
) -> None:
    job = await kernel.schedule(
        CHAT, At(clock.now() + timedelta(hours=1)), Ask("Check the mail"), policy=Policy(busy=busy)
    )
    await ask_for_approval(kernel, agent)
    clock.advance(hours=1)
    await quiet(kernel)
    runs = await slots(kernel, job)
    if outcome is None:
        assert runs == []
        assert (await kernel.jobs.get(job.id)).state_reason == "busy: the session waits for the user's answer"
    else:
        assert [run.outcome for run in runs] == [outcome]
        assert runs[0].reason == "busy: the session waits for the user's answer"


async def test_explain_says_what_a_run_waits_for(
    kernel: Kernel, clock: ManualClock, agent: ScriptedAgent
) -> None:
    job = await kernel.schedule(
        CHAT, At(clock.now() + timedelta(hours=1)), Ask("Check the mail"), name="mail"
    )
    await ask_for_approval(kernel, agent)
    clock.advance(hours=1)
    await quiet(kernel)
    explanation = await kernel.jobs.explain(job.id)
    assert explanation.verdict == "queued"
    assert "the agent asked the user 'Pay 30 €?', and waits for the answer until" in explanation.text


async def test_a_written_message_does_not_wait(
    kernel: Kernel, clock: ManualClock, agent: ScriptedAgent
) -> None:
    """`Say` is punctual: it is no turn."""
    await kernel.schedule(CHAT, At(clock.now() + timedelta(hours=1)), Say("Your flight leaves at noon."))
    await ask_for_approval(kernel, agent)
    clock.advance(hours=1)
    await quiet(kernel)
    assert (await said(kernel))[-1] == ("assistant", "Your flight leaves at noon.")


async def test_other_sessions_do_not_wait(kernel: Kernel, clock: ManualClock, agent: ScriptedAgent) -> None:
    job = await kernel.schedule("web:other", At(clock.now() + timedelta(hours=1)), Ask("Check the mail"))
    await ask_for_approval(kernel, agent)
    clock.advance(hours=1)
    await quiet(kernel)
    assert [run.outcome for run in await slots(kernel, job)] == ["ok"]


async def test_a_job_may_ask_too(kernel: Kernel, clock: ManualClock, agent: ScriptedAgent) -> None:
    job = await kernel.schedule(CHAT, At(clock.now() + timedelta(hours=1)), Ask("Pay the rent"))
    clock.advance(hours=1)
    agent.script([PAY])
    await quiet(kernel)
    assert [run.outcome for run in await slots(kernel, job)] == ["asked"]
    await kernel.receive(CHAT, "yes")
    await quiet(kernel)
    assert agent.asked[-1].turn.resumed is not None


async def test_an_answer_whose_worker_is_lost_is_still_first_and_still_the_answer(
    kernel: Kernel, clock: ManualClock, agent: ScriptedAgent
) -> None:
    await kernel.schedule(CHAT, At(clock.now() + timedelta(hours=1)), Ask("Check the mail"))
    await ask_for_approval(kernel, agent)
    clock.advance(hours=3)
    await quiet(kernel)
    await kernel.receive(CHAT, "yes")
    agent.pause()
    worker = asyncio.create_task(kernel.workers.user_runner.step())
    await agent.under_way()
    clock.advance(seconds=Settings().lease_seconds)
    assert await kernel.workers.reaper.step() == 1
    worker.cancel()
    await asyncio.wait([worker])
    agent.go_on()
    await quiet(kernel)
    assert [asked.text for asked in agent.asked[1:]] == ["yes", "yes", "Check the mail"]
    assert [asked.turn.resumed is not None for asked in agent.asked[1:]] == [True, True, False]


async def test_two_questions_in_a_row(kernel: Kernel, clock: ManualClock, agent: ScriptedAgent) -> None:
    await ask_for_approval(kernel, agent)
    agent.script([Waiting("Really?", state={"n": 2})])
    await kernel.receive(CHAT, "yes")
    await quiet(kernel)
    await kernel.receive(CHAT, "yes!")
    await quiet(kernel)
    resumed = agent.asked[-1].turn.resumed
    assert resumed is not None
    assert (resumed.question, resumed.state) == ("Really?", {"n": 2})


async def test_unified_chats_wait_together(
    open_kernel: OpenKernel, clock: ManualClock, agent: ScriptedAgent
) -> None:
    kernel = await open_kernel(settings=Settings(unified_session=True))
    for policy in (Policy(), Policy(busy=Busy.SKIP)):
        await kernel.schedule(
            "web:2", At(clock.now() + timedelta(hours=1)), Ask("Check the mail"), policy=policy
        )
    await ask_for_approval(kernel, agent)
    clock.advance(hours=1)
    await quiet(kernel)
    assert len(agent.asked) == 1
    await kernel.receive("web:2", "yes")
    await quiet(kernel)
    assert [asked.text for asked in agent.asked] == ["Pay the bill", "yes", "Check the mail"]
    assert agent.asked[1].turn.resumed is not None


async def test_a_deleted_session_leaves_nothing(kernel: Kernel, agent: ScriptedAgent) -> None:
    await ask_for_approval(kernel, agent)
    await kernel.sessions.delete(CHAT)
    assert await kernel.audit() == {}
    await kernel.receive(CHAT, "Hello")
    await quiet(kernel)
    assert agent.asked[-1].turn.resumed is None


@pytest.mark.parametrize(
    ("wrong", "error", "sentence"),
    [
        (lambda: Waiting(" "), EmptyText, "needs a question"),
        (lambda: Waiting("Pay?", until=datetime(2030, 1, 1)), BadTime, "needs a time zone"),  # noqa: DTZ001
        (lambda: Waiting("Pay?", state={"run": object()}), NotJson, "Waiting.state is a JSON object"),
    ],
    ids=["no question", "no zone", "not JSON"],
)
def test_a_wrong_question_is_refused(wrong: object, error: type[Exception], sentence: str) -> None:
    assert callable(wrong)
    with pytest.raises(error, match=sentence):
        wrong()


@pytest.mark.parametrize("days", [-1, 31])
async def test_waiting_has_a_limit(
    kernel: Kernel, clock: ManualClock, agent: ScriptedAgent, days: int
) -> None:
    until = clock.now() + timedelta(days=days)
    turn = await kernel.turns.get(await ask_for_approval(kernel, agent, Waiting("Pay?", until=until)))
    assert turn.outcome == "error"
    assert "Waiting.until lies between now and 30 days from now" in (turn.error or "")
