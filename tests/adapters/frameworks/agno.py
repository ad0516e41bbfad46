"""The agent of the tests, made with agno."""

import agno.agent
from agno.models.openai import OpenAIChat
from agno.tools import tool

from segue import Agent
from segue.adapters.agno import adapt
from segue.testing import AgentParts


def make(parts: AgentParts) -> Agent:
    @tool(requires_confirmation=True)
    async def pay(amount: int) -> str:
        """Pay an amount of money."""
        return await parts.pay(amount)

    model = OpenAIChat("gpt-4o", base_url=parts.base_url, api_key="sk-test", max_retries=0)
    return adapt(agno.agent.Agent(model=model, tools=[parts.note, pay], telemetry=False))
