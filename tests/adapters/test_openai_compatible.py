"""Adapter for OpenAI-compatible servers: the checks of every agent, and what is particular to it."""

import pytest
from openai import OpenAI

from segue import Agent, Tool
from segue.adapters.openai_compatible import adapt
from segue.agents.tools.registry import ToolContext
from segue.errors import BadSetting
from segue.testing import AGENT_CHECKS, AgentParts, check_agent

TEXT = {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}
AMOUNT = {"type": "object", "properties": {"amount": {"type": "integer"}}, "required": ["amount"]}


def make(parts: AgentParts) -> Agent:
    async def note(context: ToolContext, text: str) -> str:
        return await parts.note(text)

    async def pay(context: ToolContext, amount: int) -> str:
        return await parts.pay(amount)

    own = [
        Tool(name="note", description="Write a note.", parameters=TEXT, run=note),
        Tool(name="pay", description="Pay an amount.", parameters=AMOUNT, run=pay),
    ]
    return adapt(parts.base_url, model="llama3", own_tools=own, approve=["pay"])


@pytest.mark.parametrize("check", AGENT_CHECKS)
async def test_it_passes_the_check(check: str) -> None:
    await check_agent(make, checks=[check])


def test_a_synchronous_client_is_refused() -> None:
    with pytest.raises(BadSetting, match=r"takes an openai\.AsyncOpenAI or a base URL, got openai\.OpenAI"):
        adapt(OpenAI(api_key="sk-test"), model="llama3")  # type: ignore[arg-type]


def test_approval_of_an_unknown_tool_is_refused() -> None:
    with pytest.raises(BadSetting, match="approve names pay, and there are the tools cron"):
        adapt("http://127.0.0.1:1/v1", ["cron"], model="llama3", approve=["pay"])
