"""The agents that come with Segue: any provider's model, and a small one of rules that needs nothing.

Importing this is cheap. A model's library is imported when `make_agent` makes one.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING

from segue.agents.offline import OfflineAgent
from segue.agents.tools.cron import cron_tool
from segue.agents.tools.fetch import fetch_tool
from segue.agents.tools.files import file_tools
from segue.agents.tools.mcp import McpTools
from segue.agents.tools.mcp_connection import McpEndpoint
from segue.agents.tools.memory import memory_tool
from segue.agents.tools.recalls import recall_tools
from segue.agents.tools.registry import Registry
from segue.agents.tools.scheduled_messages import message_tools
from segue.agents.tools.timezone import zone_tool
from segue.kernel.kernel import Kernel
from segue.memory.extraction import Extractor
from segue.memory.rules import RuleExtractor
from segue.model.agent import Agent
from segue.model.evaluation import EvaluateResponse, Evaluation, evaluate_response

if TYPE_CHECKING:
    from segue.config import Configuration, McpServer


def make_agent(configuration: "Configuration", kernel_of: Callable[[], Kernel]) -> Agent:
    """The agent that the settings name. `kernel_of` gives the kernel it runs in, once there is one."""
    tools = registry_of(configuration)
    if configuration.model is None:
        return OfflineAgent(tools, kernel_of)
    from segue.agents.llm import Limits, ModelAgent, load_model

    return ModelAgent(
        load_model(configuration.model),
        tools=tools,
        kernel_of=kernel_of,
        limits=Limits(steps=configuration.model_steps),
    )


def make_extractor(configuration: "Configuration") -> Extractor:
    """Who reads archives: the model of the settings, or rules where there is none."""
    if configuration.model is None:
        return RuleExtractor()
    from segue.agents.extractor import ModelExtractor
    from segue.agents.llm import load_model

    return ModelExtractor(load_model(configuration.model))


def make_evaluation(configuration: "Configuration") -> EvaluateResponse:
    """Who judges what system and legacy jobs say: rules, or the model of the settings."""
    if configuration.evaluate_response is Evaluation.RULES or configuration.model is None:
        return evaluate_response
    from segue.agents.llm import load_model
    from segue.agents.response_judge import ModelEvaluation

    return ModelEvaluation(load_model(configuration.model))


def registry_of(configuration: "Configuration") -> Registry:
    """The tools that the settings allow."""
    tools = [
        cron_tool(),
        *recall_tools(),
        *message_tools(),
        zone_tool(),
        memory_tool(),
        fetch_tool(private=configuration.fetch_private),
    ]
    if configuration.workspace is not None:
        tools += file_tools(configuration.workspace)
    return Registry(tools, suppliers=[McpTools(_server(named)) for named in configuration.mcp_servers])


def _server(named: "McpServer") -> McpEndpoint:
    return McpEndpoint(
        name=named.name,
        command=named.command,
        args=named.args,
        env={name: secret.get_secret_value() for name, secret in named.env.items()},
        url=named.url,
        headers={name: secret.get_secret_value() for name, secret in named.headers.items()},
    )
