"""Adapter for pydantic-ai: an `Agent` answers the turns.

    from segue.adapters.pydantic_ai import adapt
    kernel = Kernel("sqlite:///agent.db", agent=adapt(my_agent))

The run goes by `Agent.iter`. A capability reports each tool and waits until the report is stored; pydantic-ai
runs the tool after that. A tool with `requires_approval` ends the turn with a question, if the agent's
`output_type` includes `DeferredToolRequests`, as pydantic-ai wants it.
"""

from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from segue.adapters.approval import ask_approval, is_approved, refusal
from segue.adapters.conversation import Paragraphs, Said, conversation, result_of, said
from segue.adapters.framework import Framework
from segue.adapters.tools import ToolReports, Tools, open_tools, tool_names
from segue.agents.attachments import IMAGES_AND_PDF, Attachments
from segue.agents.tools.registry import Tool, Toolbox
from segue.errors import AgentFailed
from segue.model.agent import Delta, OpenTurn, Thinking, Usage

FRAMEWORK = Framework(
    adapter="segue.adapters.pydantic_ai",
    package="pydantic-ai",
    distributions=("pydantic-ai-slim",),
    lowest="2.62",
    below="3",
)

with FRAMEWORK.imported():
    from pydantic import TypeAdapter
    from pydantic_ai import messages as parts
    from pydantic_ai.agent import AbstractAgent, Agent
    from pydantic_ai.capabilities import AbstractCapability
    from pydantic_ai.exceptions import AgentRunError, ApprovalRequired, CallDeferred
    from pydantic_ai.run import AgentRun
    from pydantic_ai.tools import (
        DeferredToolRequests,
        DeferredToolResults,
        RunContext,
        ToolDefinition,
        ToolDenied,
    )
    from pydantic_ai.tools import Tool as FrameworkTool
    from pydantic_ai.toolsets import FunctionToolset

    from segue.agents.failures import to_agent_failed
    from segue.agents.model_messages import user_prompt
    from segue.agents.usage import UsageTotals

_STATE = "pydantic_ai"


def adapt(
    agent: AbstractAgent[Any, Any],
    tools: Tools = "all",
    *,
    deps: Callable[[OpenTurn], Any] | None = None,
) -> "PydanticAgent":
    """Return an agent for `Kernel(agent=…)`.

    `tools` are those of Segue's tools that the model may use. `deps` makes the dependencies of a run from
    its turn. Raises `BadSetting`.
    """
    if not isinstance(agent, AbstractAgent):
        raise FRAMEWORK.wrong_object("a pydantic_ai.Agent", agent)
    return PydanticAgent(agent, tool_names(tools), deps)


class PydanticAgent:
    reports_tools = True

    def __init__(
        self, agent: AbstractAgent[Any, Any], tools: tuple[str, ...], deps: Callable[[OpenTurn], Any] | None
    ) -> None:
        self._agent = agent
        self._tools = tools
        self._deps = deps

    async def answer(self, turn: OpenTurn) -> AsyncIterator[Delta | str]:
        box = await open_tools(turn, self._tools)
        deps = self._deps(turn) if self._deps else None
        pending = turn.resumed.state.get(_STATE) if turn.resumed else None
        files = Attachments(turn, IMAGES_AND_PDF)
        history = await (self._continued(turn, pending, files) if pending else self._begun(turn, deps, files))
        results = _decisions(turn, pending["calls"]) if pending else None
        try:
            async with self._agent.iter(
                message_history=history,
                deferred_tool_results=results,
                deps=deps,
                toolsets=[FunctionToolset([_offered(tool, box) for tool in box.tools.values()])],
                capabilities=[_Reporting(ToolReports(turn, box))],
            ) as run:
                async for piece in _pieces(turn, run, files):
                    yield piece
        except AgentRunError as error:
            raise to_agent_failed(error, midway=False) from error

    async def _begun(self, turn: OpenTurn, deps: Any, files: Attachments) -> "list[parts.ModelMessage]":
        """The conversation. pydantic-ai adds the system prompt only to a run without a history."""
        messages = list(_messages(await conversation(turn, files)))
        system = await self._agent.system_prompt_parts(deps=deps, prompt=turn.prompt)
        return [parts.ModelRequest(parts=system), *messages] if system else messages

    async def _continued(
        self, turn: OpenTurn, pending: Mapping[str, Any], files: Attachments
    ) -> "list[parts.ModelMessage]":
        """The conversation up to the call that waits for approval."""
        assert turn.resumed is not None
        history, asked = await turn.history(tools=True), turn.resumed.turn_id
        # Its prompt was given as the end of the history, so the stored messages begin after it.
        opening = next((each.seq for each in history if each.turn_id == asked and each.role == "user"), None)
        before = [each for each in history if each.turn_id != asked or each.seq == opening]
        stored = await files.attached({"messages": pending["messages"]})
        return [*_messages(await said(before, files)), *_STORED.validate_python(stored["messages"])]


async def _pieces(turn: OpenTurn, run: "AgentRun[Any, Any]", files: Attachments) -> AsyncIterator[Delta]:
    usage, paragraphs, has_text = UsageTotals(), Paragraphs(), False
    async for node in run:
        if Agent.is_model_request_node(node):
            paragraphs.next_step()
            added = await said(await turn.joined(), files)
            joined = [user_prompt(each.text, each.files) for each in added]
            node.request.parts = [*node.request.parts, *joined]
            async with node.stream(run.ctx) as stream:
                async for event in stream:
                    text, thought = _text_of(event)
                    if text:
                        has_text = True
                        yield paragraphs.piece(text)
                    elif thought:
                        yield Thinking(thought)
        elif Agent.is_call_tools_node(node):
            yield Usage(usage.add(node.model_response))
    output = run.result.output if run.result else None
    if isinstance(output, DeferredToolRequests):
        yield _question(output, run, files)
    elif not has_text and output is not None:
        yield paragraphs.piece(_written(output))


def _text_of(event: object) -> tuple[str, str]:
    """The text and the thinking that an event brings."""
    match event:
        case parts.PartStartEvent(part=parts.TextPart(content=text)):
            return text, ""
        case parts.PartDeltaEvent(delta=parts.TextPartDelta(content_delta=text)):
            return text, ""
        case parts.PartStartEvent(part=parts.ThinkingPart(content=thought)):
            return "", thought
        case parts.PartDeltaEvent(delta=parts.ThinkingPartDelta(content_delta=thought)):
            return "", thought or ""
    return "", ""


def _written(output: object) -> str:
    """An output that is not text, as JSON."""
    return output if isinstance(output, str) else TypeAdapter(type(output)).dump_json(output).decode()


def _question(requests: DeferredToolRequests, run: "AgentRun[Any, Any]", files: Attachments) -> Delta:
    if requests.calls:
        names = ", ".join(call.tool_name for call in requests.calls)
        raise AgentFailed(f"{names}: the adapter runs no tools outside of the agent; give it a function")
    calls = [(call.tool_name, call.args_as_dict()) for call in requests.approvals]
    state = {
        "messages": _STORED.dump_python(run.new_messages(), mode="json"),
        "calls": [call.tool_call_id for call in requests.approvals],
    }
    return ask_approval(calls, {_STATE: files.detached(state)})


def _decisions(turn: OpenTurn, call_ids: Iterable[str]) -> DeferredToolResults:
    decision = True if is_approved(turn) else ToolDenied(refusal(turn))
    return DeferredToolResults(approvals=dict.fromkeys(call_ids, decision))


def _offered(tool: Tool, box: Toolbox) -> "FrameworkTool[Any]":
    """One of Segue's tools as one of pydantic-ai."""

    async def call(ctx: RunContext[Any], **arguments: Any) -> str:
        return await box.call(tool.name, arguments, call_id=ctx.tool_call_id or "")

    return FrameworkTool.from_schema(
        call, name=tool.name, description=tool.description, json_schema=dict(tool.parameters), takes_ctx=True
    )


@dataclass
class _Reporting(AbstractCapability[Any]):
    """Reports each tool before it runs, and its result."""

    reports: ToolReports

    async def wrap_tool_execute(
        self,
        ctx: RunContext[Any],
        *,
        call: parts.ToolCallPart,
        tool_def: ToolDefinition,
        args: dict[str, Any],
        handler: Callable[[dict[str, Any]], Any],
    ) -> Any:
        await self.reports.started(call.tool_call_id, call.tool_name, call.args_as_dict())
        try:
            result = await handler(args)
        except (ApprovalRequired, CallDeferred):
            await self.reports.ended(call.tool_call_id, error="it asked for approval, and did nothing yet")
            raise
        except Exception as error:
            await self.reports.ended(call.tool_call_id, error=f"{type(error).__name__}: {error}")
            raise
        await self.reports.ended(call.tool_call_id, result=result)
        return result


def _messages(conversation: Iterable[Said]) -> "Iterable[parts.ModelMessage]":
    for each in conversation:
        if each.calls:
            yield parts.ModelResponse(
                parts=[
                    parts.ToolCallPart(call.name, dict(call.arguments), tool_call_id=call.call_id)
                    for call in each.calls
                ]
            )
            yield parts.ModelRequest(
                parts=[
                    parts.ToolReturnPart(call.name, result_of(call), tool_call_id=call.call_id)
                    for call in each.calls
                ]
            )
        if each.role == "assistant":
            yield parts.ModelResponse(parts=[parts.TextPart(each.text)])
        elif each.role == "system":
            yield parts.ModelRequest(parts=[parts.SystemPromptPart(each.text)])
        else:
            yield parts.ModelRequest(parts=[user_prompt(each.text, each.files)])


_STORED = parts.ModelMessagesTypeAdapter
