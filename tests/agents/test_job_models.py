"""A job's own model, and a cheaper one that looks first."""

import json
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from segue import Ask, Every, Job, Kernel, Run, Settings
from segue.agents import make_agent
from segue.agents.llm import ModelAgent
from segue.agents.tools.cron import cron_tool
from segue.config import Configuration
from segue.errors import Invalid, UnknownModel
from segue.model.cost.usage import run_usage
from segue.model.prompts import QUIET, Mode
from segue.testing import ManualClock, ScriptedAgent, quiet
from segue.testing.scripted_provider import ProviderRequest, ScriptedProvider, says, words_sent
from segue.testing.wire_formats import Calls

CHAT = "web:1"
RUNS = 100
MODELS = {
    "fast": "openai-chat:gpt-4o-mini",
    "best": "anthropic:claude-haiku-5-5",
    "usual": "openai-chat:gpt-4o",
}


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest_asyncio.fixture
async def provider(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[ScriptedProvider]:
    double = ScriptedProvider()
    async with double.listening():
        for variable, url in (("OPENAI", f"{double.url}/v1"), ("ANTHROPIC", double.url)):
            monkeypatch.setenv(f"{variable}_BASE_URL", url)
            monkeypatch.setenv(f"{variable}_API_KEY", "sk-our-own-secret")
        yield double


@pytest_asyncio.fixture
async def kernel(
    provider: ScriptedProvider, migrated_sqlite_url: str, tmp_path: Path, clock: ManualClock
) -> AsyncIterator[Kernel]:
    configuration = Configuration.load(env={"HOME": str(tmp_path)}, model=MODELS["usual"], models=MODELS)
    async with AsyncExitStack() as stack:
        agent = make_agent(configuration)
        assert isinstance(agent, ModelAgent)
        await stack.enter_async_context(agent)
        settings = configuration.kernel_settings()
        opened = Kernel(migrated_sqlite_url, agent=agent, clock=clock, settings=settings)
        yield await stack.enter_async_context(opened)
        assert not await opened.audit()


async def run_once(kernel: Kernel, clock: ManualClock, action: Ask) -> Run:
    await kernel.schedule(CHAT, Every(60), action, name="job")
    clock.advance(minutes=1)
    await quiet(kernel)
    (run,) = await kernel.runs.list(CHAT, limit=5)
    return run


def asked_models(provider: ScriptedProvider) -> list[str]:
    return [asked.body["model"] for asked in provider.asked]


async def test_every_run_asks_the_jobs_own_model(
    kernel: Kernel, clock: ManualClock, provider: ScriptedProvider
) -> None:
    await kernel.schedule(CHAT, Every(60), Ask("Look.", model="best"))
    for _ in range(RUNS):
        clock.advance(minutes=1)
        await quiet(kernel)
    assert asked_models(provider) == ["claude-haiku-5-5"] * RUNS
    for run in await kernel.runs.list(CHAT, limit=RUNS):
        used = run_usage(run.usage)
        assert used is not None
        assert used.requests == {"best": 1}


async def test_a_user_is_answered_by_the_default_model(
    kernel: Kernel, clock: ManualClock, provider: ScriptedProvider
) -> None:
    await run_once(kernel, clock, Ask("Look.", model="fast"))
    await kernel.receive(CHAT, "Hello.")
    await quiet(kernel)
    assert asked_models(provider) == ["gpt-4o-mini", "gpt-4o"]


def ask_of(job: Job) -> Ask:
    assert isinstance(job.action, Ask)
    return job.action


async def test_a_job_keeps_the_name_of_the_model_that_was_the_default(clock: ManualClock) -> None:
    """A later change of the default does not move it."""
    before = Settings(models=MODELS, model=MODELS["usual"])
    async with Kernel("sqlite://:memory:", agent=ScriptedAgent(), clock=clock, settings=before) as kernel:
        job = await kernel.schedule(CHAT, Every(60), Ask("Look."))
        assert ask_of(job).model == "usual"
        stored = await kernel.jobs.get(job.id)
        assert ask_of(stored).model == "usual"
        recall = await kernel.recalls.add(CHAT, "Look.", when="in 10 minutes")
        assert ask_of(await kernel.jobs.get(recall.id)).model is None


async def test_nothing_found_by_the_first_look_costs_one_cheap_request(
    kernel: Kernel, clock: ManualClock, provider: ScriptedProvider
) -> None:
    provider.script(says(QUIET))
    run = await run_once(kernel, clock, Ask("Is the disk full?", mode=Mode.CHECK, model="best", look="fast"))
    assert (run.outcome, run.reason) == ("empty", "nothing to report; no tool was used")
    assert asked_models(provider) == ["gpt-4o-mini"]
    used = run_usage(run.usage)
    assert used is not None
    assert used.requests == {"fast": 1}


async def test_what_the_first_look_found_is_told_to_the_jobs_own_model(
    kernel: Kernel, clock: ManualClock, provider: ScriptedProvider
) -> None:
    provider.script(says("The disk is at 97 percent."), says("Your disk is nearly full."))
    run = await run_once(kernel, clock, Ask("Is the disk full?", mode=Mode.CHECK, model="best", look="fast"))
    assert run.outcome == "ok"
    assert asked_models(provider) == ["gpt-4o-mini", "claude-haiku-5-5"]
    assert "The disk is at 97 percent." in said(provider.asked[1])
    answers = [message.content for message in await kernel.messages(CHAT) if message.role == "assistant"]
    assert answers == ["Your disk is nearly full."]
    used = run_usage(run.usage)
    assert used is not None
    assert used.requests == {"fast": 1, "best": 1}


def said(asked: ProviderRequest) -> str:
    return "\n".join(text for _, text in words_sent(asked.body))


async def test_a_check_that_used_a_tool_is_told_apart(
    kernel: Kernel, clock: ManualClock, provider: ScriptedProvider
) -> None:
    provider.script(says(Calls("cron", '{"action": "list"}')), says(QUIET))
    run = await run_once(kernel, clock, Ask("Is the disk full?", mode=Mode.CHECK))
    assert (run.outcome, run.reason) == ("empty", "nothing to report")


async def test_a_model_that_is_gone_fails_the_run_with_a_sentence(tmp_path: Path, clock: ManualClock) -> None:
    url, agent = f"sqlite:///{tmp_path}/segue.db", ScriptedAgent()
    async with Kernel(url, agent=agent, clock=clock, settings=Settings(models=MODELS)) as kernel:
        await kernel.schedule(CHAT, Every(60), Ask("Look.", model="best"), name="job")
    left = Settings(models={name: model for name, model in MODELS.items() if name != "best"})
    async with Kernel(url, agent=agent, clock=clock, settings=left) as kernel:
        clock.advance(minutes=1)
        await quiet(kernel)
        (run,) = await kernel.runs.list(CHAT, limit=5)
        last = (await kernel.messages(CHAT))[-1].content
    assert (run.outcome, agent.asked) == ("error", [])
    assert run.error == "there is no model 'best'; there are: fast, usual"
    assert last == "The model “best” of this job is no longer in the settings. Choose another one for it."


async def test_a_model_without_its_key_fails_the_run_and_no_other_answers(
    kernel: Kernel, clock: ManualClock, provider: ScriptedProvider, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("ANTHROPIC_API_KEY")
    run = await run_once(kernel, clock, Ask("Look.", model="best"))
    assert run.outcome == "error"
    assert "ANTHROPIC_API_KEY" in (run.error or "")
    assert provider.asked == []


async def test_an_unknown_model_is_refused_with_the_list(kernel: Kernel) -> None:
    wrong: tuple[Ask, ...] = (Ask("Look.", model="bset"), Ask("Look.", mode=Mode.CHECK, look="bset"))
    for action in wrong:
        with pytest.raises(UnknownModel, match="fast, best, usual"):
            await kernel.schedule(CHAT, Every(60), action)
    job = await kernel.schedule(CHAT, Every(60), Ask("Look."))
    with pytest.raises(UnknownModel):
        await kernel.jobs.update(job.id, action=Ask("Look.", model="bset"))


def test_look_is_for_checks() -> None:
    with pytest.raises(Invalid, match="look is for a check"):
        Ask("Look.", look="fast")


def test_the_tool_offers_the_names() -> None:
    properties: dict[str, Any] = dict(cron_tool(MODELS).parameters["properties"])
    assert properties["model"]["enum"] == properties["look"]["enum"] == ["fast", "best", "usual"]
    assert "model" not in cron_tool().parameters["properties"]


async def test_a_model_makes_a_job_that_runs_on_another(
    kernel: Kernel, clock: ManualClock, provider: ScriptedProvider
) -> None:
    made = {"action": "add", "message": "Look.", "every_seconds": 60}
    made |= {"model": "best", "mode": "check", "look": "fast"}
    provider.script(says(Calls("cron", json.dumps(made))), says("Done."))
    await kernel.receive(CHAT, "Look every minute.")
    await quiet(kernel)
    (job,) = await kernel.jobs.list(CHAT)
    assert (ask_of(job).model, ask_of(job).look, ask_of(job).mode) == ("best", "fast", Mode.CHECK)
