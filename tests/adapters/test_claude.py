"""Adapter for the Claude Agent SDK: the checks of every agent, with the SDK's own command line."""

import os
from shutil import rmtree

import pytest

from segue import Outcome
from segue.testing import AGENT_CHECKS, check_agent
from segue.testing.scripted_provider import Fails
from tests.adapters.making import Making, opened
from tests.adapters.patience import BUSY_SECONDS


@pytest.fixture(autouse=True)
def clean_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in os.environ:
        if name.startswith(("ANTHROPIC_", "CLAUDE")):
            monkeypatch.delenv(name)


@pytest.mark.parametrize("check", [name for name in AGENT_CHECKS if name != "failure"])
async def test_it_passes_the_check(check: str) -> None:
    making = Making("claude")
    await check_agent(making, checks=[check], tool_name=making.tool_name, stop_seconds=BUSY_SECONDS)


async def test_a_request_that_is_refused_again_and_again_makes_the_turn_fail() -> None:
    """Claude Code asks a second time after a refusal, so one is not enough, as the check `failure` has it."""
    async with opened("claude") as trial:
        trial.provider.script(*[Fails(400)] * 20)
        turn = await trial.ask("Hello")
        assert turn.outcome is Outcome.ERROR
        assert "Claude Code failed" in (turn.error or "")


async def test_a_session_that_is_lost_is_made_again_from_the_history() -> None:
    async with opened("claude") as trial:
        await trial.ask("I am Anna.")
        rmtree(vars(trial.parts)["home"] / "projects")
        turn = await trial.ask("Who am I?")
        assert turn.outcome is Outcome.OK
        assert "I am Anna." in str(trial.provider.asked[-1].body)
