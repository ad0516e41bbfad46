"""Adapter for the Claude Agent SDK: Claude Code, with the options of your agent, answers the turns.

    from segue.adapters.claude import adapt
    kernel = Kernel("sqlite:///agent.db", agent=adapt(ClaudeAgentOptions(...)))

Claude Code keeps its own history. A turn forks the session of the last turn that ended well, and gets as text
what was said elsewhere since, so that a failed or stopped turn leaves nothing behind. A `PreToolUse` hook
reports each tool and waits until the report is stored; Claude Code runs the tool after that. A tool that is
named in `approve` ends the turn with a question.
"""

import json
from asyncio import CancelledError, wait_for
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from contextlib import AsyncExitStack, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

from segue.adapters.approval import ask_approval, is_approved, refusal
from segue.adapters.call_ids import CallIds
from segue.adapters.conversation import Paragraphs, said
from segue.adapters.framework import Framework
from segue.adapters.tools import ToolReports, Tools, open_tools, tool_names
from segue.agents.attachments import Attachments
from segue.agents.tools.registry import Tool, Toolbox
from segue.errors import AgentFailed, BadSetting, SegueError
from segue.model.agent import Delta, OpenTurn, Thinking, Usage

FRAMEWORK = Framework(
    adapter="segue.adapters.claude", package="claude-agent-sdk", lowest="0.2.182", below="0.3"
)

with FRAMEWORK.imported():
    from claude_agent_sdk import (
        ClaudeAgentOptions,
        ClaudeSDKClient,
        HookMatcher,
        ResultError,
        ResultMessage,
        SdkMcpTool,
        StreamEvent,
        create_sdk_mcp_server,
    )
    from claude_agent_sdk.types import (
        HookCallback,
        HookEvent,
        SystemPromptCustom,
        SystemPromptFile,
        SystemPromptPreset,
    )

_STATE = "claude"
_SERVER = "segue"
_INTERRUPT_SECONDS = 0.5
_NO_SESSION = "No conversation found"
_FOLLOW = "(Follow the last of your instructions.)"
"""The message beside the instruction of a recall, which is part of the system prompt."""


def adapt(options: ClaudeAgentOptions, tools: Tools = "all", *, approve: Sequence[str] = ()) -> "ClaudeAgent":
    """Return an agent for `Kernel(agent=…)`.

    `tools` are those of Segue's tools that the model may use, as an MCP server `segue`. The tools in
    `approve`, such as `Bash` or `mcp__shop__pay`, run only if the user says yes. Prompts are given as they
    are written: `@file` and `/command` in them mean nothing. Raises `BadSetting`.
    """
    if not isinstance(options, ClaudeAgentOptions):
        raise FRAMEWORK.wrong_object("claude_agent_sdk.ClaudeAgentOptions", options)
    names = tool_names(tools)
    if names and not isinstance(options.mcp_servers, dict):
        raise BadSetting("mcp_servers is a dict if Segue's tools are offered, got a path or JSON: tools=()")
    if options.resume or options.continue_conversation or options.session_id:
        raise BadSetting("the adapter chooses the session of each turn; leave out resume and session_id")
    return ClaudeAgent(options, names, frozenset(approve))


class ClaudeAgent:
    reports_tools = True

    def __init__(self, options: ClaudeAgentOptions, tools: tuple[str, ...], approve: frozenset[str]) -> None:
        self._options = options
        self._tools = tools
        self._approve = approve

    async def answer(self, turn: OpenTurn) -> AsyncIterator[Delta | str]:
        box = await open_tools(turn, self._tools)
        hooks = _Hooks(turn, box, self._approve)
        pending = turn.resumed.state.get(_STATE) if turn.resumed else None
        output = _Output()
        async with AsyncExitStack() as stack:
            client, seen = await self._open(stack, turn, box, hooks, pending)
            if pending is None:
                await client.query(_prompt(turn, seen))
            # Without a message Claude Code continues with the tool that waits for approval.
            try:
                async for message in client.receive_response():
                    for piece in output.pieces(message):
                        yield piece
            except CancelledError:
                # Else Claude Code waits for the end of the model's answer, and the SDK for Claude Code.
                with suppress(Exception):
                    await wait_for(client.interrupt(), _INTERRUPT_SECONDS)
                raise
        ended = output.ended
        if ended.deferred_tool_use is not None:
            call = ended.deferred_tool_use
            state = {"session_id": ended.session_id, "call_id": call.id}
            yield ask_approval([(call.name, call.input)], {_STATE: state})
        else:
            turn.saved[_STATE] = {"session_id": ended.session_id, "seq": turn.seq, "turn_id": turn.id}

    async def _open(
        self,
        stack: AsyncExitStack,
        turn: OpenTurn,
        box: Toolbox,
        hooks: "_Hooks",
        pending: Mapping[str, Any] | None,
    ) -> tuple[ClaudeSDKClient, Mapping[str, Any] | None]:
        """Start Claude Code; return with it what its session has seen, None for a new session."""
        # Claude Code's own session has the turn that this one replaces.
        seen = turn.saved.get(_STATE) if turn.replaces is None else None
        session = pending or seen
        fork = pending is None and session is not None
        if session is not None:
            options = self._options_for(turn, box, hooks, resume=session["session_id"], fork_session=fork)
            try:
                return await stack.enter_async_context(ClaudeSDKClient(options)), seen
            except ResultError as error:
                if _NO_SESSION not in str(error):
                    raise
                if pending is not None:
                    raise AgentFailed(
                        f"{error}: the session that waits for the user's answer is not on this machine; keep "
                        "Claude Code's files, or give a session_store in the options",
                        shown="What I asked about is no longer there. Please ask me again.",
                    ) from error
        options = self._options_for(turn, box, hooks)
        return await stack.enter_async_context(ClaudeSDKClient(options)), None

    def _options_for(
        self, turn: OpenTurn, box: Toolbox, hooks: "_Hooks", **session: Any
    ) -> ClaudeAgentOptions:
        options = self._options
        servers = options.mcp_servers
        if box.tools and isinstance(servers, dict):
            offered = [_offered(tool, box, hooks.ids) for tool in box.tools.values()]
            servers = {**servers, _SERVER: create_sdk_mcp_server(_SERVER, tools=offered)}
        options = replace(
            options,
            **session,
            mcp_servers=servers,
            allowed_tools=[*options.allowed_tools, *(f"mcp__{_SERVER}__{name}" for name in box.tools)],
            hooks=hooks.beside(options.hooks),
            include_partial_messages=True,
            verbatim_prompts=True,
        )
        return options if turn.role == "user" else _instructed(options, turn.prompt)


def _instructed(options: ClaudeAgentOptions, instruction: str) -> ClaudeAgentOptions:
    """Add the instruction of a recall to the system prompt. Without `snapshot`, a session keeps its first."""
    prompt = options.system_prompt
    if isinstance(prompt, dict) and prompt["type"] == "preset":
        appended = f"{prompt['append']}\n\n{instruction}" if "append" in prompt else instruction
        preset: SystemPromptPreset = {**prompt, "append": appended, "snapshot": False}
        return replace(options, system_prompt=preset)
    text = f"{_system_text(prompt)}\n\n{instruction}".strip()
    return replace(options, system_prompt={"type": "custom", "prompt": text, "snapshot": False})


def _system_text(prompt: str | SystemPromptCustom | SystemPromptFile | None) -> str:
    if isinstance(prompt, dict):
        return Path(prompt["path"]).read_text() if prompt["type"] == "file" else prompt["prompt"]
    return prompt or ""


async def _prompt(turn: OpenTurn, seen: Mapping[str, Any] | None) -> AsyncIterator[dict[str, Any]]:
    """Yield one message: the prompt, after what Claude's session has not seen, and the images of both."""
    history = await turn.history()
    if seen is not None:
        history = [each for each in history if each.seq > seen["seq"] and each.turn_id != seen["turn_id"]]
    files = Attachments(turn)
    given = await said(history, files)
    before = [f"{each.role}: {each.text}" for each in given if each.turn_id != turn.id]
    added = [each.text for each in given if each.turn_id == turn.id]
    told = ["What was said before in this conversation:", *before, "Now:"] if before else []
    prompt = files.text(turn.prompt, turn.parts) if turn.role == "user" else _FOLLOW
    images = [*(file for each in given for file in each.files), *files.of(turn.parts, turn.role)]
    content: list[dict[str, Any]] = [{"type": "text", "text": "\n\n".join([*told, prompt, *added])}]
    content += [
        {
            "type": "image",
            "source": {"type": "base64", "media_type": file.file.media_type, "data": file.base64},
        }
        for file in images
    ]
    yield {"type": "user", "message": {"role": "user", "content": content}, "parent_tool_use_id": None}


class _Output:
    """The messages of a run: its text, its usage, its end."""

    def __init__(self) -> None:
        self._paragraphs = Paragraphs()
        self._result: ResultMessage | None = None

    @property
    def ended(self) -> ResultMessage:
        if self._result is None:
            raise AgentFailed("Claude Code ended without a result")
        return self._result

    def pieces(self, message: object) -> Iterable[Delta]:
        if isinstance(message, StreamEvent) and message.parent_tool_use_id is None:
            yield from self._streamed(message.event)
        elif isinstance(message, ResultMessage):
            self._result = message
            yield _usage(message)
            if message.is_error:
                raise AgentFailed(
                    f"Claude Code failed: {message.result or message.errors or message.subtype}"
                )

    def _streamed(self, event: Mapping[str, Any]) -> Iterable[Delta]:
        if event["type"] == "message_start":
            self._paragraphs.next_step()
        elif event["type"] == "content_block_delta":
            match event["delta"]:
                case {"type": "text_delta", "text": str(text)} if text:
                    yield self._paragraphs.piece(text)
                case {"type": "thinking_delta", "thinking": str(thought)} if thought:
                    yield Thinking(thought)


def _usage(result: ResultMessage) -> Usage:
    used = result.usage or {}
    return Usage(
        {
            "model": next(iter(result.model_usage or {}), None),
            "requests": result.num_turns,
            "input_tokens": used.get("input_tokens", 0),
            "output_tokens": used.get("output_tokens", 0),
        }
    )


class _Hooks:
    """Report each tool before it runs, and its result; hold back those that need approval."""

    def __init__(self, turn: OpenTurn, box: Toolbox, approve: frozenset[str]) -> None:
        self.ids = CallIds()
        self._turn = turn
        self._reports = ToolReports(turn, box)
        self._approve = approve
        pending = turn.resumed.state.get(_STATE) if turn.resumed else None
        self._asked = pending["call_id"] if pending else None

    def beside(
        self, hooks: Mapping[HookEvent, list[HookMatcher]] | None
    ) -> dict[HookEvent, list[HookMatcher]]:
        """Return the user's hooks and these."""
        own: dict[HookEvent, HookCallback] = {
            "PreToolUse": self._before,
            "PostToolUse": self._after,
            "PostToolUseFailure": self._failed,
        }
        given = hooks or {}
        added = {event: [*given.get(event, ()), HookMatcher(hooks=[hook])] for event, hook in own.items()}
        return {**given, **added}

    async def _before(self, call: Any, call_id: str | None, context: Any) -> Any:
        decision = self._decide(call)
        if decision not in (None, "allow"):
            return _decision(decision, refusal(self._turn) if decision == "deny" else "")
        if call["tool_name"].startswith(f"mcp__{_SERVER}__"):
            self.ids.announce(call["tool_use_id"], call["tool_name"], call["tool_input"])
            return {}
        try:
            await self._reports.started(call["tool_use_id"], call["tool_name"], call["tool_input"])
        except SegueError as error:
            return _decision("deny", f"the call could not be reported, so it does not run: {error}")
        return _decision("allow") if decision else {}

    def _decide(self, call: Mapping[str, Any]) -> str | None:
        if call["tool_name"] not in self._approve:
            return None
        if call["tool_use_id"] != self._asked:
            return "defer"
        return "allow" if is_approved(self._turn) else "deny"

    async def _after(self, call: Any, call_id: str | None, context: Any) -> Any:
        await self._reports.ended(call["tool_use_id"], result=_text(call["tool_response"]))
        return {}

    async def _failed(self, call: Any, call_id: str | None, context: Any) -> Any:
        await self._reports.ended(call["tool_use_id"], error=call["error"])
        return {}


def _decision(decision: str | None, reason: str = "") -> dict[str, Any]:
    output = {
        "hookEventName": "PreToolUse",
        "permissionDecision": decision,
        "permissionDecisionReason": reason,
    }
    return {"hookSpecificOutput": output}


def _text(response: Any) -> str:
    """Return a tool's result as text: the blocks of MCP, or the JSON of Claude Code's own tools."""
    if isinstance(response, list) and all(isinstance(each, dict) and "text" in each for each in response):
        return "\n".join(each["text"] for each in response)
    return response if isinstance(response, str) else json.dumps(response, ensure_ascii=False, default=str)


def _offered(tool: Tool, box: Toolbox, ids: CallIds) -> SdkMcpTool[Any]:
    """One of Segue's tools as one of an MCP server in this process."""

    async def call(arguments: dict[str, Any]) -> dict[str, Any]:
        call_id = ids.take(f"mcp__{_SERVER}__{tool.name}", arguments)
        text = await box.call(tool.name, arguments, call_id=call_id)
        return {"content": [{"type": "text", "text": text}]}

    return SdkMcpTool(tool.name, tool.description, dict(tool.parameters), call)
