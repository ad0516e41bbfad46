"""Adapter for agno: an `Agent` answers the turns.

    from segue.adapters.agno import adapt
    kernel = Kernel("sqlite:///agent.db", agent=adapt(my_agent))

The agent gets Segue's history, in place of one from its own database. A tool hook, the last one before the
tool, reports each call and waits until the report is stored. A tool with `requires_confirmation` ends the
turn with a question.
"""

import json
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import aclosing
from contextvars import ContextVar
from typing import Any

from segue.adapters.approval import ask_approval, is_approved, refusal
from segue.adapters.call_ids import CallIds
from segue.adapters.conversation import Paragraphs, Said, conversation, result_of
from segue.adapters.framework import Framework
from segue.adapters.tools import ToolReports, Tools, open_tools, tool_names
from segue.agents.attachments import Attachments
from segue.agents.tools.registry import Tool
from segue.agents.tools.scheduling import scheduling_tools
from segue.errors import AgentFailed
from segue.model.agent import Delta, OpenTurn, Resumed, Thinking, Usage, current_turn
from segue.record import positional

FRAMEWORK = Framework(adapter="segue.adapters.agno", package="agno", lowest="3.1", below="4")

with FRAMEWORK.imported():
    from agno.agent import Agent
    from agno.media import Image
    from agno.models.message import Message
    from agno.run import agent as events
    from agno.run.agent import RunOutput
    from agno.run.requirement import RunRequirement
    from agno.tools.function import Function

_STATE = "agno"


def adapt(agent: Agent, tools: Tools = "all") -> "AgnoAgent":
    """Return an agent for `Kernel(agent=…)`.

    `tools` are those of Segue's tools that the model may use; they are given to a copy of the agent. Raises
    `BadSetting`.
    """
    if not isinstance(agent, Agent):
        raise FRAMEWORK.wrong_object("an agno.agent.Agent", agent)
    return AgnoAgent(agent, tool_names(tools))


class AgnoAgent:
    reports_tools = True

    def __init__(self, agent: Agent, tools: tuple[str, ...]) -> None:
        self._tools = tools
        mine = list(agent.tools) if isinstance(agent.tools, list) else []
        offered = [_offered(tool) for tool in scheduling_tools(*tools)] if tools else []
        self._agent = agent.deep_copy(
            update={
                "tools": [*mine, *offered],
                "tool_hooks": [*(agent.tool_hooks or []), _report],
                "add_history_to_context": False,
            }
        )

    async def answer(self, turn: OpenTurn) -> AsyncIterator[Delta | str]:
        calls = _Calls(ToolReports(turn, await open_tools(turn, self._tools)), CallIds())
        _calls.set(calls)
        files = Attachments(turn)
        output = _Output(files)
        if turn.resumed is None:
            run = await self._begin(turn, files)
        else:
            run = await self._resume(turn, turn.resumed, files)
        async with aclosing(run):
            async for event in run:
                if isinstance(event, events.ToolCallStartedEvent) and event.tool is not None:
                    calls.ids.announce(event.tool.tool_call_id, event.tool.tool_name, event.tool.tool_args)
                for piece in output.pieces(event):
                    yield piece

    async def _begin(self, turn: OpenTurn, files: Attachments) -> Any:
        given = [message for each in await conversation(turn, files) for message in _messages(each)]
        return self._agent.arun(
            given, session_id=turn.session.id, stream=True, stream_events=True, yield_run_output=True
        )

    async def _resume(self, turn: OpenTurn, resumed: Resumed, files: Attachments) -> Any:
        if _STATE not in resumed.state:  # another agent asked
            return await self._begin(turn, files)
        paused = RunOutput.from_dict(await files.attached(resumed.state[_STATE]))
        decided = {}
        for requirement in _confirmations(paused):
            if is_approved(turn):
                requirement.confirm()  # type: ignore[no-untyped-call]
            else:
                requirement.reject(refusal(turn))
            if requirement.tool_execution is not None:
                decided[requirement.tool_execution.tool_call_id] = requirement.tool_execution
        # The decisions are read from the run's tools, which were the same objects before they were stored.
        paused.tools = [decided.get(call.tool_call_id, call) for call in paused.tools or []]
        return self._agent.acontinue_run(
            paused,
            requirements=paused.requirements,
            session_id=turn.session.id,
            stream=True,
            stream_events=True,
            yield_run_output=True,
        )


class _Output:
    """The events of a run: text, usage, and calls that wait for confirmation."""

    def __init__(self, files: Attachments) -> None:
        self._files = files
        self._paragraphs = Paragraphs()
        self._usage: dict[str, Any] = {"requests": 0, "input_tokens": 0, "output_tokens": 0}

    def pieces(self, event: object) -> Iterable[Delta]:
        match event:
            case events.ModelRequestStartedEvent():
                self._paragraphs.next_step()
            case events.RunContentEvent(content=text, reasoning_content=thought):
                if thought:
                    yield Thinking(thought)
                if text:
                    yield self._paragraphs.piece(str(text))
            case events.ModelRequestCompletedEvent():
                yield self._used(event)
            case events.RunErrorEvent(content=text) | events.RunCancelledEvent(reason=text):
                raise AgentFailed(f"the run of the agent failed: {text}")
            case RunOutput(is_paused=True):
                yield _question(event, self._files)

    def _used(self, event: events.ModelRequestCompletedEvent) -> Usage:
        self._usage["model"] = event.model
        self._usage["requests"] += 1
        self._usage["input_tokens"] += event.input_tokens or 0
        self._usage["output_tokens"] += event.output_tokens or 0
        return Usage(dict(self._usage))


def _confirmations(run: RunOutput) -> list[RunRequirement]:
    return [each for each in run.requirements or [] if each.needs_confirmation]


def _question(run: RunOutput, files: Attachments) -> Delta:
    waiting = _confirmations(run)
    if len(waiting) < len(run.active_requirements):
        raise AgentFailed("the adapter can ask for confirmations only, not for a tool's input or result")
    calls = [each.tool_execution for each in waiting]
    asked = [(call.tool_name or "", call.tool_args or {}) for call in calls if call is not None]
    return ask_approval(asked, {_STATE: files.detached(json.loads(run.to_json(indent=None)))})


@positional
class _Calls:
    """The calls of a turn, for the hook."""

    reports: ToolReports
    ids: CallIds


_calls: ContextVar[_Calls] = ContextVar("segue_agno_calls")
_call_id: ContextVar[str] = ContextVar("segue_agno_call_id")


async def _report(name: str, function: Callable[..., Any], arguments: dict[str, Any]) -> Any:
    """Tool hook: report the call before the tool runs, and its result."""
    calls = _calls.get()
    call_id = calls.ids.take(name, arguments)
    _call_id.set(call_id)
    await calls.reports.started(call_id, name, arguments)
    try:
        result = await function(**arguments)
    except Exception as error:
        await calls.reports.ended(call_id, error=f"{type(error).__name__}: {error}")
        raise
    await calls.reports.ended(call_id, result=result)
    return result


def _offered(tool: Tool) -> Function:
    """One of Segue's tools as one of agno."""

    async def call(**arguments: Any) -> str:
        box = await current_turn().tools(tool.name)
        return await box.call(tool.name, arguments, call_id=_call_id.get())

    return Function(
        name=tool.name,
        description=tool.description,
        parameters=dict(tool.parameters),
        entrypoint=call,
        skip_entrypoint_processing=True,
    )


def _messages(each: Said) -> Iterable[Message]:
    if each.calls:
        yield Message(
            role="assistant",
            tool_calls=[
                {
                    "id": call.call_id,
                    "type": "function",
                    "function": {"name": call.name, "arguments": json.dumps(dict(call.arguments))},
                }
                for call in each.calls
            ],
        )
        for call in each.calls:
            yield Message(
                role="tool", content=result_of(call), tool_call_id=call.call_id, tool_name=call.name
            )
    images = [Image(content=file.data, mime_type=file.file.media_type) for file in each.files]
    yield Message(role=each.role, content=each.text, images=images or None)
