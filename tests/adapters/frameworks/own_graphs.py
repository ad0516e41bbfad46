"""Graphs of own nodes in LangGraph: a question, a painter, a bell, and one that does nothing."""

from typing import Any, TypedDict

from langchain_core.messages import AIMessage
from langchain_core.runnables import RunnableConfig
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.types import interrupt

from segue.adapters.langgraph import Graph, adapt

__all__ = ["InMemorySaver", "adapt"]


def ask_colour(state: MessagesState) -> dict[str, Any]:
    return {"messages": [AIMessage(f"Painted {interrupt('Which colour?')}.")]}


def paint(state: MessagesState) -> dict[str, Any]:
    return {"messages": [AIMessage(f"Painted after {len(state['messages'])} messages.")]}


def graph(node: Any, saver: InMemorySaver, **compiled: Any) -> Graph:
    made = StateGraph(MessagesState).add_node("paint", node).add_edge(START, "paint")
    return made.compile(checkpointer=saver, **compiled)


class Plain(TypedDict):
    text: str


def idle(state: Any = MessagesState) -> Graph:
    return StateGraph(state).add_node("act", lambda _: {}).add_edge(START, "act").compile()


@tool
def ring(times: int) -> str:
    """Ring the bell."""
    return f"It rang {times} times."


def ring_here(state: MessagesState, config: RunnableConfig) -> dict[str, Any]:
    call = {"type": "tool_call", "name": "ring", "args": {"times": 2}, "id": "call_1"}
    return {"messages": [AIMessage(ring.invoke(call, config).text)]}


def ringing() -> Graph:
    return StateGraph(MessagesState).add_node("ring", ring_here).add_edge(START, "ring").compile()
