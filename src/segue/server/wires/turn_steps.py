"""Turn steps: the events of one turn, reduced to what foreign protocols can express.

Each wire translates these steps into its own frames. A turn begins once, also if it is tried again; its last
step is always `TurnOver`, also of a turn that was cancelled before it started.
"""

from collections.abc import AsyncGenerator, Iterator, Mapping
from contextlib import aclosing
from typing import Any, TypeAlias

from segue.kernel.kernel import Kernel
from segue.kernel.live.hub import LiveText
from segue.kernel.transactions.lane import QueuedTurn
from segue.model.records import Event, Source
from segue.model.states import FAILURES, Outcome
from segue.record import positional, record

_WITH_FULL_TEXT = (Outcome.OK, Outcome.ASKED)


@record
class TurnBegan:
    turn_id: str
    cursor: int
    """The event number before its start: a client that connects with it gets this turn again."""
    text: str
    source: Source | None


@positional
class TextSaid:
    text: str


@positional
class ThoughtSaid:
    text: str


@record
class ToolBegan:
    call_id: str
    name: str
    arguments: Mapping[str, Any]


@record
class ToolReturned:
    call_id: str
    name: str
    arguments: Mapping[str, Any]
    result: str
    failed: bool


@record
class AskedUser:
    """The question that the turn ended with."""

    question: str
    choices: tuple[str, ...]
    until: int


@record
class TurnOver:
    turn_id: str
    cursor: int
    """The event number of its end: a client that connects with it gets the next turn."""
    outcome: Outcome
    text: str
    """The agent's own text."""
    notice: str
    """What the transcript shows: the text, or why there is none."""
    usage: Mapping[str, Any]
    asked: AskedUser | None = None

    @property
    def failed(self) -> bool:
        return self.outcome in FAILURES

    @property
    def stopped(self) -> bool:
        return self.outcome in (Outcome.STOPPED, Outcome.CANCELLED)

    def tokens(self, name: str) -> int:
        """A count of the usage, 0 if the agent reported none."""
        count = self.usage.get(name)
        return count if isinstance(count, int) else 0


TurnStep: TypeAlias = TurnBegan | TextSaid | ThoughtSaid | ToolBegan | ToolReturned | TurnOver


class TurnFold:
    """Reduces the items of one turn to steps."""

    def __init__(self, turn_id: str) -> None:
        self._turn_id = turn_id
        self._begun = False
        self._said = ""
        self._end: Event | None = None
        self._asked: AskedUser | None = None
        self._cursor = 0

    def take(self, item: Event | LiveText) -> Iterator[TurnStep]:
        self._cursor = max(self._cursor, item.seq)
        match item:
            case LiveText(type="stream_delta", text=text):
                self._said += text
                yield TextSaid(text)
            case LiveText(text=text):
                yield ThoughtSaid(text)
            case Event(type="stream_start"):
                yield from self._begin(item)
            case Event(type="tool_started", body=body):
                yield ToolBegan(call_id=body["call_id"], name=body["name"], arguments=body["arguments"])
            case Event(type="tool_call", body=body):
                yield ToolReturned(
                    call_id=body["call_id"],
                    name=body["name"],
                    arguments=body["arguments"],
                    result=str(body["error"] or body["result"] or ""),
                    failed=body["error"] is not None,
                )
            case Event(type="stream_end", body=body) if body["outcome"] is not None:
                self._end = item
                if rest := self._unsaid(_text_of(item)):
                    yield TextSaid(rest)
            case Event(type="waiting", body=body):
                self._asked = AskedUser(
                    question=body["question"], choices=tuple(body["choices"]), until=body["until"]
                )

    def over(self) -> TurnOver:
        """The last step, to be taken when the items have ended."""
        if self._end is None:
            return TurnOver(
                turn_id=self._turn_id,
                cursor=self._cursor,
                outcome=Outcome.CANCELLED,
                text="",
                notice="This turn was cancelled before it started.",
                usage={},
            )
        return TurnOver(
            turn_id=self._turn_id,
            cursor=self._cursor,
            outcome=Outcome(self._end.body["outcome"]),
            text=_text_of(self._end),
            notice=self._end.content or "",
            usage=self._end.body.get("usage") or {},
            asked=self._asked,
        )

    def _begin(self, start: Event) -> Iterator[TurnStep]:
        self._said = ""
        if self._begun:  # another attempt
            return
        self._begun = True
        yield TurnBegan(
            turn_id=self._turn_id, cursor=start.seq - 1, text=start.content or "", source=start.source
        )

    def _unsaid(self, text: str) -> str:
        """The rest of the text that was not live: all of it if the turn had ended before."""
        return text.removeprefix(self._said) if text.startswith(self._said) else ""


def _text_of(end: Event) -> str:
    if end.body["outcome"] in _WITH_FULL_TEXT and not end.body.get("quiet"):
        return end.content or ""
    return end.body.get("reply") or ""


async def steps_of(kernel: Kernel, turn: QueuedTurn) -> AsyncGenerator[TurnStep]:
    """Follow a turn from its start to its end. Raises `NotFound` if its session is deleted."""
    fold = TurnFold(turn.turn_id)
    async with aclosing(kernel.turns.follow(turn)) as items:
        async for item in items:
            for step in fold.take(item):
                yield step
    yield fold.over()
