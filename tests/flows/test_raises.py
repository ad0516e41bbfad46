"""A reply to the question of a budget raises it for the rest of its period, without a model."""

from datetime import UTC, datetime
from typing import Any

import pytest

from segue import Ask, Every, Job, Kernel, Policy, Settings
from segue.kernel.transactions.lane import QueuedTurn
from segue.kernel.transactions.replies import Acted
from segue.model.cost.budget import Budget
from segue.testing import ManualClock, RecordingChannel, ScriptedAgent, quiet
from tests.flows.house import OpenKernel
from tests.flows.story import CHAT, outcomes, said
from tests.flows.test_budgets import hours
from tests.flows.test_replies import newest_id, reply

ONE_A_DAY: dict[str, Any] = {"runs": 1, "per": "day", "over": "ask"}
RAISED = "Raised: look may use another 1 run today. It runs next today at 12:00."


async def asked(
    kernel: Kernel, clock: ManualClock, budget: dict[str, Any] | None = None, key: str = CHAT
) -> Job:
    """A job whose budget had no room at 11:00, so that its session was asked."""
    policy = Policy(budget=budget or ONE_A_DAY)  # type: ignore[arg-type]
    job = await kernel.schedule(key, Every(3600), Ask("Look."), name="look", policy=policy)
    await hours(kernel, clock, 2)
    assert any(text.endswith("Raise it for today?") for _, text in await said(kernel, key))
    return job


@pytest.mark.parametrize("word", ["yes", "Yes, please!", "go on", "ja", "oui", "sí", "да", "好的"])
async def test_yes_raises_the_budget_until_its_period_ends(
    kernel: Kernel, clock: ManualClock, agent: ScriptedAgent, word: str
) -> None:
    job = await asked(kernel, clock)
    turns = len(agent.asked)
    done = await reply(kernel, word)
    assert (done.job_id, done.line, done.undo) == (job.id, RAISED, "undo")
    assert (await said(kernel))[-2:] == [("user", word), ("assistant", RAISED)]
    assert len(agent.asked) == turns
    await hours(kernel, clock, 2)
    assert await outcomes(kernel, job) == ["ok", "skipped", "ok", "skipped"]
    clock.set(datetime(2026, 11, 17, tzinfo=UTC))
    await hours(kernel, clock, 2)
    assert (await outcomes(kernel, job))[-2:] == ["ok", "skipped"], "a new day has the old budget"


@pytest.mark.parametrize("word", ["undo", "Mach das rückgängig", "annule", "deshazlo", "отмени", "撤销"])
async def test_undo_takes_the_raise_back(
    kernel: Kernel, clock: ManualClock, agent: ScriptedAgent, word: str
) -> None:
    job = await asked(kernel, clock)
    await reply(kernel, "yes")
    done = await reply(kernel, word)
    assert done.line == "Taken back: the budget of look is 1 run today again."
    await hours(kernel, clock, 1)
    assert await outcomes(kernel, job) == ["ok", "skipped", "skipped"]
    assert isinstance(await kernel.replies.take(CHAT, word), QueuedTurn), "there is no raise to undo"


async def test_a_question_raises_its_budget_once(kernel: Kernel, clock: ManualClock) -> None:
    job = await asked(kernel, clock)
    question = await newest_id(kernel)
    await reply(kernel, "yes", reply_to=question)
    again = await reply(kernel, "yes", reply_to=question)
    assert again.line == "Already raised: the budget of look today."
    [of_job] = (await kernel.sessions.budget(CHAT)).jobs
    assert of_job.now.left == 1
    await reply(kernel, "undo", reply_to=question)
    await reply(kernel, "yes", reply_to=question)
    await hours(kernel, clock, 1)
    assert (await outcomes(kernel, job))[-1] == "ok"


async def test_an_answer_in_the_next_period_raises_nothing(kernel: Kernel, clock: ManualClock) -> None:
    await asked(kernel, clock)
    question = await newest_id(kernel)
    clock.set(datetime(2026, 11, 17, 0, 30, tzinfo=UTC))
    done = await reply(kernel, "yes", reply_to=question)
    assert done.line == "Not raised: a new day has begun, and the budget of look with it."
    [of_job] = (await kernel.sessions.budget(CHAT)).jobs
    assert of_job.now.left == 1
    await quiet(kernel)


async def test_the_budget_of_the_session_is_raised_for_all_its_jobs(
    kernel: Kernel, clock: ManualClock
) -> None:
    jobs = [await kernel.schedule(CHAT, Every(3600), Ask("?"), name=name) for name in ("one", "two")]
    await kernel.sessions.update(CHAT, budget=Budget.from_json({"runs": 2, "per": "week", "over": "ask"}))
    await hours(kernel, clock, 2)
    line = (await reply(kernel, "yes", reply_to=await newest_id(kernel))).line
    assert line.startswith("Raised: the jobs of this session may use another 2 runs this week.")
    await hours(kernel, clock, 2)
    for job in jobs:
        assert await outcomes(kernel, job) == ["ok", "skipped", "ok", "skipped"]


async def test_yes_to_anything_else_is_left_to_the_agent(
    kernel: Kernel, clock: ManualClock, agent: ScriptedAgent
) -> None:
    for n, budget in enumerate((None, {"runs": 1, "per": "day"}, {"runs": 1, "per": "day", "over": "pause"})):
        key = f"web:{n}"
        policy = Policy(budget=budget)  # type: ignore[arg-type]
        await kernel.schedule(key, Every(3600), Ask("Look."), name="look", policy=policy)
    await hours(kernel, clock, 2)
    for n in range(3):
        for word in ("yes", "undo"):
            assert isinstance(await kernel.replies.take(f"web:{n}", word), QueuedTurn)
            clock.advance(minutes=1)
            await quiet(kernel)


async def test_two_jobs_that_spoke_make_a_question(kernel: Kernel, clock: ManualClock) -> None:
    await kernel.schedule(CHAT, Every(3600), Ask("Talk."), name="talk")
    await asked(kernel, clock)
    done = await reply(kernel, "go on")
    assert done.action == "which"
    question = next(
        message for message in await kernel.messages(CHAT, limit=100) if message.content.endswith("today?")
    )
    session = await kernel.sessions.get(CHAT)
    assert (await reply(kernel, "yes", reply_to=f"{session.id}-{question.seq:x}")).line == RAISED


async def test_go_on_resumes_a_job_that_is_paused(kernel: Kernel, clock: ManualClock) -> None:
    job = await asked(kernel, clock)
    question = await newest_id(kernel)
    await kernel.jobs.pause(job.id)
    assert (await reply(kernel, "go on", reply_to=question)).line.startswith("Resumed: look.")
    assert (await reply(kernel, "yes", reply_to=question)).line == RAISED


async def test_no_reply_raises_the_budget_of_the_account(open_kernel: OpenKernel, clock: ManualClock) -> None:
    kernel = await open_kernel(settings=Settings(account_budget=Budget.from_json(ONE_A_DAY)))
    await kernel.schedule(CHAT, Every(3600), Ask("Look."), name="look")
    await hours(kernel, clock, 2)
    assert (await said(kernel))[-1][1].endswith("Only an operator can raise it.")
    assert isinstance(await kernel.replies.take(CHAT, "yes"), QueuedTurn)
    await quiet(kernel)


async def test_a_quote_on_a_network_raises_the_budget_and_the_line_is_sent(
    open_kernel: OpenKernel, clock: ManualClock
) -> None:
    channel = RecordingChannel("test")
    kernel = await open_kernel(channels=[channel])
    await asked(kernel, clock, key="test:1")
    done = await kernel.replies.take("test:1", "yes", reply_to=await newest_id(kernel, "test:1"))
    assert isinstance(done, Acted)
    await quiet(kernel)
    assert (await said(kernel, "test:1"))[-1] == ("assistant", RAISED)
    assert [text for text in map(str, channel.sent) if "Raised: look" in text]
