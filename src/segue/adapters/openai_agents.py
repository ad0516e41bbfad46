"""Adapter for the OpenAI Agents SDK: an `agents.Agent` answers the turns.

    from segue.adapters.openai_agents import adapt
    kernel = Kernel("sqlite:///agent.db", agent=adapt(my_agent))

The SDK awaits its run hooks before it runs a tool: there the call is reported, and the tool runs when the
report is stored. A tool with `needs_approval` ends the turn with a question. The SDK's `RunState` is kept
with it, and continues with the user's answer.
"""

import asyncio
import inspect
import json
from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from dataclasses import replace
from typing import Any

from segue.adapters.approval import ask_approval, is_approved, refusal
from segue.adapters.conversation import Paragraphs, Said, conversation, result_of, said
from segue.adapters.framework import Framework
from segue.adapters.tools import ToolReports, Tools, open_tools, tool_names
from segue.agents.attachments import Attachments
from segue.agents.tools.arguments import BadArguments, parse
from segue.agents.tools.registry import Tool, Toolbox
from segue.model.agent import Delta, OpenTurn, Thinking, Usage

FRAMEWORK = Framework(
    adapter="segue.adapters.openai_agents", package="openai-agents", lowest="0.20", below="1"
)

with FRAMEWORK.imported():
    from agents import Agent, FunctionTool, RunConfig, RunContextWrapper, RunHooks, Runner, RunState
    from agents.items import TResponseInputItem
    from agents.result import RunResultStreaming
    from agents.run_config import CallModelData, CallModelInputFilter, ModelInputData
    from agents.tool_context import ToolContext
    from openai import APIError
    from openai.types.responses import (
        ResponseCompletedEvent,
        ResponseCreatedEvent,
        ResponseInputMessageContentListParam,
        ResponseReasoningSummaryTextDeltaEvent,
        ResponseReasoningTextDeltaEvent,
        ResponseRefusalDeltaEvent,
        ResponseTextDeltaEvent,
    )

    from segue.adapters.openai_errors import to_agent_failed

_STATE = "openai_agents"
_COUNTS = ("requests", "input_tokens", "output_tokens")


def adapt(
    agent: Agent[Any],
    tools: Tools = "all",
    *,
    context: Callable[[OpenTurn], Any] | None = None,
    run_config: RunConfig | None = None,
    max_turns: int = 50,
) -> "OpenAIAgent":
    """Return an agent for `Kernel(agent=…)`.

    `tools` are those of Segue's tools that the model may use. `context` makes the SDK's context of a run from
    its turn; it must be JSON if a tool needs approval. `max_turns` limits the model's steps. Raises
    `BadSetting`.
    """
    if not isinstance(agent, Agent):
        raise FRAMEWORK.wrong_object("an agents.Agent", agent)
    return OpenAIAgent(agent, tool_names(tools), context, run_config or RunConfig(), max_turns)


class OpenAIAgent:
    reports_tools = True

    def __init__(
        self,
        agent: Agent[Any],
        tools: tuple[str, ...],
        context: Callable[[OpenTurn], Any] | None,
        run_config: RunConfig,
        max_turns: int,
    ) -> None:
        self._agent = agent
        self._tools = tools
        self._context = context
        self._run_config = run_config
        self._max_turns = max_turns

    async def answer(self, turn: OpenTurn) -> AsyncIterator[Delta | str]:
        box = await open_tools(turn, self._tools)
        offered = [_offered(tool, box) for tool in box.tools.values()]
        agent = self._agent.clone(tools=[*self._agent.tools, *offered])
        files = Attachments(turn)
        result = Runner.run_streamed(
            agent,
            await self._input(turn, agent, files),
            context=self._context(turn) if self._context else None,
            hooks=_Reporting(ToolReports(turn, box)),
            run_config=replace(
                self._run_config,
                call_model_input_filter=_Joining(turn, files, self._run_config.call_model_input_filter),
            ),
            max_turns=self._max_turns,
        )
        try:
            async for piece in _pieces(result, _Counts(result), files):
                yield piece
        except APIError as error:
            raise to_agent_failed(error) from error
        finally:
            await _end(result)

    async def _input(
        self, turn: OpenTurn, agent: Agent[Any], files: Attachments
    ) -> "list[TResponseInputItem] | RunState[Any, Agent[Any]]":
        """The conversation; or the run that waits for approval, with the user's decision."""
        pending = turn.resumed.state.get(_STATE) if turn.resumed else None
        if pending is None:
            return list(_items(await conversation(turn, files)))
        state = await RunState.from_json(agent, await files.attached(pending))
        for call in state.get_interruptions():
            if is_approved(turn):
                state.approve(call)
            else:
                state.reject(call, rejection_message=refusal(turn))
        return state


async def _pieces(result: RunResultStreaming, counts: "_Counts", files: Attachments) -> AsyncIterator[Delta]:
    paragraphs, has_text = Paragraphs(), False
    async for event in result.stream_events():
        if event.type != "raw_response_event":
            yield counts.usage()
            continue
        match event.data:
            case ResponseCreatedEvent():
                paragraphs.next_step()
            case ResponseCompletedEvent(response=response):
                counts.model = response.model
            case ResponseTextDeltaEvent(delta=text) | ResponseRefusalDeltaEvent(delta=text):
                has_text = True
                yield paragraphs.piece(text)
            case (
                ResponseReasoningTextDeltaEvent(delta=thought)
                | ResponseReasoningSummaryTextDeltaEvent(delta=thought)
            ):
                yield Thinking(thought)
    yield counts.usage()
    if result.interruptions:
        calls = [(call.tool_name or "a tool", _arguments(call.arguments)) for call in result.interruptions]
        yield ask_approval(calls, {_STATE: files.detached(_stored(result))})
    elif not has_text and result.final_output is not None:
        yield paragraphs.piece(str(result.final_output))


def _stored(result: RunResultStreaming) -> dict[str, Any]:
    """The state of a run that waits. Earlier answers are stored as the texts that they were given as: the SDK
    writes them in a form that it cannot send to chat completions."""
    state: dict[str, Any] = result.to_state().to_json()
    items = state["original_input"]
    for item in items if isinstance(items, list) else ():
        if item.get("role") == "assistant" and isinstance(item.get("content"), list) and "id" not in item:
            item["content"] = "".join(part["text"] for part in item["content"])
            item.pop("status", None)
    return state


async def _end(result: RunResultStreaming) -> None:
    """Stop the run, if it has not ended, and wait until its tools have ended too."""
    if not result.is_complete:
        result.cancel()
    if result.run_loop_task is not None:
        await asyncio.gather(result.run_loop_task, return_exceptions=True)


class _Counts:
    """Tokens of a run. One that continues after an approval has those of the earlier turn too."""

    def __init__(self, result: RunResultStreaming) -> None:
        self._totals = result.context_wrapper.usage
        self._before = {name: getattr(self._totals, name) for name in _COUNTS}
        self.model: str | None = None

    def usage(self) -> Usage:
        counts = {name: getattr(self._totals, name) - before for name, before in self._before.items()}
        return Usage({"model": self.model, **counts})


class _Reporting(RunHooks[Any]):
    """Reports each tool before it runs, and its result."""

    def __init__(self, reports: ToolReports) -> None:
        self._reports = reports

    async def on_tool_start(self, context: RunContextWrapper[Any], agent: Any, tool: Any) -> None:
        arguments = _arguments(context.tool_arguments) if isinstance(context, ToolContext) else {}
        await self._reports.started(_call_id(context), tool.name, arguments)

    async def on_tool_end(
        self, context: RunContextWrapper[Any], agent: Any, tool: Any, result: object
    ) -> None:
        await self._reports.ended(_call_id(context), result=result)


def _call_id(context: RunContextWrapper[Any]) -> str:
    """Tools of a computer or a shell have no id of their call; the SDK gives them a context of their own."""
    return context.tool_call_id if isinstance(context, ToolContext) else f"call-{id(context)}"


def _arguments(text: str | None) -> dict[str, Any]:
    try:
        return dict(parse(text))
    except BadArguments:
        return {}


class _Joining:
    """Adds the messages that the user sends during the run, each where the conversation stood then."""

    def __init__(self, turn: OpenTurn, files: Attachments, then: CallModelInputFilter | None) -> None:
        self._turn = turn
        self._files = files
        self._then = then
        self._joined: list[tuple[int, TResponseInputItem]] = []

    async def __call__(self, data: CallModelData[Any]) -> ModelInputData:
        items = list(data.model_data.input)
        for item in _items(await said(await self._turn.joined(), self._files)):
            self._joined.append((len(items), item))
        for added, (position, item) in enumerate(self._joined):
            items.insert(position + added, item)
        data.model_data.input = items
        if self._then is None:
            return data.model_data
        filtered = self._then(data)
        return await filtered if inspect.isawaitable(filtered) else filtered


def _offered(tool: Tool, box: Toolbox) -> FunctionTool:
    """One of Segue's tools as one of the SDK."""

    async def call(context: ToolContext[Any], arguments: str) -> str:
        return await box.call(tool.name, arguments, call_id=context.tool_call_id)

    return FunctionTool(
        name=tool.name,
        description=tool.description,
        params_json_schema=dict(tool.parameters),
        on_invoke_tool=call,
        strict_json_schema=False,
    )


def _items(conversation: Iterable[Said]) -> "Iterator[TResponseInputItem]":
    for each in conversation:
        for call in each.calls:
            arguments = json.dumps(dict(call.arguments), ensure_ascii=False)
            yield {
                "type": "function_call",
                "call_id": call.call_id,
                "name": call.name,
                "arguments": arguments,
            }
            yield {"type": "function_call_output", "call_id": call.call_id, "output": result_of(call)}
        if each.role == "assistant":
            yield {"role": "assistant", "content": each.text}
        elif each.role == "system":
            yield {"role": "system", "content": each.text}
        elif each.files:
            content: ResponseInputMessageContentListParam = [{"type": "input_text", "text": each.text}]
            for file in each.files:
                content.append({"type": "input_image", "image_url": file.data_url, "detail": "auto"})
            yield {"role": "user", "content": content}
        else:
            yield {"role": "user", "content": each.text}
