"""Adapters refuse wrong objects, unknown versions and unknown tools with a sentence that says what to do."""

from dataclasses import replace
from importlib import import_module
from typing import Any, TypedDict

import pytest
from claude_agent_sdk import ClaudeAgentOptions
from google.adk.agents import BaseAgent
from langgraph.graph import START, MessagesState, StateGraph

from segue.adapters import adk, claude, langgraph
from segue.errors import BadSetting, UnknownVersion

ADAPTERS = ("adk", "agno", "claude", "langgraph")


@pytest.mark.parametrize("name", ADAPTERS)
def test_an_object_of_another_kind_is_refused(name: str) -> None:
    adapter: Any = import_module(f"segue.adapters.{name}")
    with pytest.raises(BadSetting, match=rf"segue\.adapters\.{name}\.adapt takes .*, got builtins\.dict"):
        adapter.adapt({})


@pytest.mark.parametrize("name", ADAPTERS)
def test_a_version_that_the_adapter_does_not_know_is_refused(name: str) -> None:
    adapter: Any = import_module(f"segue.adapters.{name}")
    newer = replace(adapter.FRAMEWORK, lowest="98.1", below="99")
    with pytest.raises(UnknownVersion, match=r"pip install '[a-z-]+>=98\.1,<99'"), newer.imported():
        pass


class Plain(TypedDict):
    text: str


def graph(**compiled: Any) -> langgraph.Graph:
    return StateGraph(MessagesState).add_node("act", lambda _: {}).add_edge(START, "act").compile(**compiled)


def test_a_compiled_graph_takes_no_tools() -> None:
    with pytest.raises(BadSetting, match="give a function that makes it"):
        langgraph.adapt(graph())


def test_a_graph_needs_messages_in_its_state() -> None:
    plain = StateGraph(Plain).add_node("act", lambda _: {}).add_edge(START, "act").compile()
    with pytest.raises(BadSetting, match="needs `messages`"):
        langgraph.adapt(plain, tools=())


def test_a_graph_of_own_nodes_may_act_without_tools() -> None:
    assert not langgraph.adapt(graph(), tools=()).reports_tools
    assert langgraph.adapt(graph(), tools=(), reports_tools=True).reports_tools


def test_only_an_agent_with_a_model_takes_tools() -> None:
    with pytest.raises(BadSetting, match="only an LlmAgent can use tools"):
        adk.adapt(BaseAgent(name="clerk"))


def test_the_adapter_chooses_the_session_of_claude() -> None:
    with pytest.raises(BadSetting, match="leave out resume"):
        claude.adapt(ClaudeAgentOptions(resume="11111111-1111-4111-8111-111111111111"))


def test_an_unknown_tool_is_refused() -> None:
    with pytest.raises(BadSetting, match="did you mean 'cron'"):
        claude.adapt(ClaudeAgentOptions(), tools=["crom"])
