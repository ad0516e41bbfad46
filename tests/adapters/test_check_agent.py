"""check_agent: it finds what is wrong with an agent."""

import json
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest

from segue import Delta, OpenTurn, ToolCalled, ToolStarted
from segue.errors import BadSetting
from segue.model.agent import FunctionAgent
from segue.testing import AgentParts, check_agent


async def chat(parts: AgentParts, role: str, content: str) -> tuple[str, str, str]:
    """One answer of the model: its text, and the name and the arguments of the tool that it calls."""
    from openai import AsyncOpenAI

    client: Any = AsyncOpenAI(base_url=parts.base_url, api_key="sk-test")
    messages = [{"role": role, "content": content}]
    stream = await client.chat.completions.create(model="any", messages=messages, stream=True)
    text, name, arguments = "", "", ""
    async for chunk in stream:
        delta = chunk.choices[0].delta if chunk.choices else None
        text += (delta and delta.content) or ""
        for call in (delta and delta.tool_calls) or ():
            name += call.function.name or ""
            arguments += call.function.arguments or ""
    return text, name, arguments


async def forgets(turn: OpenTurn, parts: AgentParts) -> AsyncIterator[Delta | str]:
    """Sends `turn.text` alone, and the whole answer at the end."""
    text, _, _ = await chat(parts, "user", turn.text)
    yield text


async def acts_first(turn: OpenTurn, parts: AgentParts) -> AsyncIterator[Delta | str]:
    """Reports a tool after it ran."""
    _, name, arguments = await chat(parts, "user", turn.prompt)
    result = await parts.note(**json.loads(arguments))
    yield ToolStarted(call_id="1", name=name, arguments=json.loads(arguments))
    yield ToolCalled(call_id="1", name=name, arguments=json.loads(arguments), result=result)
    text, _, _ = await chat(parts, "user", result)
    yield text


@pytest.mark.parametrize(
    ("agent", "check", "complaint"),
    [
        (forgets, "history", "the history is missing"),
        (forgets, "outside", "a message from outside is missing"),
        (forgets, "streaming", "no text came while the model spoke"),
        (forgets, "usage", "the requests took"),
        (forgets, "tools", "should run once"),
        (forgets, "scheduling", "should have made a job"),
        (forgets, "schedule", "turn.text instead of turn.prompt"),
        (forgets, "recall", "turn.role is system"),
        (forgets, "approval", "should end with Waiting"),
        (acts_first, "tools", "before its report was stored"),
    ],
)
async def test_a_fault_of_an_agent_is_found(
    agent: Callable[[OpenTurn, AgentParts], Any], check: str, complaint: str
) -> None:
    def make(parts: AgentParts) -> FunctionAgent:
        return FunctionAgent(lambda turn: agent(turn, parts), reports_tools=True)

    with pytest.raises(AssertionError, match=complaint):
        await check_agent(make, checks=[check])


async def test_an_unknown_check_is_refused() -> None:
    with pytest.raises(BadSetting, match="there is no check 'histry'; there are: history, outside"):
        await check_agent(lambda parts: forgets, checks=["histry"])  # type: ignore[arg-type, return-value]
