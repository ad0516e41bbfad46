"""What a job's requests have in common from run to run, counted on the wire, and what that saves.

The default model agent with all its tools, against a provider double with a prefix cache. The short form has
12 runs in three of the eight cases, the long one (`SEGUE_LONG=1`) has 100 in all.
"""

import os
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from segue import Ask, Every, Kernel, Stored
from segue.agents import make_agent
from segue.agents.llm import ModelAgent
from segue.config import Configuration
from segue.model.cost.usage import run_usage
from segue.model.records import Run
from segue.testing import ManualClock, quiet
from tests.agents.house import MODELS
from tests.cost.caching_provider import CachingProvider, Seen
from tests.crash.figures import Record

CHAT = "web:1"
LONG = os.environ.get("SEGUE_LONG") == "1"
RUNS = 100 if LONG else 12
ALL_CASES = [(minutes, talks, memories) for minutes in (4, 60) for talks in (0, 1) for memories in (0, 1)]
CASES = ALL_CASES if LONG else [(4, 1, 1), (4, 0, 0), (60, 1, 0)]
TALK = [
    (
        "user",
        "The disk to watch is called sda7, and 90 percent is too much. " + "It has two partitions. " * 40,
    ),
    ("assistant", "Noted: sda7, and 90 percent. " + "I will watch its partitions too. " * 30),
] * 9
"""More than 4,000 tokens."""
FACTS = [f"I keep the backup of disk number {n} in room {n}. Remember that." for n in range(12)]


@pytest.fixture(params=list(MODELS))
def dialect(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@asynccontextmanager
async def opened(
    folder: Path, provider: CachingProvider, clock: ManualClock, patch: pytest.MonkeyPatch, **settings: Any
) -> AsyncIterator[Kernel]:
    async with AsyncExitStack() as stack:
        await stack.enter_async_context(provider.listening())
        for variable, url in (("OPENAI", f"{provider.url}/v1"), ("ANTHROPIC", provider.url)):
            patch.setenv(f"{variable}_BASE_URL", url)
            patch.setenv(f"{variable}_API_KEY", "sk-our-own-secret")
        configuration = Configuration.load(
            env={"HOME": str(folder), "TZ": "UTC"}, workspace=folder, timezone="Europe/Berlin", **settings
        )
        agent = make_agent(configuration)
        assert isinstance(agent, ModelAgent)
        await stack.enter_async_context(agent)
        kernel = Kernel(
            "sqlite://:memory:",
            agent=agent,
            channels=[Stored("web")],
            clock=clock,
            settings=configuration.kernel_settings(),
        )
        yield await stack.enter_async_context(kernel)
        assert not await kernel.audit()


async def remember(kernel: Kernel) -> None:
    """Put memories of the same user into another, archived conversation."""
    await kernel.log.write_all("web:2", [("user", fact) for fact in FACTS])
    await kernel.memory.commit("web:2")
    await quiet(kernel)


async def run_job(
    kernel: Kernel, clock: ManualClock, *, minutes: int, talks: bool, ask: Ask | None = None
) -> list[Run]:
    await kernel.log.write_all(CHAT, TALK)
    ask = ask or Ask("How full is the disk, and where is its backup?")
    await kernel.schedule(CHAT, Every(60 * minutes), ask, name="disk")
    for n in range(RUNS):
        if talks:
            await kernel.receive(CHAT, f"And what of the room of disk {n}?")
            await quiet(kernel)
        clock.advance(minutes=minutes)
        await quiet(kernel)
    runs = await kernel.runs.list(CHAT, limit=500)
    assert [run.outcome for run in runs] == ["ok"] * RUNS
    return runs


def folds(seen: Seen) -> list[str]:
    return [segment for segment in seen.segments if "(disk ×" in segment]


@pytest.mark.parametrize(("minutes", "talks", "memories"), CASES)
async def test_everything_before_a_turns_own_prompt_is_the_request_before_it(
    tmp_path: Path,
    clock: ManualClock,
    monkeypatch: pytest.MonkeyPatch,
    figure: Record,
    dialect: str,
    minutes: int,
    talks: int,
    memories: int,
) -> None:
    provider = CachingProvider(clock, dialect)
    async with opened(tmp_path, provider, clock, monkeypatch, model=MODELS[dialect]) as kernel:
        if memories:
            await remember(kernel)
        await run_job(kernel, clock, minutes=minutes, talks=bool(talks))
    shares, steps = [], []
    for earlier, later in pairwise(provider.seen):
        assert earlier.history_tokens > 4_000
        assert ("Said before" in later.text) is bool(memories)
        if folds(earlier) != folds(later):
            steps.append(earlier.common(later))
            continue
        assert later.before[: earlier.own] == earlier.before
        shares.append(earlier.common(later))
    assert min(shares + steps) >= 0.9
    assert len(steps) <= RUNS // 3, "runs are folded in steps"
    figure("in common", f"at least {min(shares):.1%}; in {len(steps)} folding steps {min(steps):.1%}")


async def test_the_system_prompt_and_the_tools_are_the_same_whatever_caused_a_turn(
    tmp_path: Path, clock: ManualClock, monkeypatch: pytest.MonkeyPatch, dialect: str
) -> None:
    provider = CachingProvider(clock, dialect)
    async with opened(tmp_path, provider, clock, monkeypatch, model=MODELS[dialect]) as kernel:
        await kernel.receive(CHAT, "Hello.")
        await quiet(kernel)
        await kernel.schedule(CHAT, Every(600), Ask("Look."), name="look")
        await kernel.recalls.add(CHAT, "Ask how it went.", when="in 25 minutes")
        for _ in range(3):
            clock.advance(minutes=10)
            await quiet(kernel)
        await kernel.receive(CHAT, "Anything new?")
        await quiet(kernel)
    assert len(provider.seen) == 6
    assert len({tuple(seen.segments[:2]) for seen in provider.seen}) == 1


async def test_the_prompts_of_many_runs_cost_a_quarter(
    tmp_path: Path, clock: ManualClock, monkeypatch: pytest.MonkeyPatch, figure: Record, dialect: str
) -> None:
    provider = CachingProvider(clock, dialect)
    async with opened(tmp_path, provider, clock, monkeypatch, model=MODELS[dialect]) as kernel:
        await remember(kernel)
        runs = await run_job(kernel, clock, minutes=4, talks=False)
    later = provider.seen[1:]
    share = sum(seen.cost(dialect) for seen in later) / sum(seen.tokens for seen in later)
    growth = provider.seen[-1].tokens / provider.seen[1].tokens
    figure("cost", f"{share:.3f} of uncached; run {RUNS} is {growth:.2f} times the second")
    assert share <= 0.25
    assert growth <= 1.2
    for run, seen in zip(reversed(runs), provider.seen, strict=True):
        usage = run_usage(run.usage)
        assert usage is not None
        assert (usage.cache_read_tokens, usage.cache_write_tokens) == (seen.read, seen.written)
        assert usage.input_tokens == seen.tokens
        assert usage.cost_usd is not None


@pytest.mark.parametrize("ttl", ["5m", "1h"])
async def test_anthropic_is_given_two_marks_and_others_none(
    tmp_path: Path, clock: ManualClock, monkeypatch: pytest.MonkeyPatch, dialect: str, ttl: str
) -> None:
    provider = CachingProvider(clock, dialect)
    async with opened(tmp_path, provider, clock, monkeypatch, model=MODELS[dialect], cache_ttl=ttl) as kernel:
        for text in ("Hello.", "Hello again."):
            await kernel.receive(CHAT, text)
            await quiet(kernel)
    first, second = provider.seen
    assert first.marks == ([2] if dialect == "anthropic" else [])
    assert second.marks == ([2, second.own] if dialect == "anthropic" else [])
    found = marks_in(second.request.body)
    assert all(mark == {"type": "ephemeral", "ttl": ttl} for mark in found), found


def marks_in(value: Any) -> list[Any]:
    if isinstance(value, list):
        return [mark for each in value for mark in marks_in(each)]
    if not isinstance(value, dict):
        return []
    own = [value["cache_control"]] if "cache_control" in value else []
    return own + [mark for each in value.values() for mark in marks_in(each)]
