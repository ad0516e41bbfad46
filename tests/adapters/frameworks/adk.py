"""The agent of the tests, made with the Agent Development Kit."""

from google.adk.agents import LlmAgent
from google.adk.integrations.openai import OpenAILlm
from google.adk.tools.function_tool import FunctionTool
from openai import AsyncOpenAI

from segue import Agent
from segue.adapters.adk import adapt
from segue.testing import AgentParts


def make(parts: AgentParts) -> Agent:
    client = AsyncOpenAI(base_url=parts.base_url, api_key="sk-test", max_retries=0)
    return adapt(
        LlmAgent(
            name="clerk",
            model=OpenAILlm(model="gpt-4o", client=client),
            tools=[parts.note, FunctionTool(parts.pay, require_confirmation=True)],
        )
    )
