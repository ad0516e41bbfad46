"""Makes the agent of the tests with a framework, which is imported when its agent is first asked for.

To import all frameworks takes two seconds of processor, and every process of a run would pay it.
"""

from importlib import import_module
from typing import Any

from segue import Agent
from segue.testing import AgentParts
from segue.testing.agent_parts import trial

FRAMEWORKS = ("pydantic_ai", "openai_agents", "openai_compatible", "langgraph", "adk", "agno", "claude")


class Making:
    """Makes the agent, and knows the names that its model gives to tools."""

    def __init__(self, framework: str, function: str = "make") -> None:
        self._framework = framework
        self._function = function

    def __call__(self, parts: AgentParts) -> Agent:
        module = import_module(f"tests.adapters.frameworks.{self._framework}")
        agent: Agent = getattr(module, self._function)(parts)
        return agent

    def tool_name(self, name: str) -> str:
        if self._framework != "claude":
            return name
        return f"mcp__{'segue' if name == 'cron' else 'shop'}__{name}"


def opened(framework: str) -> Any:
    making = Making(framework)
    return trial(making, making.tool_name)
