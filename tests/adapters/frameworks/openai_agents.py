"""The agent of the tests, made with the OpenAI Agents SDK."""

import agents
from agents.models.openai_chatcompletions import OpenAIChatCompletionsModel
from openai import AsyncOpenAI

from segue import Agent
from segue.adapters.openai_agents import adapt
from segue.testing import AgentParts


def make(parts: AgentParts) -> Agent:
    agents.set_tracing_disabled(True)  # traces stay here
    client = AsyncOpenAI(base_url=parts.base_url, api_key="sk-test")
    agent = agents.Agent(
        name="clerk",
        model=OpenAIChatCompletionsModel("gpt-4o", openai_client=client),
        tools=[agents.function_tool(parts.note), agents.function_tool(parts.pay, needs_approval=True)],
    )
    return adapt(agent)
