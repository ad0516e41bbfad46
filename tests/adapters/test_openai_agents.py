"""Adapter for the OpenAI Agents SDK: the checks of every agent, and what is particular to it."""

import agents
import pytest
from agents.models.openai_chatcompletions import OpenAIChatCompletionsModel
from openai import AsyncOpenAI

from segue import Agent
from segue.adapters.openai_agents import adapt
from segue.testing import AGENT_CHECKS, AgentParts, check_agent


@pytest.fixture(autouse=True)
def traces_stay_here() -> None:
    agents.set_tracing_disabled(True)


def make(parts: AgentParts) -> Agent:
    client = AsyncOpenAI(base_url=parts.base_url, api_key="sk-test")
    agent = agents.Agent(
        name="clerk",
        model=OpenAIChatCompletionsModel("gpt-4o", openai_client=client),
        tools=[agents.function_tool(parts.note), agents.function_tool(parts.pay, needs_approval=True)],
    )
    return adapt(agent)


@pytest.mark.parametrize("check", AGENT_CHECKS)
async def test_it_passes_the_check(check: str) -> None:
    await check_agent(make, checks=[check])
