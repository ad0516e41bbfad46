"""Adapter for LangGraph and LangChain: a compiled graph answers the turns.

    from segue.adapters.langgraph import adapt
    kernel = Kernel("sqlite:///agent.db", agent=adapt(lambda tools: create_agent(model, [my_tool, *tools])))

A callback reports each tool and waits until the report is stored; LangChain runs the tool after that.

Without a checkpointer the graph gets Segue's history. With one it keeps its own, a thread for each session,
and gets only what it has not seen. A turn continues from the checkpoint of the last turn that ended well, so
that a failed, stopped or repeated turn leaves nothing behind in the thread. An interrupt, which needs a
checkpointer, ends the turn with a question.
"""

import asyncio
import inspect
import json
from collections.abc import AsyncIterator, Callable, Coroutine, Iterable, Mapping, Sequence
from contextlib import aclosing
from contextvars import ContextVar
from typing import Any, TypeAlias
from uuid import UUID

from segue.adapters.approval import ask_approval, is_approved, refusal
from segue.adapters.conversation import Paragraphs, Said, arranged, result_of, said
from segue.adapters.framework import Framework
from segue.adapters.tools import ToolReports, Tools, open_tools, tool_names
from segue.agents.attachments import Attachments
from segue.agents.tools.scheduling import scheduling_tools
from segue.errors import AgentFailed, BadSetting
from segue.model.agent import Delta, OpenTurn, Thinking, Usage, Waiting, current_turn

FRAMEWORK = Framework(adapter="segue.adapters.langgraph", package="langgraph", lowest="1.2", below="2")

with FRAMEWORK.imported():
    from langchain_core.callbacks import AsyncCallbackHandler
    from langchain_core.messages import (
        AIMessage,
        BaseMessage,
        HumanMessage,
        RemoveMessage,
        SystemMessage,
        ToolMessage,
    )
    from langchain_core.runnables import RunnableConfig
    from langchain_core.tools import BaseTool
    from langgraph.checkpoint.base import BaseCheckpointSaver
    from langgraph.errors import GraphBubbleUp
    from langgraph.graph.message import REMOVE_ALL_MESSAGES
    from langgraph.pregel import Pregel
    from langgraph.types import Command, Interrupt, StateSnapshot

Graph: TypeAlias = "Pregel[Any, Any, Any, Any]"
_STATE = "langgraph"


def adapt(
    graph: "Graph | Callable[[list[BaseTool]], Graph]",
    tools: Tools = "all",
    *,
    reports_tools: bool | None = None,
) -> "GraphAgent":
    """Return an agent for `Kernel(agent=…)`.

    A graph binds its tools when it is made: give a function that makes it with the tools of Segue that it is
    called with, or a compiled graph and `tools=()`. `reports_tools` is true for a graph of `create_agent`;
    set it for another graph if it acts by nothing but LangChain tools. Raises `BadSetting`.
    """
    names = tool_names(tools)
    made: Any = graph
    if isinstance(graph, Pregel) and names:
        raise BadSetting(
            "a compiled graph takes no more tools: give a function that makes it with Segue's tools, as in "
            "adapt(lambda tools: create_agent(model, [*mine, *tools])), or offer none with tools=()"
        )
    if inspect.isroutine(graph):
        made = graph([_offered(name) for name in names])
    if not isinstance(made, Pregel):
        raise FRAMEWORK.wrong_object("a compiled graph, or a function that makes one", made)
    if "messages" not in made.channels:
        raise BadSetting("the state of the graph needs `messages`, as in langgraph.graph.MessagesState")
    return GraphAgent(made, names, _made_by_langchain(made) if reports_tools is None else reports_tools)


class GraphAgent:
    def __init__(self, graph: Graph, tools: tuple[str, ...], reports_tools: bool) -> None:
        self._graph = graph
        self._tools = tools
        self.reports_tools = reports_tools

    async def answer(self, turn: OpenTurn) -> AsyncIterator[Delta | str]:
        reports = _Reporting(ToolReports(turn, await open_tools(turn, self._tools)))
        thread = _Thread(self._graph, turn)
        given, config = await thread.start()
        run = _Run()
        stream: Any = self._graph.astream(
            given, {**config, "callbacks": [reports]}, stream_mode=["messages", "values"]
        )
        async with aclosing(stream):
            async for mode, data in stream:
                for piece in run.pieces(mode, data):
                    yield piece
        question = run.question() or await thread.end()
        if question is not None:
            yield await thread.waiting(question)
        elif not run.has_text and run.answer:
            yield run.answer


class _Thread:
    """The graph's own history of the session, if it has a checkpointer."""

    def __init__(self, graph: Graph, turn: OpenTurn) -> None:
        self._graph = graph
        self._turn = turn
        self._kept = isinstance(graph.checkpointer, BaseCheckpointSaver)

    def _config(self, checkpoint_id: str | None = None) -> RunnableConfig:
        named = {"thread_id": self._turn.session.id}
        return {"configurable": named | ({"checkpoint_id": checkpoint_id} if checkpoint_id else {})}

    async def start(self) -> "tuple[Any, RunnableConfig]":
        """Return the graph's input, and the configuration with the checkpoint that it continues from."""
        pending = self._turn.resumed.state.get(_STATE) if self._turn.resumed else None
        if pending is not None and (pending["interrupts"] or is_approved(self._turn)):
            return await self._resume(pending)
        if self._kept and self._turn.replaces is not None and await self._state() is not None:
            # The thread has the turn that this one replaces: begin its history again.
            messages = [RemoveMessage(id=REMOVE_ALL_MESSAGES), *await _new_messages(self._turn)]
            return {"messages": messages}, self._config()
        seen = self._turn.saved.get(_STATE) if self._kept else None
        if seen is None or await self._state(seen["checkpoint_id"]) is None:
            return {"messages": await _new_messages(self._turn)}, self._config()
        return {"messages": await _new_messages(self._turn, seen)}, self._config(seen["checkpoint_id"])

    async def _resume(self, pending: Mapping[str, Any]) -> "tuple[Any, RunnableConfig]":
        if await self._state(pending["checkpoint_id"]) is None:
            raise AgentFailed(
                "the checkpointer no longer has the run that waits for the user's answer; use one that "
                "outlives the process, such as langgraph-checkpoint-sqlite or -postgres",
                shown="What I asked about is no longer there. Please ask me again.",
            )
        answers = {each["id"]: _answer(self._turn, each) for each in pending["interrupts"]}
        return Command(resume=answers) if answers else None, self._config(pending["checkpoint_id"])

    async def _state(self, checkpoint_id: str | None = None) -> "StateSnapshot | None":
        state = await self._graph.aget_state(self._config(checkpoint_id))
        return state if state.created_at else None

    async def end(self) -> "_Question | None":
        """Keep the checkpoint for the next turn. Returns a question if the graph stopped at a breakpoint."""
        state = await self._state() if self._kept else None
        if state is None:
            return None
        if state.next:
            return _Question(f"The graph stopped before {', '.join(state.next)}. May it continue?", [])
        self._turn.saved[_STATE] = {
            "checkpoint_id": state.config["configurable"]["checkpoint_id"],
            "turn_id": self._turn.id,
            "seq": self._turn.seq,
        }
        return None

    async def waiting(self, question: "_Question") -> Waiting:
        state = await self._state()
        assert state is not None, "an interrupt needs a checkpointer"
        checkpoint_id = state.config["configurable"]["checkpoint_id"]
        return question.waiting({"checkpoint_id": checkpoint_id, "interrupts": question.interrupts})


class _Run:
    """The stream of a run: its text, its usage, its interrupts."""

    def __init__(self) -> None:
        self._paragraphs = Paragraphs()
        self._message_id: str | None = None
        self._usage: dict[str, Any] = {"requests": 0, "input_tokens": 0, "output_tokens": 0}
        self._interrupts: Sequence[Interrupt] = ()
        self.has_text = False
        self.answer = ""
        """The text of the last message, for a graph that streams none."""

    def pieces(self, mode: str, data: Any) -> Iterable[Delta]:
        if mode == "values":
            self._interrupts = data.get("__interrupt__", ())
            last = data["messages"][-1] if data.get("messages") else None
            self.answer = last.text if isinstance(last, AIMessage) else ""
        elif isinstance(data[0], AIMessage):
            yield from self._spoken(data[0])

    def _spoken(self, message: AIMessage) -> Iterable[Delta]:
        if message.id != self._message_id:
            self._message_id = message.id
            self._usage["requests"] += 1
            self._paragraphs.next_step()
        for block in message.content_blocks:
            if block["type"] == "text" and block["text"]:
                self.has_text = True
                yield self._paragraphs.piece(block["text"])
            elif block["type"] == "reasoning" and block.get("reasoning"):
                yield Thinking(block["reasoning"])
        if message.usage_metadata:
            yield self._used(message)

    def _used(self, message: AIMessage) -> Usage:
        used = message.usage_metadata
        assert used is not None
        self._usage["model"] = message.response_metadata.get("model_name", self._usage.get("model"))
        self._usage["input_tokens"] += used["input_tokens"]
        self._usage["output_tokens"] += used["output_tokens"]
        return Usage(dict(self._usage))

    def question(self) -> "_Question | None":
        return _Question.of(self._interrupts) if self._interrupts else None


class _Question:
    """What the graph waits for."""

    def __init__(self, text: str, interrupts: Sequence[Mapping[str, Any]]) -> None:
        self.text = text
        self.interrupts = list(interrupts)

    @classmethod
    def of(cls, interrupts: "Sequence[Interrupt]") -> "_Question":
        stored = []
        texts = []
        for interrupt in interrupts:
            calls, decisions = _approvals(interrupt.value)
            stored.append({"id": interrupt.id, "decisions": decisions})
            texts.append(ask_approval(calls, {}).question if calls else _asked(interrupt.value))
        return cls("\n".join(texts), stored)

    def waiting(self, state: Mapping[str, Any]) -> Waiting:
        yes_or_no = all(each["decisions"] is not None for each in self.interrupts)
        return Waiting(self.text, ("yes", "no") if yes_or_no else (), {_STATE: state})


def _approvals(value: Any) -> tuple[list[tuple[str, Mapping[str, Any]]], int | None]:
    """Return the calls that LangChain's middleware asks about, and how many decisions it wants in a list.

    0 stands for one decision that is not in a list, None for an interrupt of another kind.
    """
    if isinstance(value, Mapping) and "action_requests" in value:
        calls = [(each["name"], each["args"]) for each in value["action_requests"]]
        return calls, len(calls)
    if isinstance(value, Mapping) and value.get("type") == "tool_approval":
        return [(value["name"], value["args"])], 0
    return [], None


def _asked(value: Any) -> str:
    if isinstance(value, Mapping) and isinstance(value.get("question"), str):
        return str(value["question"])
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)


def _answer(turn: OpenTurn, interrupt: Mapping[str, Any]) -> Any:
    """Return what an interrupt is resumed with: LangChain's decisions, or the user's text."""
    count = interrupt["decisions"]
    if count is None:
        return turn.text
    decision = {"type": "approve"} if is_approved(turn) else {"type": "reject", "message": refusal(turn)}
    return {"decisions": [decision] * count} if count else decision


async def _new_messages(turn: OpenTurn, seen: Mapping[str, Any] | None = None) -> "list[BaseMessage]":
    """Return what the thread has not seen, and the prompt."""
    history = await turn.history(tools=True)
    if seen is not None:
        history = [each for each in history if each.seq > seen["seq"] and each.turn_id != seen["turn_id"]]
    files = Attachments(turn)
    given = arranged(turn, await said(history, files), files, continues=seen is not None)
    return [message for each in given for message in _messages(each)]


def _messages(each: Said) -> "Iterable[BaseMessage]":
    if each.calls:
        calls = [{"id": call.call_id, "name": call.name, "args": dict(call.arguments)} for call in each.calls]
        yield AIMessage(content="", tool_calls=calls)
        for call in each.calls:
            yield ToolMessage(content=result_of(call), tool_call_id=call.call_id, name=call.name)
    kinds: dict[str, type[BaseMessage]] = {"assistant": AIMessage, "system": SystemMessage}
    yield kinds.get(each.role, HumanMessage)(content=_content(each))


def _content(each: Said) -> "str | list[str | dict[Any, Any]]":
    if not each.files:
        return each.text
    images = [
        {"type": "image", "base64": file.base64, "mime_type": file.file.media_type} for file in each.files
    ]
    return [{"type": "text", "text": each.text}, *images]


class _Reporting(AsyncCallbackHandler):
    """Reports each tool before it runs, and its result."""

    raise_error = True
    """A tool whose report is not stored must not run."""

    def __init__(self, reports: ToolReports) -> None:
        self._reports = reports
        self._loop = asyncio.get_running_loop()
        self._call_ids: dict[UUID, str] = {}

    async def _tell(self, report: Coroutine[Any, Any, None]) -> None:
        """Report in the turn's event loop: LangChain calls the hooks of a synchronous tool in another one."""
        if asyncio.get_running_loop() is self._loop:
            await report
        else:
            await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(report, self._loop))

    async def on_tool_start(
        self, serialized: dict[str, Any], input_str: str, *, run_id: UUID, **more: Any
    ) -> None:
        self._call_ids[run_id] = call_id = more.get("tool_call_id") or str(run_id)
        arguments = more.get("inputs") or {"input": input_str}
        await self._tell(self._reports.started(call_id, serialized["name"], arguments))

    async def on_tool_end(self, output: Any, *, run_id: UUID, **more: Any) -> None:
        text = output.text if isinstance(output, ToolMessage) else str(output)
        failed = isinstance(output, ToolMessage) and output.status == "error"
        call_id = self._call_ids.pop(run_id)
        await self._tell(self._reports.ended(call_id, result=text, error=text if failed else None))

    async def on_tool_error(self, error: BaseException, *, run_id: UUID, **more: Any) -> None:
        waits = isinstance(error, GraphBubbleUp)
        told = "it waits for the user" if waits else f"{type(error).__name__}: {error}"
        await self._tell(self._reports.ended(self._call_ids.pop(run_id), error=told))


_call_id: ContextVar[str] = ContextVar("segue_call_id")


class _Offered(BaseTool):
    """One of Segue's tools as one of LangChain."""

    async def arun(self, tool_input: Any, *more: Any, tool_call_id: str | None = None, **named: Any) -> Any:
        _call_id.set(tool_call_id or self.name)
        return await super().arun(tool_input, *more, tool_call_id=tool_call_id, **named)

    async def _arun(self, **arguments: Any) -> str:
        box = await current_turn().tools(self.name)
        return await box.call(self.name, arguments, call_id=_call_id.get())

    def _run(self, **arguments: Any) -> str:
        raise NotImplementedError("Segue's tools are asynchronous; run the graph by its adapter")


def _offered(name: str) -> _Offered:
    (tool,) = scheduling_tools(name)
    return _Offered(name=name, description=tool.description, args_schema=dict(tool.parameters))


def _made_by_langchain(graph: Graph) -> bool:
    """Whether `create_agent` made the graph, so that only its tools act."""
    metadata = (graph.config or {}).get("metadata", {})
    return bool(metadata.get("ls_integration") == "langchain_create_agent")
