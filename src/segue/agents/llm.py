"""The default agent: any provider's model, and the tools of the registry.

One turn is a loop of model steps. Before each step the user's new words are let in; after it the tools that
the model called are announced, run and handed back; a step that calls none is the last. The model library is
used for one thing, to speak with a provider: the loop is ours, because the kernel has to know of a tool
before it runs, and of a user's words before a model sees them.

Invariants
  - a tool is announced before it is run, and the announcement is stored when we go on
  - a request is made again only if nothing of its answer was passed on and its failure may pass; no tool is
  - whatever ends the turn, the provider's connection is closed on the way out
"""

import asyncio
import logging
import random
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import AsyncExitStack, aclosing
from typing import Any, Self

from pydantic_ai.direct import model_request_stream
from pydantic_ai.exceptions import AgentRunError, ContentFilterError, ModelAPIError, UserError
from pydantic_ai.messages import (
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
from pydantic_ai.settings import ModelSettings
from pydantic_ai.tools import ToolDefinition

from segue.agents.failures import check_whole, failure, may_pass
from segue.agents.fast_openai import use_fast_transform
from segue.agents.model_messages import Conversation
from segue.agents.prompt import SYSTEM, system_prompt
from segue.agents.tools.registry import Registry, Tool, Toolbox, ToolContext
from segue.agents.usage import UsageTotals
from segue.errors import BadSetting
from segue.kernel.kernel import Kernel
from segue.model.agent import Delta, OpenTurn, Text, Thinking, Usage
from segue.model.policy import backoff
from segue.record import record
from segue.times.clock import Clock

_log = logging.getLogger(__name__)


@record
class Limits:
    steps: int = 50
    """Model steps of a turn. A turn that needs more ends with what it has said."""
    tries: int = 3
    """Of a request that fails before it says anything."""
    first_word_seconds: float = 120
    silence_seconds: float = 120
    """Between two pieces of an answer."""
    longest_pause_seconds: float = 60
    """A provider that asks for a longer one is not waited for."""


def load_model(name: str) -> Model:
    """The model of that name, as `provider:name`. Here its provider's library is imported."""
    try:
        model = infer_model(name)
    except (UserError, ImportError, ValueError) as error:
        raise BadSetting(f"the model {name!r} cannot be used: {error}") from error
    use_fast_transform()
    return model


class ModelAgent:
    reports_tools = True

    def __init__(
        self,
        model: Model,
        *,
        tools: Registry,
        kernel_of: Callable[[], Kernel],
        limits: Limits | None = None,
        rng: random.Random | None = None,
    ) -> None:
        self._model = model
        self._tools = tools
        self._opened = AsyncExitStack()
        self._kernel_of = kernel_of
        self._limits = limits or Limits()
        self._rng = rng or random.Random()
        self._settings = ModelSettings(
            timeout=self._limits.silence_seconds,
            first_event_timeout=self._limits.first_word_seconds,
            max_retries=0,  # we count the tries, and know what was said before
        )

    async def __aenter__(self) -> Self:
        await self._opened.enter_async_context(self._model)
        await self._opened.enter_async_context(self._tools)
        return self

    async def __aexit__(self, *raised: Any) -> None:
        """Close the connections to the provider and to MCP servers that are kept for the next turn."""
        await self._opened.aclose()

    async def answer(self, turn: OpenTurn) -> AsyncIterator[Delta | str]:
        kernel = self._kernel_of()
        box = await self._tools.open(ToolContext.of(turn, kernel))
        talk = await Conversation.of(turn, self._instructions(turn, box, kernel))
        figures = UsageTotals(prompt=SYSTEM.ref)
        spoken = False
        for _ in range(self._limits.steps):
            talk.hear(await turn.joined())
            step = _Step(self._model, self._settings, self._limits, kernel.clock, self._rng, apart=spoken)
            async with aclosing(step.run(talk, box)) as pieces:
                async for piece in pieces:
                    yield piece
            spoken = spoken or step.spoken
            yield Usage(figures.add(step.response))
            if not step.response.tool_calls:
                return
            async with aclosing(_act(step.response, talk, box)) as pieces:
                async for piece in pieces:
                    yield piece
        _log.warning("turn %s was ended after %d model steps", turn.id, self._limits.steps)
        yield Usage(figures.told(ended=f"after {self._limits.steps} model steps"))

    def _instructions(self, turn: OpenTurn, box: Toolbox, kernel: Kernel) -> str:
        return system_prompt(
            session=turn.session,
            source=turn.source,
            tools=list(box.tools),
            now=kernel.clock.ms(),
            zone=box.context.zone,
        )


class _Step:
    """One request to the model, made again while that is safe."""

    response: ModelResponse

    def __init__(
        self,
        model: Model,
        settings: ModelSettings,
        limits: Limits,
        clock: Clock,
        rng: random.Random,
        *,
        apart: bool,
    ) -> None:
        self._model = model
        self._settings = settings
        self._limits = limits
        self._clock = clock
        self._rng = rng
        self._apart = apart
        """There are words before this step's: they need a line between."""
        self._passed_on = False
        self.spoken = False

    async def run(self, talk: Conversation, box: Toolbox) -> AsyncGenerator[Delta, None]:
        for tried in range(1, self._limits.tries + 1):
            try:
                async with aclosing(self._stream(talk, box)) as pieces:
                    async for piece in pieces:
                        self._passed_on = True
                        yield piece
                return
            except AgentRunError as error:
                pause = self._pause(error, tried)
                if pause is None:
                    raise failure(error, midway=self._passed_on) from error
                _log.warning(
                    "a request to the model failed (%s); again in %d ms", type(error).__name__, pause
                )
            await self._clock.wait(asyncio.Event(), self._clock.ms() + pause)

    async def _stream(self, talk: Conversation, box: Toolbox) -> AsyncGenerator[Delta, None]:
        asked = ModelRequestParameters(
            function_tools=[_definition(tool) for tool in box.tools.values()],
            instruction_parts=[InstructionPart(content=talk.instructions)],
        )
        messages = self._model.prepare_messages(talk.messages, asked)
        async with model_request_stream(
            self._model, messages, model_settings=self._settings, model_request_parameters=asked
        ) as stream:
            async for event in stream:
                if piece := self._heard(event):
                    yield piece
            self.response = stream.get()
        check_whole(self.response)
        if self.response.finish_reason == "content_filter" and not self.spoken:
            raise ContentFilterError("the provider's filter held the answer back")

    def _heard(self, event: ModelResponseStreamEvent) -> Delta | None:
        match event:
            case (
                PartStartEvent(part=TextPart(content=text))
                | PartDeltaEvent(delta=TextPartDelta(content_delta=text))
            ) if text:
                first, self.spoken = not self.spoken, True
                return Text(f"\n\n{text}" if first and self._apart else text)
            case (
                PartStartEvent(part=ThinkingPart(content=thought))
                | PartDeltaEvent(delta=ThinkingPartDelta(content_delta=thought))
            ) if thought:
                return Thinking(thought)
        return None

    def _pause(self, error: AgentRunError, tried: int) -> int | None:
        """Milliseconds until the next try, or None when there is none."""
        if self._passed_on or tried >= self._limits.tries or not may_pass(error):
            return None
        asked = error.retry_after if isinstance(error, ModelAPIError) else None
        if asked is not None and asked > self._limits.longest_pause_seconds:
            return None
        own = backoff(tried, self._rng).total_seconds()
        return round(1000 * (own if asked is None else asked))


async def _act(response: ModelResponse, talk: Conversation, box: Toolbox) -> AsyncGenerator[Delta, None]:
    """The tools that a step called, one after the other, in the order it called them."""
    talk.said(response)
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
    talk.returned(results)


def _definition(tool: Tool) -> ToolDefinition:
    return ToolDefinition(
        name=tool.name, description=tool.description, parameters_json_schema=dict(tool.parameters)
    )
