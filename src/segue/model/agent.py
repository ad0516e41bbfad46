"""The agent protocol: the caller's own loop around a model, behind one method.

A plain async function is enough. It gets the open turn and yields the model's text as it comes:

    async def my_agent(turn: OpenTurn) -> AsyncIterator[Delta | str]:
        history = await turn.history()
        async for piece in my_model(history, turn.text):
            yield piece

or returns the whole answer at once:

    async def my_agent(turn: OpenTurn) -> str: ...

A framework that runs its own loop reports from its hooks instead: `await turn.tell(delta)` returns when the
delta is stored. `turn.tools()` has Segue's own tools, ready to be offered as the framework's.

An agent that reports each tool before it is called (`ToolStarted`), and declares so by `reports_tools`, can
be run again after a crash that came before any tool. Of other agents it is unknown what they did.

An agent that needs a person's decision ends its turn with `Waiting`. The session's scheduled turns are then
held until the user answers, and the user's next turn has `turn.resumed`.
"""

import inspect
import json
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import field
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias, runtime_checkable

from segue.errors import BadSetting, BadTime, EmptyText, NotInTurn, NotJson
from segue.model.closure import OpenQuestion
from segue.model.files import File
from segue.model.prompts import PromptRef
from segue.model.records import Session, Source
from segue.model.text_checks import clean
from segue.model.transcript import Message
from segue.record import positional, record
from segue.times.clock import to_moment, to_ms

if TYPE_CHECKING:
    from segue.agents.tools.registry import Toolbox
    from segue.kernel.kernel import Kernel

WAITING_BY_DEFAULT = timedelta(hours=24)
LONGEST_WAITING = timedelta(days=30)
LONGEST_STATE = 1_000_000
"""Characters of `turn.saved`, and of a `Waiting.state`, as JSON."""


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


@positional
class Attach:
    """Adds a file of the session to the answer: `Attach(await turn.kernel.files.add(turn.via.key, …))`.

    The page shows it with the answer, and a channel that sends files (`Capabilities.files`) sends it after
    the text.
    """

    file: File


@positional
class Waiting:
    """Ends the turn with a question to the user, and holds the session's scheduled turns until the answer.

    The turn's outcome is `asked`, and the question stands at the end of its answer. The user's next turn has
    it as `turn.resumed`. Raises `EmptyText`, `BadTime` or `NotJson`.
    """

    question: str
    choices: Sequence[str] = ()
    """Answers to offer, such as `("yes", "no")`. The user may write anything else."""
    state: Mapping[str, Any] = field(default_factory=dict)
    """What the agent needs to continue: a JSON object, kept with the session."""
    until: datetime | None = None
    """When to stop waiting: by default after 24 hours, at most after 30 days. Scheduled turns then run, and
    a later message of the user is a new question."""

    def __post_init__(self) -> None:
        if not self.question.strip():
            raise EmptyText("Waiting needs a question for the user, got an empty text")
        if self.until is not None and self.until.tzinfo is None:
            raise BadTime(f"Waiting.until needs a time zone, got {self.until.isoformat()}")
        json_text(self.state, "Waiting.state")


Delta: TypeAlias = Text | Thinking | ToolStarted | ToolCalled | Usage | Attach | Waiting
"""What an agent yields or tells. A plain string stands for `Text`."""


@record
class Resumed:
    """The question that the user's turn answers: what `Waiting` said."""

    question: str
    choices: tuple[str, ...]
    state: Mapping[str, Any]
    turn_id: str
    """The turn that asked."""
    asked_at: int


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
    parts: tuple[File, ...]
    """The files that the user sent with the text: `kernel.files.read(part, owner=turn.session.owner)`."""
    role: str
    """The role of the prompt: `user`, or `system` for a recall, which the agent wrote itself."""
    prompt_ref: PromptRef | None
    """Which template the prompt was rendered from; None for a user's turn."""
    source: Source | None
    """None for a user's turn."""
    model: str | None
    """The short name of the model that the job wants (`Settings.models`); None: the agent's own choice."""
    look: str | None
    """In a check: the short name of a cheaper model that looks first. The job's own model is asked only if
    that finds something, and told what was found."""
    attempt: int
    """2 or more after a crash or a failure: an earlier attempt may have said something."""
    started_at: int
    seq: int
    """The number of the event with which it began. Keep it for the next turn's `outside`."""
    kernel: "Kernel"
    """The kernel that runs the turn."""
    saved: dict[str, Any]
    """A framework's own state: a JSON object of the session, stored when the turn ends by itself or is
    stopped. After a failure it stays as it was. If it is not JSON then, the turn fails with `NotJson`."""
    resumed: Resumed | None
    """In the user's first turn after a `Waiting`: the question that it answers. None in any other turn."""
    stopping: threading.Event
    """Set when the turn is stopped or has ended: an agent that works in a thread must then return."""
    replaces: str | None
    """The turn that it replaces, whose messages `history` leaves out. A framework that keeps its own history
    must start again from `history`."""
    _history: Callable[[int, bool], Awaitable[list[Message]]]
    _joined: Callable[[], Awaitable[list[Message]]]
    _outside: Callable[[int], Awaitable[list[Message]]]
    _tell: Callable[["Delta | str"], Awaitable[None]]

    async def tell(self, piece: "Delta | str") -> None:
        """Report a delta from a hook of a framework, or from another task. Returns when it is stored.

        It has the same effect as a yield. Raises `TurnEnded` after the turn's end or a `Waiting`, `LeaseLost`
        if another worker has taken the turn over. From a thread use `asyncio.run_coroutine_threadsafe`.
        """
        await self._tell(piece)

    async def tools(self, *names: str) -> "Toolbox":
        """Return Segue's own tools for this turn: cron, recalls, scheduled messages, memory search.

        `names` selects some of them; see `scheduling_tools`. Raises `BadSetting` for an unknown name.
        """
        from segue.agents.tools.scheduling import open_tools

        return await open_tools(self, names)

    async def history(self, limit: int = 200, *, tools: bool = False) -> list[Message]:
        """The newest messages before this turn, oldest first.

        With `tools`, an answer has in `calls` the tools that were called before it, with their results.
        """
        return await self._history(limit, tools)

    async def outside(self, since: int = 0) -> list[Message]:
        """The messages that were stored outside of turns, after an event number and before this turn.

        For a framework that keeps its own history: a scheduled message, or one that a program wrote.
        """
        return await self._outside(since)

    async def joined(self) -> list[Message]:
        """The messages that the user has added since (`when_busy="inject"`). Ask before each model step."""
        return await self._joined()


_current: ContextVar[OpenTurn] = ContextVar("segue_turn")


def current_turn() -> OpenTurn:
    """The turn that the calling code runs in: for tools that are made before there is a turn.

    It is known in the agent's own task, and in tasks and threads that it starts (`asyncio.to_thread`).
    Raises `NotInTurn` elsewhere.
    """
    turn = _current.get(None)
    if turn is None:
        raise NotInTurn("there is no turn here; call this from an agent, or from a task that it started")
    return turn


def turn_of_task() -> OpenTurn | None:
    """The turn that the caller belongs to; None outside of any."""
    return _current.get(None)


def enter_turn(turn: OpenTurn) -> None:
    """Make it the current turn of the running task."""
    _current.set(turn)


def open_question(waiting: Waiting, turn_id: str, now: int, *, said: int) -> OpenQuestion:
    """The question as its session keeps it, asked after `said` characters of the answer. Raises `BadTime`."""
    moment = to_moment(now)
    until = waiting.until or moment + WAITING_BY_DEFAULT
    if not moment < until <= moment + LONGEST_WAITING:
        raise BadTime(
            f"Waiting.until lies between now and {LONGEST_WAITING.days} days from now, got "
            f"{until.isoformat()}"
        )
    choices = tuple(map(str, waiting.choices))
    resumed = {"question": waiting.question, "choices": choices, "state": dict(waiting.state)}
    stored = json.dumps({**resumed, "turn_id": turn_id, "asked_at": now}, ensure_ascii=False)
    return OpenQuestion(
        question=waiting.question, choices=choices, until=to_ms(until), said=said, stored=clean(stored)
    )


def json_text(value: Mapping[str, Any], name: str) -> str:
    """The JSON of an object. Raises `NotJson`."""
    if not isinstance(value, Mapping):
        raise NotJson(f"{name} is a JSON object, got {type(value).__name__}; use a dict")
    try:
        text = json.dumps(dict(value), ensure_ascii=False, allow_nan=False)
        text.encode()
    except (TypeError, ValueError, RecursionError) as error:
        raise NotJson(
            f"{name} is a JSON object of strings, numbers, lists and objects, but: {error}; store what "
            "the framework serialises, not its objects"
        ) from error
    if len(text) > LONGEST_STATE:
        raise NotJson(f"{name} has {len(text):,} characters as JSON, and may have {LONGEST_STATE:,}")
    return text


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
