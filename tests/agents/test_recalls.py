"""Recalls set by an agent: the model agent and the offline agent."""

import json
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from segue import JobKind, Kernel, Settings
from segue.agents.llm import ModelLimits
from segue.agents.offline import OfflineAgent
from segue.agents.tools.cron import cron_tool
from segue.agents.tools.files import file_tools
from segue.agents.tools.instructions import GOOD, lazy
from segue.agents.tools.recalls import recall_tools
from segue.agents.tools.registry import Registry
from segue.testing import ManualClock, quiet
from segue.testing.scripted_provider import says, words_sent
from segue.testing.wire_formats import Calls
from tests.agents.house import CHAT, OpenHarness

SET = json.dumps({"call_type": "once", "when": "30m", "additional_context_message": GOOD})
LIST = json.dumps({"action": "list"})


async def test_a_model_calls_itself_back_with_its_own_instruction(
    open_harness: OpenHarness, dialect: str
) -> None:
    """C5.8: the instruction comes after the history, as a system message."""
    harness = await open_harness(dialect, tools=recall_tools())
    harness.provider.script(says(Calls("schedule_recall", SET)), says("I will look."), says("No errors."))
    await harness.ask("Watch the build.")
    harness.clock.advance(minutes=30)
    await quiet(harness.kernel)
    *_, (role, words) = words_sent(harness.provider.asked[-1].body)
    assert role == "system"
    assert GOOD in words
    assert (await harness.transcript())[-2:] == [
        ("user", f"Recall: {GOOD[:80]}"),
        ("assistant", "No errors."),
    ]


async def test_the_rules_of_a_good_instruction_reach_the_model(open_harness: OpenHarness) -> None:
    """C2.5."""
    harness = await open_harness("openai", tools=recall_tools())
    await harness.ask("Hi")
    tools = {tool["function"]["name"]: tool["function"] for tool in harness.provider.asked[-1].body["tools"]}
    assert GOOD in tools["schedule_recall"]["description"]


async def test_a_recall_that_reaches_the_most_steps_has_fired(open_harness: OpenHarness) -> None:
    """C5.10: MaxIterationsReached counts as success."""
    harness = await open_harness("openai", tools=recall_tools(), limits=ModelLimits(steps=2))
    await harness.ask("Hi")
    await harness.kernel.recalls.add(CHAT, GOOD, when="30m")
    harness.provider.script(*[says(Calls("manage_recall", LIST)) for _ in range(5)])
    harness.clock.advance(minutes=30)
    await quiet(harness.kernel)
    [recall] = await harness.kernel.recalls.list(CHAT)
    [run] = await harness.kernel.runs.list(CHAT)
    assert (recall.status, run.outcome) == ("fired", "empty")
    assert run.usage is not None
    assert run.usage["ended"] == "after 2 model steps"


@pytest_asyncio.fixture
async def offline(migrated_sqlite_url: str, clock: ManualClock, tmp_path: Path) -> AsyncIterator[Kernel]:
    (tmp_path / "notes.md").write_text("Water the plants.\n")
    tools = Registry([cron_tool(), *recall_tools(), *file_tools(tmp_path)])
    agent = OfflineAgent(tools)
    settings = Settings(timezone="Europe/Berlin")
    async with Kernel(migrated_sqlite_url, agent=agent, clock=clock, settings=settings) as kernel:
        yield kernel
        assert not await kernel.audit()


async def ask(kernel: Kernel, text: str) -> str:
    admitted = await kernel.receive(CHAT, text)
    await quiet(kernel)
    return (await kernel.turns.get(admitted.turn_id)).reply or ""


@pytest.mark.parametrize(
    "asked",
    [
        "remind me in 10 minutes to drink water",
        "Remind me to drink water in 10 minutes.",
        "Could you please remind me in 10 minutes to drink water?",
    ],
)
async def test_the_offline_model_really_sets_a_reminder(
    offline: Kernel, clock: ManualClock, asked: str
) -> None:
    assert await ask(offline, asked) == "I will remind you at 10:10: drink water."
    (job,) = await offline.jobs.list(CHAT, kind=JobKind.CRON)
    assert (job.next_at, job.name) == (clock.ms() + 600_000, "drink water")
    assert await offline.recalls.get(CHAT) is None
    clock.advance(minutes=10)
    await quiet(offline)
    assert (await offline.messages(CHAT))[-1].content == "Reminder: drink water"


async def test_a_reminder_that_fires_is_written_and_not_set_again(
    offline: Kernel, clock: ManualClock
) -> None:
    await ask(offline, "remind me in 10 minutes to remind me in 10 minutes to smile")
    clock.advance(minutes=10)
    await quiet(offline)
    assert (await offline.messages(CHAT))[-1].content.startswith("Reminder: remind me")
    assert len(await offline.runs.list(CHAT)) == 1


async def test_it_checks_back_on_a_file_with_the_tool_for_it(offline: Kernel, clock: ManualClock) -> None:
    await ask(offline, "check back in 2 hours on file notes.md")
    clock.advance(hours=2)
    await quiet(offline)
    assert "Water the plants." in (await offline.messages(CHAT))[-1].content


async def test_it_checks_back_on_a_page_with_the_tool_for_it(offline: Kernel) -> None:
    await ask(offline, "check back in 2 hours on https://example.org/status")
    pending = await offline.recalls.get(CHAT)
    assert pending is not None
    assert pending.instruction == "Fetch https://example.org/status with fetch_url, and report what it says."


async def test_it_checks_back_on_what_was_talked_about(offline: Kernel, clock: ManualClock) -> None:
    await ask(offline, "check back tomorrow at 9 about the venue")
    pending = await offline.recalls.get(CHAT)
    assert pending is not None
    assert not lazy(pending.instruction)
    await ask(offline, "The venue is the town hall.")
    clock.advance(days=1)
    await quiet(offline)
    assert "I am back about “the venue”" in (await offline.messages(CHAT))[-1].content


@pytest.mark.parametrize("asked", ["Cancel the recall.", "cancel that", "forget my callback"])
async def test_it_really_cancels(offline: Kernel, clock: ManualClock, asked: str) -> None:
    assert (await ask(offline, asked)) == "There is nothing to cancel."
    await ask(offline, "check back in 10 minutes on the oven")
    assert await ask(offline, asked) == "It is cancelled."
    clock.advance(minutes=10)
    await quiet(offline)
    assert [str(recall.status) for recall in await offline.recalls.list(CHAT)] == ["cancelled"]


async def test_it_says_why_it_could_not(offline: Kernel) -> None:
    assert "When, and of what?" in await ask(offline, "remind me to be good")
    await ask(offline, "check back in 10 minutes on the oven")
    assert "I am already coming back here once" in await ask(offline, "check back in 20 minutes on the soup")


async def test_it_offers_what_it_can_do(offline: Kernel) -> None:
    said = await ask(offline, "what can you do?")
    for example in (
        "remind me in 10 minutes to drink water",
        "cancel that reminder",
        "check back in 2 hours",
    ):
        assert example in said
