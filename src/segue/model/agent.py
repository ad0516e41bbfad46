"""The agent protocol: the caller's own loop around a model, behind one method.

A plain async function is enough. It gets the open turn and yields the model's text as it comes:

    async def my_agent(turn: OpenTurn) -> AsyncIterator[Delta | str]:
        history = await turn.history()
        async for piece in my_model(history, turn.text):
            yield piece

or returns the whole answer at once:

    async def my_agent(turn: OpenTurn) -> str: ...

An agent that reports each tool before it is called (`ToolStarted`), and declares so by `reports_tools`, can
be run again after a crash that came before any tool. Of other agents it is unknown what they did.
"""

import inspect
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from dataclasses import field
from typing import Any, Protocol, TypeAlias, runtime_checkable

from segue.errors import BadSetting
from segue.model.prompts import PromptRef
from segue.model.records import Session, Source
from segue.model.transcript import Message
from segue.record import positional, record


@positional
class Text:
    """A piece of the answer."""

    text: str


@positional
class Thinking:
    """A piece of the model's thinking. Readers who follow the turn see it; it is not stored."""

    text: str


@record
class ToolStarted:
    """Yielded before a tool is called. It is stored before the agent continues."""

    call_id: str
    name: str
    arguments: Mapping[str, Any] = field(default_factory=dict)


@record
class ToolCalled:
    """Yielded after a tool was called."""

    call_id: str
    name: str
    result: str | None = None
    error: str | None = None
    duration_ms: int = 0
    arguments: Mapping[str, Any] = field(default_factory=dict)


@positional
class Usage:
    """Tokens, cost, model, as the provider reported them. The turn and its run store the last one."""

    figures: Mapping[str, Any]


Delta: TypeAlias = Text | Thinking | ToolStarted | ToolCalled | Usage
"""What an agent yields. A plain string stands for `Text`."""


@record
class OpenTurn:
    """A running turn, as its agent sees it."""

    id: str
    session: Session
    """The conversation that the turn belongs to."""
    via: Session
    """The chat that it came through, which owns the jobs made in it; in unified mode another session."""
    text: str
    """What the user or the job asks. It is not in the history."""
    prompt: str
    """What to give the model after the history: the text, preceded in a scheduled turn by the facts of its
    slot. It is never stored as a message."""
    role: str
    """The role of the prompt: `user`, or `system` for a recall, which the agent wrote itself."""
    prompt_ref: PromptRef | None
    """Which template the prompt was rendered from; None for a user's turn."""
    source: Source | None
    """None for a user's turn."""
    attempt: int
    """2 or more after a crash or a failure: an earlier attempt may have said something."""
    started_at: int
    _history: Callable[[int], Awaitable[list[Message]]]
    _joined: Callable[[], Awaitable[list[Message]]]

    async def history(self, limit: int = 200) -> list[Message]:
        """The newest messages before this turn, oldest first."""
        return await self._history(limit)

    async def joined(self) -> list[Message]:
        """The messages that the user has added since (`when_busy="inject"`). Ask before each model step."""
        return await self._joined()


@runtime_checkable
class Agent(Protocol):
    """An agent that is more than a plain function."""

    reports_tools: bool
    """True only if each tool runs after `ToolStarted` was yielded and control came back: in a loop of your
    own, or one that hands you each step before it takes it. A framework that runs tools in its own tasks does
    not wait for the report, and after a crash its tool would run twice. See `docs/guides/embed.md`."""

    def answer(self, turn: OpenTurn) -> AsyncIterator[Delta | str]:
        """Yield the answer in pieces, as strings or deltas."""
        ...


AgentFunction: TypeAlias = Callable[[OpenTurn], Any]


class FunctionAgent:
    """A plain async function as an agent."""

    def __init__(self, function: AgentFunction, *, reports_tools: bool = False) -> None:
        self._function = function
        self.reports_tools = reports_tools

    async def answer(self, turn: OpenTurn) -> AsyncIterator[Delta | str]:
        answer = self._function(turn)
        if inspect.isawaitable(answer):
            answer = await answer
        if hasattr(answer, "__aiter__"):
            async for piece in answer:
                yield piece
        elif answer is not None:
            yield answer


def as_agent(agent: Agent | AgentFunction) -> Agent:
    """Returns the agent, or a function as an agent. Raises BadSetting."""
    if isinstance(agent, Agent):
        return agent
    if callable(agent):
        return FunctionAgent(agent, reports_tools=getattr(agent, "reports_tools", False))
    raise BadSetting(f"an agent is an async function or has an `answer` method, got {type(agent).__name__}")
