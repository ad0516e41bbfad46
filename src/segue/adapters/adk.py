"""Adapter for Google's Agent Development Kit: an agent or an `App` of it answers the turns.

    from segue.adapters.adk import adapt
    kernel = Kernel("sqlite:///agent.db", agent=adapt(my_agent))

Each turn has an ADK session of its own, made from Segue's history, so that there is one history. The state of
the session is kept for the next turn. A plugin reports each tool and waits until the report is stored; ADK
runs the tool after that. A tool that requires confirmation ends the turn with a question.
"""

import json
from asyncio import CancelledError
from collections.abc import AsyncIterator, Iterable, Mapping
from contextlib import aclosing
from typing import Any

from segue.adapters.approval import ask_approval, is_approved, refusal
from segue.adapters.conversation import Paragraphs, Said, result_of, said
from segue.adapters.framework import Framework
from segue.adapters.tools import ToolReports, Tools, open_tools, tool_names
from segue.agents.attachments import Attachments
from segue.agents.tools.registry import Tool
from segue.agents.tools.scheduling import scheduling_tools
from segue.errors import AgentFailed, BadSetting
from segue.model.agent import Delta, OpenTurn, Thinking, Usage, current_turn

FRAMEWORK = Framework(adapter="segue.adapters.adk", package="google-adk", lowest="2.13", below="3")

with FRAMEWORK.imported():
    from google.adk.agents import BaseAgent, LlmAgent
    from google.adk.agents.run_config import RunConfig
    from google.adk.apps import App
    from google.adk.events import Event
    from google.adk.plugins import BasePlugin
    from google.adk.runners import Runner
    from google.adk.sessions import InMemorySessionService
    from google.adk.tools.base_tool import BaseTool
    from google.adk.tools.tool_context import ToolContext
    from google.genai import types

_STATE = "adk"
_NAME = "segue"
_CONFIRMATION = "adk_request_confirmation"
_FOLLOW = "(Follow the last of your instructions.)"
"""The message beside the instruction of a recall: ADK has no messages with the role system."""


def adapt(agent: BaseAgent | App, tools: Tools = "all") -> "AdkAgent":
    """Return an agent for `Kernel(agent=…)`.

    `tools` are those of Segue's tools that the model may use; they are given to a copy of the agent. Raises
    `BadSetting`.
    """
    app: Any = App(name=_NAME, root_agent=agent) if isinstance(agent, BaseAgent) else agent
    if not isinstance(app, App) or not isinstance(app.root_agent, BaseAgent):
        raise FRAMEWORK.wrong_object("an agent of google.adk.agents, or an App with one", agent)
    names = tool_names(tools)
    return AdkAgent(app, _with_tools(app.root_agent, names), names)


def _with_tools(agent: BaseAgent, names: tuple[str, ...]) -> BaseAgent:
    if not names:
        return agent
    if not isinstance(agent, LlmAgent):
        raise BadSetting(
            f"only an LlmAgent can use tools, got {type(agent).__name__}: adapt(agent, tools=())"
        )
    return agent.clone({"tools": [*agent.tools, *(_Offered(tool) for tool in scheduling_tools(*names))]})


class AdkAgent:
    reports_tools = True

    def __init__(self, app: App, root: BaseAgent, tools: tuple[str, ...]) -> None:
        self._app = app
        self._root = root
        self._tools = tools

    async def answer(self, turn: OpenTurn) -> AsyncIterator[Delta | str]:
        reporting = _Reporting(turn, ToolReports(turn, await open_tools(turn, self._tools)))
        sessions = InMemorySessionService()
        session = await sessions.create_session(
            app_name=_NAME, user_id=turn.session.id, state=turn.saved.get(_STATE, {}).get("state")
        )
        pending = turn.resumed.state.get(_STATE) if turn.resumed else None
        files = Attachments(turn)
        past = await self._past(turn, pending, files)
        message = _decisions(turn, pending["calls"]) if pending else await _asked(turn, files)
        for event in past:
            await sessions.append_event(session, event)
        before = len(session.events)
        app = self._app.model_copy(
            update={"name": _NAME, "root_agent": self._root, "plugins": [reporting, *self._app.plugins]}
        )
        runner = Runner(app=app, session_service=sessions)
        output = _Output()
        events = runner.run_async(
            user_id=turn.session.id,
            session_id=session.id,
            new_message=message,
            run_config=RunConfig.model_validate({"streaming_mode": "sse"}),
        )
        async with aclosing(events):
            async for event in events:
                for piece in output.pieces(event):
                    yield piece
        ended = await sessions.get_session(app_name=_NAME, user_id=turn.session.id, session_id=session.id)
        assert ended is not None
        if output.confirmations:
            earlier = pending["events"] if pending else []
            new = [event.model_dump(mode="json", exclude_none=True) for event in ended.events[before:]]
            yield output.question(files, [*earlier, *new])
        elif ended.state or _STATE in turn.saved:
            turn.saved[_STATE] = {"state": dict(ended.state)}

    async def _past(
        self, turn: OpenTurn, pending: Mapping[str, Any] | None, files: Attachments
    ) -> list[Event]:
        own = {turn.id, turn.resumed.turn_id} if turn.resumed and pending else {turn.id}
        history = await said(await turn.history(tools=True), files)
        events = [event for each in history if each.turn_id not in own for event in self._events(each)]
        stored = (await files.attached({"events": pending["events"]}))["events"] if pending else []
        return [*events, *(Event.model_validate(event) for event in stored)]

    def _events(self, each: Said) -> Iterable[Event]:
        if each.calls:
            calls = [
                types.FunctionCall(id=call.call_id, name=call.name, args=dict(call.arguments))
                for call in each.calls
            ]
            results = [
                types.FunctionResponse(id=call.call_id, name=call.name, response={"result": result_of(call)})
                for call in each.calls
            ]
            yield self._event("model", [types.Part(function_call=call) for call in calls])
            yield self._event("user", [types.Part(function_response=result) for result in results])
        role = "model" if each.role == "assistant" else "user"
        yield self._event(role, _parts(each))

    def _event(self, role: str, parts: list[types.Part]) -> Event:
        by_agent = role == "model" or parts[0].function_response is not None
        author = self._root.name if by_agent else "user"
        return Event(author=author, invocation_id=_NAME, content=types.Content(role=role, parts=parts))


def _parts(each: Said) -> list[types.Part]:
    images = [types.Part.from_bytes(data=file.data, mime_type=file.file.media_type) for file in each.files]
    return [types.Part(text=each.text), *images]


async def _asked(turn: OpenTurn, files: Attachments) -> types.Content:
    """The prompt, and what the user added in an earlier attempt of the turn."""
    added = await said([each for each in await turn.history() if each.turn_id == turn.id], files)
    text = files.text(turn.prompt, turn.parts) if turn.role == "user" else _FOLLOW
    prompt = Said(role="user", text=text, files=files.of(turn.parts, turn.role))
    return types.Content(role="user", parts=[part for each in [prompt, *added] for part in _parts(each)])


def _decisions(turn: OpenTurn, call_ids: Iterable[str]) -> types.Content:
    response = {"confirmed": is_approved(turn)}
    answers = [types.FunctionResponse(id=each, name=_CONFIRMATION, response=response) for each in call_ids]
    return types.Content(role="user", parts=[types.Part(function_response=answer) for answer in answers])


class _Output:
    """The events of a run: text, usage, and calls that wait for confirmation."""

    def __init__(self) -> None:
        self.confirmations: list[types.FunctionCall] = []
        self._paragraphs = Paragraphs()
        self._streamed = False
        self._usage: dict[str, Any] = {"requests": 0, "input_tokens": 0, "output_tokens": 0}

    def pieces(self, event: Event) -> Iterable[Delta]:
        if event.author == "user":
            return
        if event.error_code and not event.content:
            raise AgentFailed(f"the model failed with {event.error_code}: {event.error_message}")
        # With streaming, the event after the partial ones has their whole text again.
        if event.partial or not self._streamed:
            yield from self._spoken(event)
        if event.partial:
            self._streamed = True
            return
        self._streamed = False
        self._paragraphs.next_step()
        self.confirmations += [call for call in event.get_function_calls() if call.name == _CONFIRMATION]
        if event.usage_metadata is not None:
            yield self._used(event.usage_metadata, event.model_version)

    def _spoken(self, event: Event) -> Iterable[Delta]:
        for part in (event.content.parts if event.content else None) or ():
            if part.text and part.thought:
                yield Thinking(part.text)
            elif part.text:
                yield self._paragraphs.piece(part.text)

    def _used(self, used: types.GenerateContentResponseUsageMetadata, model: str | None) -> Usage:
        self._usage["model"] = model
        self._usage["requests"] += 1
        self._usage["input_tokens"] += used.prompt_token_count or 0
        self._usage["output_tokens"] += (used.candidates_token_count or 0) + (used.thoughts_token_count or 0)
        return Usage(dict(self._usage))

    def question(self, files: Attachments, events: list[dict[str, Any]]) -> Delta:
        originals = [(call.args or {})["originalFunctionCall"] for call in self.confirmations]
        calls = [(each["name"], each.get("args") or {}) for each in originals]
        ids = [call.id for call in self.confirmations]
        return ask_approval(calls, {_STATE: files.detached({"events": events, "calls": ids})})


class _Reporting(BasePlugin):
    """Reports each tool before it runs, and its result; gives the model the instruction of a recall."""

    def __init__(self, turn: OpenTurn, reports: ToolReports) -> None:
        super().__init__(name="segue_reporting")
        self._turn = turn
        self._reports = reports

    async def before_model_callback(self, *, callback_context: Any, llm_request: Any) -> None:
        if self._turn.role != "user":
            llm_request.append_instructions([self._turn.prompt])

    async def before_tool_callback(
        self, *, tool: BaseTool, tool_args: dict[str, Any], tool_context: ToolContext
    ) -> None:
        if await self._may_run(tool, tool_args, tool_context):
            await self._reports.started(tool_context.function_call_id or "", tool.name, tool_args)

    async def _may_run(self, tool: BaseTool, arguments: dict[str, Any], context: ToolContext) -> bool:
        if not await tool.check_require_confirmation(arguments, context):
            return True
        return context.tool_confirmation is not None and context.tool_confirmation.confirmed

    async def after_tool_callback(
        self, *, tool: BaseTool, tool_args: dict[str, Any], tool_context: ToolContext, result: Any
    ) -> dict[str, Any] | None:
        confirmation = tool_context.tool_confirmation
        if confirmation is not None and not confirmation.confirmed:
            return {"error": refusal(self._turn)}
        only = result["result"] if isinstance(result, dict) and list(result) == ["result"] else result
        text = only if isinstance(only, str) else json.dumps(only, ensure_ascii=False, default=str)
        await self._reports.ended(tool_context.function_call_id or "", result=text)
        return None

    async def on_tool_error_callback(
        self, *, tool: BaseTool, tool_args: dict[str, Any], tool_context: ToolContext, error: BaseException
    ) -> None:
        if not isinstance(error, CancelledError):
            told = f"{type(error).__name__}: {error}"
            await self._reports.ended(tool_context.function_call_id or "", error=told)


class _Offered(BaseTool):
    """One of Segue's tools as one of ADK."""

    def __init__(self, tool: Tool) -> None:
        super().__init__(name=tool.name, description=tool.description)
        self._parameters = dict(tool.parameters)

    def _get_declaration(self) -> types.FunctionDeclaration:
        return types.FunctionDeclaration(
            name=self.name, description=self.description, parameters_json_schema=self._parameters
        )

    async def run_async(self, *, args: dict[str, Any], tool_context: ToolContext) -> str:
        box = await current_turn().tools(self.name)
        return await box.call(self.name, args, call_id=tool_context.function_call_id or self.name)
