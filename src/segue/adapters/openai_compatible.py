"""Adapter for OpenAI-compatible servers: a plain loop over a client, or over an address.

    from segue.adapters.openai_compatible import adapt
    kernel = Kernel("sqlite:///agent.db", agent=adapt("http://127.0.0.1:11434/v1", model="llama3"))

For a program without a framework. Own tools are `segue.Tool`s. Those in `approve` end the turn with a
question to the user, and run after a `yes`.
"""

import json
from collections.abc import AsyncIterator, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from segue.adapters.approval import ask_approval, is_approved, refusal
from segue.adapters.conversation import Paragraphs, Said, arranged, result_of, said
from segue.adapters.framework import Framework
from segue.adapters.tools import Tools, tool_names
from segue.agents.attachments import Attachments
from segue.agents.tools.arguments import BadArguments, parse
from segue.agents.tools.registry import Registry, Tool, Toolbox, ToolContext
from segue.agents.tools.scheduling import scheduling_tools
from segue.errors import BadSetting
from segue.model.agent import Delta, OpenTurn, Thinking, Usage

FRAMEWORK = Framework(adapter="segue.adapters.openai_compatible", package="openai", lowest="2.0", below="4")

with FRAMEWORK.imported():
    from openai import APIError, AsyncOpenAI

    from segue.adapters.openai_errors import to_agent_failed

_STATE = "openai_compatible"

ChatMessage: TypeAlias = dict[str, Any]
"""A message of OpenAI's chat completions."""


def adapt(
    client: AsyncOpenAI | str,
    tools: Tools = "all",
    *,
    model: str,
    instructions: str = "",
    own_tools: Sequence[Tool] = (),
    approve: Collection[str] = (),
    api_key: str | None = None,
    max_steps: int = 50,
) -> "ChatAgent":
    """Return an agent for `Kernel(agent=…)`.

    `client` is an `AsyncOpenAI`, or the base URL of a server. `tools` are those of Segue's tools that the
    model may use, beside `own_tools`. `approve` names the tools that need the user's approval. Raises
    `BadSetting`.
    """
    if isinstance(client, str):
        client = AsyncOpenAI(base_url=client, api_key=api_key or "none")
    if not isinstance(client, AsyncOpenAI):
        raise FRAMEWORK.wrong_object("an openai.AsyncOpenAI or a base URL", client)
    chosen = tool_names(tools)
    registry = Registry([*(scheduling_tools(*chosen) if chosen else ()), *own_tools])
    if unknown := set(approve) - set(registry.names):
        raise BadSetting(
            f"approve names {', '.join(sorted(unknown))}, and there are the tools {', '.join(registry.names)}"
        )
    return ChatAgent(client, model, instructions, registry, frozenset(approve), max_steps)


class ChatAgent:
    reports_tools = True

    def __init__(
        self,
        client: AsyncOpenAI,
        model: str,
        instructions: str,
        tools: Registry,
        approve: frozenset[str],
        max_steps: int,
    ) -> None:
        self._client = client
        self._model = model
        self._instructions = instructions
        self._tools = tools
        self._approve = approve
        self._max_steps = max_steps

    async def answer(self, turn: OpenTurn) -> AsyncIterator[Delta | str]:
        box = await self._tools.open(ToolContext.of(turn))
        paragraphs, totals = Paragraphs(), _Totals(self._model)
        pending = turn.resumed.state.get(_STATE) if turn.resumed else None
        files = Attachments(turn)
        before, messages = await _opening(turn, pending, files)
        if pending:
            messages += await _results(box, messages[-1], self._approve, turn)
        for _ in range(self._max_steps):
            messages += _messages(await said(await turn.joined(), files))
            paragraphs.next_step()
            step = _Step()
            async for piece in self._stream([*before, *messages], box, step, paragraphs):
                yield piece
            yield totals.add(step)
            if not step.calls:
                return
            messages.append(step.message)
            waiting = [call for call in step.calls.values() if call["function"]["name"] in self._approve]
            if waiting:
                calls = [(call["function"]["name"], _arguments(call)) for call in waiting]
                yield ask_approval(calls, {_STATE: files.detached({"messages": messages})})
                return
            messages += await _results(box, step.message)

    async def _stream(
        self, messages: Sequence[ChatMessage], box: Toolbox, step: "_Step", paragraphs: Paragraphs
    ) -> AsyncIterator[Delta]:
        system = [{"role": "system", "content": self._instructions}] if self._instructions else []
        asked: dict[str, Any] = {"model": self._model, "messages": [*system, *messages]}
        if box.tools:
            asked["tools"] = [_offered(tool) for tool in box.tools.values()]
        try:
            stream = await self._client.chat.completions.create(
                **asked, stream=True, stream_options={"include_usage": True}
            )
            async with stream:
                async for chunk in stream:
                    text, thought = step.add(chunk)
                    if text:
                        yield paragraphs.piece(text)
                    if thought:
                        yield Thinking(thought)
        except APIError as error:
            raise to_agent_failed(error) from error


@dataclass
class _Step:
    """One answer of the model, gathered from its chunks."""

    text: str = ""
    calls: dict[int, dict[str, Any]] = field(default_factory=dict)
    usage: tuple[int, int] = (0, 0)

    def add(self, chunk: Any) -> tuple[str, str]:
        """Return the text and the thinking that the chunk brings."""
        if chunk.usage:
            self.usage = (chunk.usage.prompt_tokens, chunk.usage.completion_tokens)
        if not chunk.choices:
            return "", ""
        delta = chunk.choices[0].delta
        for part in delta.tool_calls or ():
            empty = {"id": "", "type": "function", "function": {"name": "", "arguments": ""}}
            call = self.calls.setdefault(part.index, empty)
            call["id"] = part.id or call["id"]
            if part.function:
                call["function"]["name"] += part.function.name or ""
                call["function"]["arguments"] += part.function.arguments or ""
        self.text += delta.content or ""
        return delta.content or "", getattr(delta, "reasoning_content", None) or ""

    @property
    def message(self) -> ChatMessage:
        return {"role": "assistant", "content": self.text or None, "tool_calls": list(self.calls.values())}


class _Totals:
    def __init__(self, model: str) -> None:
        self._figures: dict[str, Any] = {"model": model, "requests": 0, "input_tokens": 0, "output_tokens": 0}

    def add(self, step: _Step) -> Usage:
        self._figures["requests"] += 1
        self._figures["input_tokens"] += step.usage[0]
        self._figures["output_tokens"] += step.usage[1]
        return Usage(dict(self._figures))


async def _opening(
    turn: OpenTurn, pending: Mapping[str, Any] | None, files: Attachments
) -> tuple[list[ChatMessage], list[ChatMessage]]:
    """The messages before the turn, and those of the turn, which may continue one that asked the user."""
    history = await said(await turn.history(tools=True), files)
    if pending is None or turn.resumed is None:
        before = [each for each in history if each.turn_id != turn.id]
        own = arranged(turn, history, files)[len(before) :]
        return list(_messages(before)), list(_messages(own))
    before = [each for each in history if each.turn_id != turn.resumed.turn_id]
    stored = await files.attached(pending)
    return list(_messages(before)), stored["messages"]


async def _results(
    box: Toolbox, message: ChatMessage, approve: Collection[str] = (), turn: OpenTurn | None = None
) -> list[ChatMessage]:
    """Run the tools that a message calls, one after the other; those that the user refused do not run."""
    results = []
    for call in message["tool_calls"]:
        name, call_id = call["function"]["name"], call["id"]
        if turn is not None and name in approve and not is_approved(turn):
            content = refusal(turn)
        else:
            content = await box.call(name, call["function"]["arguments"], call_id=call_id)
        results.append({"role": "tool", "tool_call_id": call_id, "content": content})
    return results


def _arguments(call: Mapping[str, Any]) -> dict[str, Any]:
    try:
        return dict(parse(call["function"]["arguments"]))
    except BadArguments:
        return {}


def _offered(tool: Tool) -> dict[str, Any]:
    function = {"name": tool.name, "description": tool.description, "parameters": dict(tool.parameters)}
    return {"type": "function", "function": function}


def _messages(conversation: Iterable[Said]) -> Iterator[ChatMessage]:
    for each in conversation:
        if each.calls:
            calls = [
                {
                    "id": call.call_id,
                    "type": "function",
                    "function": {
                        "name": call.name,
                        "arguments": json.dumps(dict(call.arguments), ensure_ascii=False),
                    },
                }
                for call in each.calls
            ]
            yield {"role": "assistant", "content": None, "tool_calls": calls}
            for call in each.calls:
                yield {"role": "tool", "tool_call_id": call.call_id, "content": result_of(call)}
        yield {"role": each.role, "content": _content(each)}


def _content(each: Said) -> str | list[dict[str, Any]]:
    if not each.files:
        return each.text
    images = [{"type": "image_url", "image_url": {"url": file.data_url}} for file in each.files]
    return [{"type": "text", "text": each.text}, *images]
