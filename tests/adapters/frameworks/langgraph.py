"""The agent of the tests, made with LangGraph, with and without a checkpointer."""

from langchain.agents import create_agent
from langchain.agents.middleware import HumanInTheLoopMiddleware
from langchain_core.tools import BaseTool, StructuredTool
from langchain_openai import ChatOpenAI
from langgraph.checkpoint.memory import InMemorySaver
from pydantic import SecretStr

from segue import Agent
from segue.adapters.langgraph import Graph, adapt
from segue.testing import AgentParts


def model_at(base_url: str) -> ChatOpenAI:
    return ChatOpenAI(
        model="gpt-4o", base_url=base_url, api_key=SecretStr("sk-test"), stream_usage=True, max_retries=0
    )


def make(parts: AgentParts) -> Agent:
    # It stands for a checkpointer that outlives a process.
    checkpointer = vars(parts).setdefault("checkpointer", InMemorySaver())

    def graph(tools: list[BaseTool]) -> Graph:
        mine = [StructuredTool.from_function(coroutine=tool) for tool in (parts.note, parts.pay)]
        return create_agent(
            model_at(parts.base_url),
            [*mine, *tools],
            middleware=[HumanInTheLoopMiddleware({"pay": True})],
            checkpointer=checkpointer,
        )

    return adapt(graph)


def make_without_checkpointer(parts: AgentParts) -> Agent:
    note = StructuredTool.from_function(coroutine=parts.note)
    return adapt(lambda tools: create_agent(model_at(parts.base_url), [note, *tools]))
