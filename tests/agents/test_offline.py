"""Offline agent: it says what it is, and calls tools for what it understands."""

from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

import pytest
import pytest_asyncio

from segue import Ask, Every, Kernel, Say, Settings
from segue.agents.offline import OfflineAgent, words
from segue.agents.tools.fetch import fetch_tool
from segue.agents.tools.files import file_tools
from segue.agents.tools.registry import Registry
from segue.testing import ManualClock, quiet

CHAT = "web:1"


@pytest_asyncio.fixture
async def kernel(migrated_sqlite_url: str, clock: ManualClock, tmp_path: Path) -> AsyncIterator[Kernel]:
    (tmp_path / "notes.md").write_text("Water the plants.\n")
    tools = Registry([*file_tools(tmp_path), fetch_tool()])
    agent = OfflineAgent(tools)
    settings = Settings(timezone="Europe/Berlin")
    async with Kernel(migrated_sqlite_url, agent=agent, clock=clock, settings=settings) as opened:
        yield opened
        assert not await opened.audit()


@pytest.fixture
def ask(kernel: Kernel) -> Callable[[str], Awaitable[str]]:
    async def asked(text: str) -> str:
        admitted = await kernel.receive(CHAT, text)
        await quiet(kernel)
        return (await kernel.turns.get(admitted.turn_id)).reply or ""

    return asked


Asking = Callable[[str], Awaitable[str]]


@pytest.mark.parametrize("greeting", ["hi", "Hello!", "good morning", "Hey there"])
async def test_it_greets_and_says_what_it_is(ask: Asking, greeting: str) -> None:
    assert (await ask(greeting)).startswith("Hello! I am the offline model of Segue")


@pytest.mark.parametrize("question", ["What can you do?", "help", "who are you?"])
async def test_it_says_what_it_can_do(ask: Asking, question: str) -> None:
    answer = await ask(question)
    for example in ("read file notes.md", "list files", "fetch https://example.org", "what is scheduled?"):
        assert f"- {example}" in answer
    assert "SEGUE_MODEL" in answer


async def test_it_offers_only_what_its_tools_can_do(clock: ManualClock) -> None:
    agent = OfflineAgent(Registry())
    async with Kernel("sqlite://:memory:", agent=agent, clock=clock) as opened:
        admitted = await opened.receive(CHAT, "What can you do?")
        await quiet(opened)
        assert "read file" not in ((await opened.turns.get(admitted.turn_id)).reply or "")


async def test_it_knows_the_time_of_its_zone(ask: Asking) -> None:
    assert await ask("what time is it?") == "It is 10:00 on Monday, 16 November 2026 in Europe/Berlin."


@pytest.mark.parametrize("request_", ["read file notes.md", "Please show me the file 'notes.md'."])
async def test_it_really_reads_a_file(kernel: Kernel, ask: Asking, request_: str) -> None:
    assert "Water the plants." in await ask(request_)
    kinds = [event.type for event in await kernel.log.events(CHAT)]
    assert kinds == ["stream_start", "tool_started", "tool_call", "stream_end", "session_sync"]


async def test_it_lists_the_files(ask: Asking) -> None:
    assert "notes.md (18 bytes)" in await ask("list files")
    assert "there is no nothing" in await ask("list the files in nothing")


async def test_it_says_why_something_did_not_work(ask: Asking) -> None:
    assert (await ask("read file ../secret")).startswith("That did not work: '..' leads out")
    assert "is not a public address" in await ask("fetch http://127.0.0.1:1/.")


async def test_it_tells_what_is_scheduled(kernel: Kernel, ask: Asking) -> None:
    assert await ask("what is scheduled?") == "Nothing is scheduled here."
    await kernel.schedule(CHAT, Every(3600), Say("Drink."), name="water")
    paused = await kernel.schedule(CHAT, Every(3600), Say("Stretch."), name="stretch")
    await kernel.jobs.pause(paused.id)
    answer = await ask("What's scheduled?")
    assert "- water: next at 11:00" in answer
    assert "- stretch (paused)" in answer


async def test_a_scheduled_turn_says_what_is_due(kernel: Kernel, clock: ManualClock) -> None:
    await kernel.schedule(CHAT, Every(3600), Ask("Look at the build."))
    clock.advance(hours=1)
    await quiet(kernel)
    assert (await kernel.messages(CHAT))[-1].content == "It is 11:00, and this is due: “Look at the build.”"


async def test_it_repeats_what_it_does_not_understand(ask: Asking) -> None:
    answer = await ask("Why is the sky blue?")
    assert answer.startswith("You said “Why is the sky blue?”. I am the offline model")


@pytest.mark.parametrize("text", ["One two  three\n\nfour\n", "", " ", "one", "a\u2028b c"])
def test_words_together_are_the_text(text: str) -> None:
    assert "".join(words(text)) == text
    assert all(piece.count(" ") <= 1 for piece in words(text))
