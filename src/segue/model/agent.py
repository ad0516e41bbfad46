"""The agent: the caller's own loop around a model, behind one method.

A plain async function will do. It gets the open turn and yields what the model says as it says it:

    async def my_agent(turn: OpenTurn) -> AsyncIterator[Delta | str]:
        history = await turn.history()
        async for piece in my_model(history, turn.text):
            yield piece

or returns the whole answer at once:

    async def my_agent(turn: OpenTurn) -> str: ...

An agent that reports each tool before it is called (`ToolStarted`) and says so by `reports_tools` can
be run again after a crash that came before any tool. Of one that does not, it is not known what it did.
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
    text: str


@positional
class Thinking:
    text: str


@record
class ToolStarted:
    """Said before the call; it is in the store before the agent goes on."""

    call_id: str
    name: str
    arguments: Mapping[str, Any] = field(default_factory=dict)


@record
class ToolCalled:
    call_id: str
    name: str
    result: str | None = None
    error: str | None = None
    duration_ms: int = 0
    arguments: Mapping[str, Any] = field(default_factory=dict)


@positional
class Usage:
    """Tokens, cost, model: what the provider reported, as it said it."""

    figures: Mapping[str, Any]


Delta: TypeAlias = Text | Thinking | ToolStarted | ToolCalled | Usage


@record
class OpenTurn:
    """A turn under way, as its agent sees it."""

    id: str
    session: Session
    """The conversation it is a part of."""
    via: Session
    """The chat it came by, to which belongs what is made in it; in unified mode another session."""
    text: str
    """What is asked, in the words of whoever asks: the user, or the job. It is not in the history."""
    prompt: str
    """What a model is to be given after the history: the text, in a scheduled turn with the facts of its
    slot before it. It is never stored as a message."""
    role: str
    """Whose words the prompt is: `user`, or `system` for what the agent left for itself (a recall)."""
    prompt_ref: PromptRef | None
    """Which template the prompt was rendered from; None for a user's turn."""
    source: Source | None
    """None for a user's turn."""
    attempt: int
    """2 and more after a crash or a failure: something may have been said before."""
    started_at: int
    _history: Callable[[int], Awaitable[list[Message]]]
    _joined: Callable[[], Awaitable[list[Message]]]

    async def history(self, limit: int = 200) -> list[Message]:
        """The newest messages before this turn, oldest first."""
        return await self._history(limit)

    async def joined(self) -> list[Message]:
        """What the user has added meanwhile (`when_busy = "inject"`). Ask before each model step."""
        return await self._joined()


@runtime_checkable
class Agent(Protocol):
    reports_tools: bool
    """True only for a loop in which a tool runs after `ToolStarted` was yielded and control came back: a loop
    of your own, or one that hands you each step before it takes it. A framework that runs tools in tasks of
    its own does not wait for the report, and after a crash its tool would run twice."""

    def answer(self, turn: OpenTurn) -> AsyncIterator[Delta | str]: ...


AgentFunction: TypeAlias = Callable[[OpenTurn], Any]


class FunctionAgent:
    """A plain async function as an agent."""

    def __init__(self, function: AgentFunction, *, reports_tools: bool = False) -> None:
        self._function = function
        self.reports_tools = reports_tools

    async def answer(self, turn: OpenTurn) -> AsyncIterator[Delta | str]:
        said = self._function(turn)
        if inspect.isawaitable(said):
            said = await said
        if hasattr(said, "__aiter__"):
            async for piece in said:
                yield piece
        elif said is not None:
            yield said


def as_agent(agent: Agent | AgentFunction) -> Agent:
    if isinstance(agent, Agent):
        return agent
    if callable(agent):
        return FunctionAgent(agent, reports_tools=getattr(agent, "reports_tools", False))
    raise BadSetting(f"an agent is an async function or has an `answer` method, got {type(agent).__name__}")
