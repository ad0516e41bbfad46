"""The size of the requests to a provider for a job's second run and for its hundredth, with archiving on.

The default model agent with all its tools, and the model as the extractor, against a double of the provider:
instructions, schemas, summary, history and prompt are counted as they are sent.
"""

import json
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

import pytest

from segue import Kernel, Stored
from segue.agents import make_agent
from segue.agents.extractor import ModelExtractor
from segue.agents.llm import ModelAgent, load_model
from segue.config import Configuration
from segue.model.tokens import estimate
from segue.testing import ManualClock
from segue.testing.scripted_provider import Line, ProviderRequest, ScriptedProvider, says, words_sent
from segue.testing.wire_formats import Calls
from tests.agents.house import MODELS
from tests.crash.figures import Record
from tests.memory.test_growth import CHAT, COMMITS, REPORT, RUNS, a_hundred_days

SUMMARY = """\
# Session title
Watching the disk sda7
# Current state
The job “disk” asks every day how full the disk is, and is answered with its level. Nothing was wrong so far.
# Tasks and goals
Say how full the disk is, and whether that is too much.
# Key facts and decisions
The disk to watch is called sda7. 90 percent is too much.
# Open issues
None."""
"""As a model writes one of such a conversation, by the sections that it is asked for."""


class Provider(ScriptedProvider):
    """It answers the job with a report and the day's number, and the extractor with what it asks for."""

    def __init__(self, report: str) -> None:
        super().__init__()
        self._report = report
        self.runs: list[ProviderRequest] = []

    def line_for(self, asked: ProviderRequest) -> Line:
        tools = [tool["function"]["name"] for tool in asked.body["tools"]]
        if tools == ["remember"]:
            return says(Calls("remember", json.dumps({"summary": SUMMARY})))
        if tools == ["learn"]:
            return says(Calls("learn", json.dumps({"lessons": []})))
        self.runs.append(asked)
        return says(f"{self._report} {len(self.runs)}%")


@asynccontextmanager
async def open_kernel_with(
    folder: Path, provider: Provider, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[Kernel]:
    async with AsyncExitStack() as opened:
        await opened.enter_async_context(provider.listening())
        monkeypatch.setenv("OPENAI_BASE_URL", f"{provider.url}/v1")
        monkeypatch.setenv("OPENAI_API_KEY", "sk-our-own-secret")
        configuration = Configuration.load(
            env={"HOME": str(folder), "TZ": "UTC"}, model=MODELS["openai"], workspace=folder
        )
        agent = make_agent(configuration)
        assert isinstance(agent, ModelAgent)
        reader = await opened.enter_async_context(load_model(MODELS["openai"]))
        kernel = Kernel(
            "sqlite://:memory:",
            agent=await opened.enter_async_context(agent),
            extractor=ModelExtractor(reader),
            channels=[Stored("web")],
            clock=clock,
        )
        yield await opened.enter_async_context(kernel)


def sent(asked: ProviderRequest) -> int:
    """In tokens: the instructions, the schemas of the tools, and every message."""
    return estimate(json.dumps([asked.body["messages"], asked.body["tools"]], ensure_ascii=False))


def words(asked: ProviderRequest) -> str:
    return "\n".join(text for _, text in words_sent(asked.body))


@pytest.mark.parametrize("report", ["", REPORT], ids=["short", "long"])
async def test_the_hundredth_request_is_as_long_as_the_second_within_a_fifth(
    tmp_path: Path,
    clock: ManualClock,
    monkeypatch: pytest.MonkeyPatch,
    figure: Record,
    report: str,
) -> None:
    provider = Provider(report)
    async with open_kernel_with(tmp_path, provider, clock, monkeypatch) as kernel:
        await a_hundred_days(kernel, clock, policy=COMMITS)
        assert len(await kernel.memory.archives(CHAT)) > 3
    second, last = provider.runs[1], provider.runs[RUNS - 1]
    figure("tokens", f"the second {sent(second):,}, the hundredth {sent(last):,}")
    assert sent(last) <= 1.2 * sent(second)
    for asked, found in ((second, "1%"), (last, "99%")):
        assert "sda7" in words(asked)
        assert f" {found}" in words(asked)
