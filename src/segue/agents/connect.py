"""Model connections: makes a model from what an admin entered on the page, and tests whether it answers."""

import asyncio
import os
from collections.abc import Mapping

import httpx2
from pydantic_ai.direct import model_request_stream
from pydantic_ai.exceptions import AgentRunError, ModelNotFoundError
from pydantic_ai.messages import ModelRequest, UserPromptPart
from pydantic_ai.models import Model, ModelRequestParameters
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.providers.ollama import OllamaProvider
from pydantic_ai.providers.openai import OpenAIProvider
from pydantic_ai.settings import ModelSettings
from pydantic_ai.tools import ToolDefinition

from segue.agents.failures import check_complete, to_agent_failed
from segue.agents.fast_openai import use_fast_transform
from segue.agents.guarded_client import guarded_client
from segue.config.stored_model import ADDRESSES, ModelConnection, ModelProvider
from segue.errors import AgentFailed
from segue.model.redaction import redact, remember_secret

VARIABLES = {ModelProvider.OPENAI: "OPENAI_API_KEY", ModelProvider.ANTHROPIC: "ANTHROPIC_API_KEY"}
NAMES = {
    ModelProvider.OPENAI: "OpenAI",
    ModelProvider.ANTHROPIC: "Anthropic",
    ModelProvider.OLLAMA: "Ollama",
    ModelProvider.COMPATIBLE: "The server",
}
_NO_KEY = "not-needed"
"""The provider's library demands a key, also for a server that wants none."""
TEST_SECONDS = 30.0
_TEST_TOOL = ToolDefinition(
    name="remind",
    description="Sets a reminder.",
    parameters_json_schema={"type": "object", "properties": {"text": {"type": "string"}}},
)
"""Every turn offers tools, so a model that takes none fails the test."""


def address_of(connection: ModelConnection) -> str:
    """Return where the model is. Raises `AgentFailed` for a compatible server without an address."""
    address = connection.base_url or ADDRESSES.get(connection.provider)
    if address is None:
        raise AgentFailed(
            "a compatible server needs its address, such as http://127.0.0.1:8000/v1",
            shown="The model's server has no address. Enter it in the settings.",
            code="model_address_missing",
        )
    return address


def key_of(connection: ModelConnection, env: Mapping[str, str] | None = None) -> str:
    """Return the key: the stored one, else that of the environment. Raises `AgentFailed` without one.

    A key of the environment is sent to the provider's own address only.
    """
    if connection.key is not None:
        return connection.key.reveal()
    variable = VARIABLES.get(connection.provider)
    if variable is None:
        return _NO_KEY
    found = (os.environ if env is None else env).get(variable) if connection.base_url is None else None
    if not found:
        raise AgentFailed(
            f"{NAMES[connection.provider]} needs a key, and none is stored; enter it in the settings, or set "
            f"{variable}",
            shown=f"{NAMES[connection.provider]} needs a key. Enter it in the settings.",
            code="model_key_missing",
        )
    return found


def make_model(connection: ModelConnection, client: httpx2.AsyncClient) -> Model:
    """Return the model. Raises `AgentFailed` if its key or its address is missing.

    To be called in a thread: it may import the library of the provider, which takes a second.
    """
    address, key = address_of(connection), key_of(connection)
    if key != _NO_KEY:
        remember_secret(key)
    match connection.provider:
        case ModelProvider.ANTHROPIC:
            # Half of all that is imported here; the other providers do not need it.
            from pydantic_ai.models.anthropic import AnthropicModel
            from pydantic_ai.providers.anthropic import AnthropicProvider

            anthropic = AnthropicProvider(api_key=key, base_url=address, http_client=client)
            return AnthropicModel(connection.name, provider=anthropic)
        case ModelProvider.OLLAMA:
            ollama = OllamaProvider(base_url=address, api_key=key, http_client=client)
            model = OpenAIChatModel(connection.name, provider=ollama)
        case _:
            openai = OpenAIProvider(base_url=address, api_key=key, http_client=client)
            model = OpenAIChatModel(connection.name, provider=openai)
    use_fast_transform()
    return model


async def check_connection(
    connection: ModelConnection, *, private: bool = False, seconds: float = TEST_SECONDS
) -> None:
    """Ask the model for one word. Raises `AgentFailed`, whose `shown` says what to change."""
    async with guarded_client(private=private) as client:
        model = await asyncio.to_thread(make_model, connection, client)
        try:
            async with asyncio.timeout(seconds):
                await _ask(model, seconds)
        except TimeoutError:
            raise AgentFailed(
                f"no answer within {seconds:g} s",
                shown=f"{address_of(connection)} did not answer within {seconds:g} seconds. Is it running?",
                code="model_timeout",
            ) from None
        except AgentRunError as error:
            raise _explained(connection, error) from error


async def _ask(model: Model, seconds: float) -> None:
    parameters = ModelRequestParameters(function_tools=[_TEST_TOOL])
    async with model_request_stream(
        model,
        model.prepare_messages([ModelRequest(parts=[UserPromptPart("Answer with OK.")])], parameters),
        model_settings=ModelSettings(timeout=seconds, max_retries=0),
        model_request_parameters=parameters,
    ) as stream:
        async for _ in stream:
            pass
        check_complete(stream.get())


def _explained(connection: ModelConnection, error: AgentRunError) -> AgentFailed:
    """Return the failure with a sentence for the one who is entering the connection."""
    failure = to_agent_failed(error, midway=False)
    address, name = address_of(connection), connection.name
    shown = {
        "model_key_refused": f"{NAMES[connection.provider]} refused the key. Check it, or make a new one.",
        "model_not_found": f"There is no model {name} at {address}. Check the name and the address.",
        "model_unreachable": f"{address} cannot be reached. Check the address, and that it is running.",
        "model_address_refused": (
            f"{address} is not a public address. The page connects to public addresses and this machine "
            "only; for others set SEGUE_MODEL and the provider's variables in the environment."
        ),
    }.get(failure.code)
    if isinstance(error, ModelNotFoundError) and connection.provider is ModelProvider.OLLAMA:
        shown = f"Ollama does not have the model {name}. Get it with: ollama pull {name}"
    if failure.code == "model_request_refused":
        shown = f"{failure.shown} It said: {redact(_said(error))}"
    return AgentFailed(str(failure), shown=shown or failure.shown, code=failure.code)


def _said(error: AgentRunError) -> str:
    """The provider's own sentence, shortened."""
    body = getattr(error, "body", None)
    inner = body.get("error", body) if isinstance(body, dict) else body
    said = inner.get("message", inner) if isinstance(inner, dict) else inner
    return " ".join(str(said or error).split())[:300]
