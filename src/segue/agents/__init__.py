"""Built-in agents: a language model of any provider, and an offline agent that works by rules.

Importing this package is cheap: `make_agent` imports the model library only when a model is configured.
"""

from typing import TYPE_CHECKING

from segue.agents.current_agent import ConnectedModel, CurrentAgent, CurrentExtractor
from segue.agents.named_models import NamedModels
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
from segue.extras import needed_for
from segue.memory.embedding import Embedder
from segue.memory.extraction import Extractor
from segue.memory.rules import RuleExtractor
from segue.model.agent import Agent
from segue.model.evaluation import EvaluateResponse, Evaluation, evaluate_response

if TYPE_CHECKING:
    from segue.config import Configuration, McpServer


def make_agent(configuration: "Configuration") -> Agent:
    """Return the agent that the settings name; if they name none, one that follows the page's settings."""
    tools, named = registry_of(configuration), NamedModels(configuration.models)
    if configuration.model is None:
        stored = configuration.stored_model
        if stored is None and not configuration.models:
            return OfflineAgent(tools)
        model = ConnectedModel(stored, private=configuration.fetch_private)
        limits = {"steps": configuration.model_steps, "cache_ttl": configuration.cache_ttl}
        return CurrentAgent(model, tools, named=named, limits=limits)
    with needed_for(f"the model {configuration.model!r}", "model"):
        from segue.agents.llm import ModelAgent, ModelLimits, load_model

    return ModelAgent(
        load_model(configuration.model),
        tools=tools,
        named=named,
        limits=ModelLimits(steps=configuration.model_steps, cache_ttl=configuration.cache_ttl),
    )


def make_extractor(configuration: "Configuration") -> Extractor:
    """Return what summarises archives and learns from them: the configured model, or rules without one."""
    if configuration.model is None:
        stored = configuration.stored_model
        if stored is None:
            return RuleExtractor()
        return CurrentExtractor(ConnectedModel(stored, private=configuration.fetch_private))
    from segue.agents.extractor import ModelExtractor
    from segue.agents.llm import load_model

    return ModelExtractor(load_model(configuration.model))


def make_embedder(configuration: "Configuration") -> Embedder | None:
    """Return what turns texts into vectors; None if none is configured."""
    given = configuration.embedding
    if given.url is None or given.model is None:
        return None
    from segue.agents.embedder import EndpointEmbedder

    return EndpointEmbedder(given.url, given.model, given.key.reveal() if given.key else None)


def make_evaluation(configuration: "Configuration") -> EvaluateResponse:
    """Return the judge of what system and legacy jobs answer: rules, or the configured model."""
    if configuration.evaluate_response is Evaluation.RULES or configuration.model is None:
        return evaluate_response
    from segue.agents.llm import load_model
    from segue.agents.response_judge import ModelEvaluation

    return ModelEvaluation(load_model(configuration.model))


def registry_of(configuration: "Configuration") -> Registry:
    """Return the tools that the settings allow."""
    tools = [
        cron_tool(configuration.models),
        *recall_tools(),
        *message_tools(),
        zone_tool(),
        memory_tool(),
        fetch_tool(private=configuration.fetch_private),
    ]
    if configuration.workspace is not None:
        tools += file_tools(configuration.workspace)
    return Registry(tools, suppliers=[McpTools(_endpoint(server)) for server in configuration.mcp_servers])


def _endpoint(server: "McpServer") -> McpEndpoint:
    return McpEndpoint(
        name=server.name,
        command=server.command,
        args=server.args,
        env={name: secret.reveal() for name, secret in server.env.items()},
        url=server.url,
        headers={name: secret.reveal() for name, secret in server.headers.items()},
    )
