"""Structured answers: asks a model to answer as the arguments of a tool, and validates them."""

from typing import Any, TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError
from pydantic_ai.direct import model_request_stream
from pydantic_ai.exceptions import AgentRunError
from pydantic_ai.messages import InstructionPart, ModelMessage, ModelRequest, UserPromptPart
from pydantic_ai.models import Model, ModelRequestParameters
from pydantic_ai.settings import ModelSettings
from pydantic_ai.tools import ToolDefinition

from segue.agents.failures import check_complete, to_agent_failed
from segue.errors import AgentFailed

T = TypeVar("T", bound="Answer")


class Answer(BaseModel):
    """Base of the answer types. The model is shown the schema and the docstring of a subclass."""

    model_config = ConfigDict(extra="ignore")


class Form:
    """Asks one model for answers of given types."""

    def __init__(self, model: Model, *, timeout_seconds: float) -> None:
        self._model = model
        self._settings = ModelSettings(timeout=timeout_seconds, max_retries=0)

    async def ask(self, instructions: str, text: str, answer: type[T], tool: str) -> T:
        """Return the model's answer. Raises `AgentFailed` if it has another form, or none came."""
        parameters = ModelRequestParameters(
            output_mode="tool",
            output_tools=[
                ToolDefinition(
                    name=tool,
                    description=answer.__doc__ or "",
                    parameters_json_schema=answer.model_json_schema(),
                )
            ],
            allow_text_output=False,
            instruction_parts=[InstructionPart(content=instructions)],
        )
        request: list[ModelMessage] = [ModelRequest(parts=[UserPromptPart(text)], instructions=instructions)]
        try:
            async with model_request_stream(
                self._model,
                self._model.prepare_messages(request, parameters),
                model_settings=self._settings,
                model_request_parameters=parameters,
            ) as stream:
                async for _ in stream:
                    pass
                response = stream.get()
            check_complete(response)
        except AgentRunError as error:
            raise to_agent_failed(error, midway=False) from error
        calls = [call for call in response.tool_calls if call.tool_name == tool]
        if not calls:
            raise AgentFailed(f"the model answered without calling {tool}")
        return _validated(answer, calls[0].args)


def _validated(answer: type[T], arguments: str | dict[str, Any] | None) -> T:
    try:
        if isinstance(arguments, str):
            return answer.model_validate_json(arguments)
        return answer.model_validate(arguments or {})
    except ValidationError as error:
        fields = ", ".join(".".join(map(str, each["loc"])) for each in error.errors()[:5])
        raise AgentFailed(f"the model's answer does not have the form that was asked for: {fields}") from None
