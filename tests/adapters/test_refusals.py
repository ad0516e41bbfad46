"""Adapters refuse wrong objects, unknown versions and unknown tools with a sentence that says what to do."""

from dataclasses import replace
from importlib import import_module
from typing import Any

import pytest

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


def test_a_compiled_graph_takes_no_tools() -> None:
    from tests.adapters.frameworks.own_graphs import adapt, idle

    with pytest.raises(BadSetting, match="give a function that makes it"):
        adapt(idle())


def test_a_graph_needs_messages_in_its_state() -> None:
    from tests.adapters.frameworks.own_graphs import Plain, adapt, idle

    with pytest.raises(BadSetting, match="needs `messages`"):
        adapt(idle(Plain), tools=())


def test_a_graph_of_own_nodes_may_act_without_tools() -> None:
    from tests.adapters.frameworks.own_graphs import adapt, idle

    assert not adapt(idle(), tools=()).reports_tools
    assert adapt(idle(), tools=(), reports_tools=True).reports_tools


def test_only_an_agent_with_a_model_takes_tools() -> None:
    from google.adk.agents import BaseAgent

    from segue.adapters.adk import adapt

    with pytest.raises(BadSetting, match="only an LlmAgent can use tools"):
        adapt(BaseAgent(name="clerk"))


def test_the_adapter_chooses_the_session_of_claude() -> None:
    from claude_agent_sdk import ClaudeAgentOptions

    from segue.adapters.claude import adapt

    with pytest.raises(BadSetting, match="leave out resume"):
        adapt(ClaudeAgentOptions(resume="11111111-1111-4111-8111-111111111111"))


def test_an_unknown_tool_is_refused() -> None:
    from claude_agent_sdk import ClaudeAgentOptions

    from segue.adapters.claude import adapt

    with pytest.raises(BadSetting, match="did you mean 'cron'"):
        adapt(ClaudeAgentOptions(), tools=["crom"])
