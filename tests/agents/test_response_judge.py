"""Response judge: a model decides which answers of legacy and system jobs are sent."""

import json
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from segue import Ask, Every, JobKind, Kernel, Stored
from segue.agents import make_evaluation
from segue.agents.llm import load_model
from segue.agents.response_judge import ModelEvaluation
from segue.config import Configuration
from segue.errors import BadSetting
from segue.model.evaluation import evaluate_response
from segue.model.prompts import QUIET
from segue.testing import ManualClock, ScriptedAgent, quiet
from segue.testing.scripted_provider import ScriptedProvider, says, words_sent
from segue.testing.wire_formats import Calls
from tests.agents.house import MODELS, OpenHarness

CHAT = "web:1"


@pytest_asyncio.fixture
async def judged(
    open_harness: OpenHarness, dialect: str, database_url: str, clock: ManualClock
) -> AsyncIterator[tuple[ScriptedProvider, Kernel, ScriptedAgent]]:
    """A kernel whose legacy job reports every minute, and whose judge is a model."""
    provider = (await open_harness(dialect)).provider
    agent, model = ScriptedAgent(), load_model(MODELS[dialect])
    judge = ModelEvaluation(model)
    kernel = Kernel(database_url, agent=agent, clock=clock, evaluate_response=judge, channels=[Stored("web")])
    async with model, kernel:
        await kernel.schedule(
            "cron:old", Every(60), Ask("Any news?", to=CHAT), kind=JobKind.LEGACY, job_id="old"
        )
        yield provider, kernel, agent


async def received(kernel: Kernel) -> list[str]:
    return [message.content for message in await kernel.messages(CHAT)]


@pytest.mark.parametrize("sends", [True, False])
async def test_the_model_decides_what_is_sent(
    judged: tuple[ScriptedProvider, Kernel, ScriptedAgent], clock: ManualClock, sends: bool
) -> None:
    provider, kernel, agent = judged
    await kernel.sessions.open(CHAT)
    agent.script("All is as it was.")
    provider.script(says(Calls("judge", json.dumps({"send": sends}))))
    clock.advance(minutes=1)
    await quiet(kernel)
    assert await received(kernel) == (["All is as it was."] if sends else [])
    words = "\n".join(content for _, content in words_sent(provider.asked[0].body))
    assert "The job:\nAny news?" in words
    assert "The answer:\nAll is as it was." in words
    [run] = await kernel.runs.list(job="old")
    assert run.reason == (None if sends else "held back by evaluate_response")


async def test_the_agreed_quiet_word_is_not_judged(
    judged: tuple[ScriptedProvider, Kernel, ScriptedAgent], clock: ManualClock
) -> None:
    provider, kernel, agent = judged
    await kernel.sessions.open(CHAT)
    agent.script(QUIET)
    clock.advance(minutes=1)
    await quiet(kernel)
    assert (await received(kernel), provider.asked) == ([], [])


async def test_a_judge_that_answers_in_another_form_sends_nothing(
    judged: tuple[ScriptedProvider, Kernel, ScriptedAgent], clock: ManualClock
) -> None:
    provider, kernel, agent = judged
    await kernel.sessions.open(CHAT)
    agent.script("It snowed.")
    provider.script(says("Yes, send it."))
    clock.advance(minutes=1)
    await quiet(kernel)
    assert await received(kernel) == []
    [run] = await kernel.runs.list(job="old")
    assert run.outcome == "error"
    assert "the model answered without calling judge" in (run.error or "")


def test_rules_judge_unless_a_model_is_asked_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-our-own-secret")
    home = {"HOME": str(tmp_path)}
    asked_for = {"SEGUE_MODEL": MODELS["openai"], "SEGUE_EVALUATE_RESPONSE": "model"}
    assert isinstance(make_evaluation(Configuration.load(env={**home, **asked_for})), ModelEvaluation)
    assert make_evaluation(Configuration.load(env=home)) is evaluate_response
    with pytest.raises(BadSetting, match="evaluate_response is model, but no model is set"):
        Configuration.load(env={**home, "SEGUE_EVALUATE_RESPONSE": "model"})
