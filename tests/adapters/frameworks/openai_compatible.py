"""The agent of the tests, made with an OpenAI-compatible server."""

from segue import Agent, Tool
from segue.adapters.openai_compatible import adapt
from segue.agents.tools.registry import ToolContext
from segue.testing import AgentParts

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
