"""A job that runs every day for a hundred days: its agent's context does not grow, and is sufficient."""

import pytest

from segue import Ask, Cron, Every, Kernel, OpenTurn
from segue.model.auto_commit import AutoCommitPolicy
from segue.model.tokens import estimate
from segue.testing import ManualClock, ScriptedAgent, quiet
from segue.testing.scripted_agent import Asked
from tests.flows.house import OpenKernel

pytestmark = pytest.mark.new_connections

CHAT = "web:1"
RUNS = 100
FACT = "The disk to watch is called sda7, and 90 percent is too much."
REPORT = " ".join(["Nothing out of the ordinary was found on any of the volumes."] * 40)
COMMITS = AutoCommitPolicy(enabled=True, message_count_threshold=30, keep_recent_count=2)
SUMMARY = 50
"""Tokens, of one that has two lines."""
NOT_FOLDED = 9 * 20
"""Tokens of up to nine runs with short answers; ten are folded. Runs with long answers are folded at once."""


def given(asked: Asked) -> int:
    """All that a model is sent for it, in tokens."""
    return estimate(asked.turn.prompt) + history(asked)


def history(asked: Asked) -> int:
    return sum(estimate(message.content) for message in asked.history)


def words(asked: Asked) -> str:
    return "\n".join(message.content for message in asked.history)


def assert_enough(asked: Asked, *, found: str) -> None:
    """What the user told it, and what it found the last time."""
    assert "sda7" in words(asked)
    assert f" {found}" in words(asked)


def reports(report: str) -> list[str]:
    return [f"{report} {day}%" for day in range(1, RUNS + 1)]


async def a_hundred_days(
    kernel: Kernel, clock: ManualClock, *, policy: AutoCommitPolicy | None = None
) -> None:
    await kernel.log.write_all(CHAT, [("user", FACT), ("assistant", "Noted.")], auto_commit_policy=policy)
    await kernel.schedule(CHAT, Cron("0 9 * * *", "UTC"), Ask("How full is the disk?"), name="disk")
    for _ in range(RUNS):
        clock.advance(days=1)
        await quiet(kernel)
    assert len(await kernel.runs.list(CHAT, limit=RUNS + 1)) == RUNS


@pytest.mark.parametrize("report", ["", REPORT], ids=["short", "long"])
async def test_the_hundredth_run_is_given_as_much_as_the_second_within_a_fifth(
    kernel: Kernel, clock: ManualClock, agent: ScriptedAgent, report: str
) -> None:
    """In its history alone, too. All that a provider is sent is compared in `test_whole_request`."""
    agent.script(*reports(report))
    await a_hundred_days(kernel, clock)
    second, last = agent.asked[1], agent.asked[-1]
    assert given(last) <= 1.2 * given(second) + NOT_FOLDED
    assert history(last) <= 1.2 * history(second) + NOT_FOLDED
    assert_enough(second, found="1%")
    assert_enough(last, found="99%")
    assert f"(disk ×{99 if report else 90}, last changed" in words(last)


@pytest.mark.parametrize("report", ["", REPORT], ids=["short", "long"])
async def test_with_commits_it_does_not_grow_either(
    kernel: Kernel, clock: ManualClock, agent: ScriptedAgent, report: str
) -> None:
    """The first commit adds a summary, once. Where answers are a word or two, that is more than a fifth of
    the conversation; of all that a model is sent it is little (`test_whole_request`)."""
    agent.script(*reports(report))
    await a_hundred_days(kernel, clock, policy=COMMITS)
    assert len(await kernel.memory.archives(CHAT)) > 3
    second, middle, last = agent.asked[1], agent.asked[RUNS // 2], agent.asked[-1]
    assert given(last) <= 1.2 * given(middle) + NOT_FOLDED
    assert given(last) <= 1.2 * given(second) + SUMMARY + NOT_FOLDED
    assert_enough(last, found="99%")


async def test_a_run_knows_the_result_of_the_last_one_even_if_that_was_archived(
    kernel: Kernel, clock: ManualClock, agent: ScriptedAgent
) -> None:
    """No messages are kept: between two runs, everything may have become a summary."""
    keeps_none = AutoCommitPolicy(enabled=True, message_count_threshold=4)
    agent.script(*reports(""))
    await a_hundred_days(kernel, clock, policy=keeps_none)
    for day, asked in enumerate(agent.asked[1:], 1):
        assert_enough(asked, found=f"{day}%")


async def test_every_run_is_in_the_log_as_it_was(
    kernel: Kernel, clock: ManualClock, agent: ScriptedAgent
) -> None:
    await kernel.schedule(CHAT, Every(60), Ask("Look."), name="look")
    for _ in range(5):
        clock.advance(minutes=1)
        await quiet(kernel)
    said = [message.content for message in await kernel.messages(CHAT)]
    assert said == ["Scheduled cron job triggered: look\n\nLook.", "ok"] * 5


async def test_users_messages_are_not_displaced_by_runs(open_kernel: OpenKernel, clock: ManualClock) -> None:
    """Sixty runs are more than twenty messages; folded they are two."""
    given: list[list[str]] = []

    async def answer(turn: OpenTurn) -> str:
        given.append([message.content for message in await turn.history(20)])
        return "ok"

    kernel = await open_kernel(agent=answer)
    await kernel.log.write(CHAT, "user", FACT)
    await kernel.schedule(CHAT, Every(60), Ask("Look."), name="look")
    for _ in range(61):
        clock.advance(minutes=1)
        await quiet(kernel)
    fact, opening, last = given[-1]
    assert (fact, last) == (FACT, "ok")
    assert opening.startswith("(look ×60, last changed")
