"""Model agent: answers a turn with a language model of any provider and the tools of the registry.

One turn is a loop of model steps. Before each step, messages that the user added are included; after it, the
tools that the model called are announced, run and their results returned to the model. A step without tool
calls is the last. The model library only talks to the provider. The loop is here because the kernel must know
of a tool before it runs, and of a user's message before the model sees it.

Invariants
  - a tool call is announced, and the announcement stored, before the tool runs
  - a request is retried only if its error is transient and none of its answer was passed on; a tool never is
  - the provider's connection is closed however the turn ends
"""

import asyncio
import logging
import os
import random
import re
from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from contextlib import AsyncExitStack, aclosing
from typing import TYPE_CHECKING, Any, Self

from pydantic_ai.direct import model_request_stream
from pydantic_ai.exceptions import (
    AgentRunError,
    ContentFilterError,
    ModelAPIError,
    ModelRequestTimeout,
    UserError,
)
from pydantic_ai.messages import (
    CachePoint,
    InstructionPart,
    ModelResponse,
    ModelResponseStreamEvent,
    PartDeltaEvent,
    PartStartEvent,
    TextPart,
    TextPartDelta,
    ThinkingPart,
    ThinkingPartDelta,
    ToolReturnPart,
)
from pydantic_ai.models import Model, ModelRequestParameters, infer_model
from pydantic_ai.providers import Provider, infer_provider
from pydantic_ai.settings import ModelSettings
from pydantic_ai.tools import ToolDefinition

from segue.agents.failures import check_complete, is_transient, to_agent_failed
from segue.agents.fast_openai import use_fast_transform
from segue.agents.model_messages import Conversation
from segue.agents.named_models import NamedModels
from segue.agents.prompt import SYSTEM, found_note, system_prompt, turn_note
from segue.agents.prompt_cache import after_history, after_instructions
from segue.agents.tools.registry import Registry, Tool, Toolbox, ToolContext
from segue.agents.usage import UsageTotals
from segue.config.stored_model import ADDRESSES, ModelProvider
from segue.config.values import CacheTtl
from segue.errors import AgentFailed, BadSetting, ModelKeyMissing
from segue.model.agent import Delta, OpenTurn, Text, Thinking, Usage
from segue.model.evaluation import says_nothing
from segue.model.policy import backoff
from segue.model.prompts import QUIET
from segue.record import positional, record
from segue.times.clock import Clock

if TYPE_CHECKING:
    from opentelemetry.trace import TracerProvider

_log = logging.getLogger(__name__)
_KEY_VARIABLE = re.compile(r"`(\w+_API_KEY)`")
"""The variable that the model library names when a key is missing."""
_NOT_CONNECTED = "No model is connected that could answer this. Connect one in the settings."


@record
class ModelLimits:
    steps: int = 50
    """Model steps of a turn. A turn that needs more ends with the text it has so far."""
    tries: int = 3
    """Attempts of a request that fails before any output."""
    first_word_seconds: float = 120
    silence_seconds: float = 120
    """The longest gap between two pieces of an answer."""
    longest_pause_seconds: float = 60
    """If a provider asks for a longer pause, the request is not retried."""
    cache_ttl: CacheTtl = CacheTtl.FIVE_MINUTES
    """How long a provider that is asked for it keeps its cache of a request."""


def load_model(name: str) -> Model:
    """Return the model `provider:name`, importing its provider's library. Raises `BadSetting`."""
    try:
        model = infer_model(name, provider_factory=_provider)
    except UserError as error:
        if missing := _KEY_VARIABLE.search(str(error)):
            raise ModelKeyMissing(
                f"the model {name!r} cannot be used: its provider needs a key, and {missing[1]} is not set; "
                "set it, or unset SEGUE_MODEL and connect a model on the page"
            ) from error
        raise BadSetting(f"the model {name!r} cannot be used: {error}") from error
    except (ImportError, ValueError) as error:
        raise BadSetting(f"the model {name!r} cannot be used: {error}") from error
    use_fast_transform()
    return model


def trace_requests(provider: "TracerProvider") -> None:
    """Make a span for each request to a model in this process, without the texts."""
    from pydantic_ai import Agent
    from pydantic_ai.models.instrumented import InstrumentationSettings

    Agent.instrument_all(InstrumentationSettings(tracer_provider=provider, include_content=False))


def _provider(name: str) -> Provider[Any]:
    """The provider of that name. Ollama is on this machine unless its variable says otherwise."""
    if name == "ollama" and not os.environ.get("OLLAMA_BASE_URL"):
        from pydantic_ai.providers.ollama import OllamaProvider

        return OllamaProvider(base_url=ADDRESSES[ModelProvider.OLLAMA])
    return infer_provider(name)


@positional
class AskedModel:
    """A model, and what it is called in the settings; None if it is the default."""

    name: str | None
    model: Model
    limits: ModelLimits

    @property
    def settings(self) -> ModelSettings:
        return ModelSettings(
            timeout=self.limits.silence_seconds,
            max_retries=0,  # `_Step` retries, because it knows what was already passed on
            **after_instructions(self.model, self.limits.cache_ttl),
        )

    @property
    def cache_point(self) -> CachePoint | None:
        return after_history(self.model, self.limits.cache_ttl)


class ModelAgent:
    """`model` answers, except the jobs that name another one of `named`."""

    reports_tools = True

    def __init__(
        self,
        model: Model | None,
        *,
        tools: Registry,
        named: NamedModels | None = None,
        limits: ModelLimits | None = None,
        rng: random.Random | None = None,
    ) -> None:
        self._model = model
        self._named = named or NamedModels({})
        self._tools = tools
        self._opened = AsyncExitStack()
        self._limits = limits or ModelLimits()
        self._rng = rng or random.Random()

    async def __aenter__(self) -> Self:
        if self._model is not None:
            await self._opened.enter_async_context(self._model)
        await self._opened.enter_async_context(self._tools)
        self._opened.push_async_callback(self._named.close)
        return self

    async def __aexit__(self, *raised: Any) -> None:
        """Close the connections to the providers and to MCP servers, which are kept between turns."""
        await self._opened.aclose()

    async def answer(self, turn: OpenTurn) -> AsyncIterator[Delta | str]:
        own = await self._asked_model(turn.model)
        box = await self._tools.open(ToolContext.of(turn))
        usage = UsageTotals(
            turn.kernel.settings.prices,
            prompt=SYSTEM.ref,
            tools=len(box.tools),
            hour=self._limits.cache_ttl is CacheTtl.ONE_HOUR,
        )
        notes = [turn_note(source=turn.source, now=turn.kernel.clock.ms(), zone=box.context.zone)]
        if turn.look is not None:
            found: list[str] = []
            looks = self._steps(turn, await self._asked_model(turn.look), box, usage, notes)
            async with aclosing(looks) as pieces:
                async for piece in pieces:
                    if isinstance(piece, Text):
                        found.append(piece.text)  # the job's own model decides what is said
                    else:
                        yield piece
            if says_nothing("".join(found)):
                yield QUIET
                return
            notes.insert(0, found_note("".join(found)))
        async with aclosing(self._steps(turn, own, box, usage, notes)) as pieces:
            async for piece in pieces:
                yield piece

    async def _asked_model(self, name: str | None) -> AskedModel:
        """The model of that short name, or the default. Raises `AgentFailed`."""
        model = self._model if name is None else await self._named.get(name)
        if model is None:
            raise AgentFailed("no model is connected", shown=_NOT_CONNECTED, code="model_missing")
        return AskedModel(name, model, self._limits)

    async def _steps(
        self, turn: OpenTurn, asked: AskedModel, box: Toolbox, usage: UsageTotals, notes: Sequence[str]
    ) -> AsyncGenerator[Delta, None]:
        """Ask one model, and run the tools that it calls, until it calls none."""
        instructions = system_prompt(session=turn.session, tools=list(box.tools))
        conversation = await Conversation.of(turn, instructions, notes=notes, cache=asked.cache_point)
        has_text = False
        for _ in range(self._limits.steps):
            await conversation.add_messages(await turn.joined())
            step = _Step(asked, self._limits, turn.kernel.clock, self._rng, after_text=has_text)
            async with aclosing(step.run(conversation, box)) as pieces:
                async for piece in pieces:
                    yield piece
            has_text = has_text or step.has_text
            yield Usage(usage.add(step.response, name=asked.name))
            if not step.response.tool_calls:
                return
            async with aclosing(_run_tools(step.response, conversation, box)) as pieces:
                async for piece in pieces:
                    yield piece
        _log.warning("model step limit reached, turn %s ends after %d steps", turn.id, self._limits.steps)
        yield Usage(usage.to_record(ended=f"after {self._limits.steps} model steps"))


class _Step:
    """One request to the model, retried while that is safe."""

    response: ModelResponse

    def __init__(
        self, asked: AskedModel, limits: ModelLimits, clock: Clock, rng: random.Random, *, after_text: bool
    ) -> None:
        self._model = asked.model
        self._settings = asked.settings
        self._limits = limits
        self._clock = clock
        self._rng = rng
        self._after_text = after_text
        """An earlier step has written text: a blank line goes between."""
        self._passed_on = False
        self.has_text = False

    async def run(self, conversation: Conversation, box: Toolbox) -> AsyncGenerator[Delta, None]:
        for attempt in range(1, self._limits.tries + 1):
            try:
                async with aclosing(self._stream(conversation, box)) as pieces:
                    async for piece in pieces:
                        self._passed_on = True
                        yield piece
                return
            except AgentRunError as error:
                pause = self._pause(error, attempt)
                if pause is None:
                    raise to_agent_failed(error, midway=self._passed_on) from error
                _log.warning("model request failed, retrying in %d ms: %s", pause, type(error).__name__)
            await self._clock.wait(asyncio.Event(), self._clock.ms() + pause)

    async def _stream(self, conversation: Conversation, box: Toolbox) -> AsyncGenerator[Delta, None]:
        parameters = ModelRequestParameters(
            function_tools=[_definition(tool) for tool in box.tools.values()],
            instruction_parts=[InstructionPart(content=conversation.instructions)],
        )
        messages = self._model.prepare_messages(conversation.messages, parameters)
        async with AsyncExitStack() as opened:
            try:
                async with asyncio.timeout(self._limits.first_word_seconds):
                    stream = await opened.enter_async_context(
                        model_request_stream(
                            self._model,
                            messages,
                            model_settings=self._settings,
                            model_request_parameters=parameters,
                        )
                    )
                    events = aiter(stream)
                    event = await anext(events, None)
            except TimeoutError:
                raise ModelRequestTimeout(self._model.model_name, self._limits.first_word_seconds) from None
            while event is not None:
                if piece := self._to_delta(event):
                    yield piece
                event = await anext(events, None)
            self.response = stream.get()
        check_complete(self.response)
        if self.response.finish_reason == "content_filter" and not self.has_text:
            raise ContentFilterError("the provider's filter held the answer back")

    def _to_delta(self, event: ModelResponseStreamEvent) -> Delta | None:
        match event:
            case (
                PartStartEvent(part=TextPart(content=text))
                | PartDeltaEvent(delta=TextPartDelta(content_delta=text))
            ) if text:
                first, self.has_text = not self.has_text, True
                return Text(f"\n\n{text}" if first and self._after_text else text)
            case (
                PartStartEvent(part=ThinkingPart(content=thought))
                | PartDeltaEvent(delta=ThinkingPartDelta(content_delta=thought))
            ) if thought:
                return Thinking(thought)
        return None

    def _pause(self, error: AgentRunError, attempt: int) -> int | None:
        """Return the milliseconds until the next attempt, or None if the request is not retried."""
        if self._passed_on or attempt >= self._limits.tries or not is_transient(error):
            return None
        retry_after = error.retry_after if isinstance(error, ModelAPIError) else None
        if retry_after is not None and retry_after > self._limits.longest_pause_seconds:
            return None
        own = backoff(attempt, self._rng).total_seconds()
        return round(1000 * (own if retry_after is None else retry_after))


async def _run_tools(
    response: ModelResponse, conversation: Conversation, box: Toolbox
) -> AsyncGenerator[Delta, None]:
    """Run the tools that a step called, one after the other, in the order of the calls."""
    conversation.add_response(response)
    results = []
    for part in response.tool_calls:
        call = box.prepare(part.tool_call_id, part.tool_name, part.args)
        yield call.started
        called = await call.run()
        yield called
        results.append(
            ToolReturnPart(
                tool_name=part.tool_name,
                content=box.marked(called),
                tool_call_id=part.tool_call_id,
                outcome="success" if called.error is None else "failed",
            )
        )
    conversation.add_results(results)


def _definition(tool: Tool) -> ToolDefinition:
    return ToolDefinition(
        name=tool.name, description=tool.description, parameters_json_schema=dict(tool.parameters)
    )
