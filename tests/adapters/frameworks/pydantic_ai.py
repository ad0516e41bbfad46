"""The agent of the tests, made with pydantic-ai."""

import pydantic_ai
from pydantic_ai import DeferredToolRequests
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.providers.openai import OpenAIProvider

from segue import Agent
from segue.adapters.pydantic_ai import adapt
from segue.testing import AgentParts


def make(parts: AgentParts) -> Agent:
    provider = OpenAIProvider(base_url=parts.base_url, api_key="sk-test")
    agent = pydantic_ai.Agent(
        OpenAIChatModel("gpt-4o", provider=provider),
        output_type=[str, DeferredToolRequests],
        tools=[parts.note, pydantic_ai.Tool(parts.pay, requires_approval=True)],
    )
    return adapt(agent)
