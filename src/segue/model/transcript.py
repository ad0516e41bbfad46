"""The transcript: a session's messages, computed from its log.

In the log, a message from outside a turn stands where it was sent, perhaps in the middle of a turn. A model
must not see it between a tool call and its result: in context order it stands after that turn.
"""

from collections.abc import Iterable, Iterator, Mapping
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from segue.model.files import File
from segue.model.records import Event, Source, message_tokens
from segue.model.states import Outcome
from segue.record import record

if TYPE_CHECKING:
    from segue.model.agent import ToolCalled


_NOTHING_SAID = (Outcome.EMPTY, Outcome.STOPPED)


class Note(StrEnum):
    """What a message is about that no one wrote in the session."""

    SUMMARY = "summary"
    """What was said before the first message: it changes only with a commit."""
    MEMORIES = "memories"
    """What is known for the question of this turn."""


@record
class Message:
    """A message of a session's transcript."""

    seq: int
    role: str
    content: str
    at: int
    turn_id: str | None
    source: Source | None
    prompt_ref: Mapping[str, Any] | None = None
    """On the first message of a scheduled turn: which prompt template the agent was given instead."""
    delivery: str | None = None
    """Of an answer: `sent`, `failed` or `unknown`. None while it is on its way, in channels whose readers
    read the log, and once the delivery record is pruned."""
    held_until: int | None = None
    """Of an answer that waits to be sent: until when, at the latest."""
    outcome: str | None = None
    """Of an answer: how its turn ended, such as `ok` or `error`."""
    undelivered: Mapping[str, Any] | None = None
    """On the note that an answer was not delivered: its `seq`, `turn_id`, `delivery` and `reason`."""
    calls: tuple["ToolCalled", ...] = ()
    """With `history(tools=True)`, on an answer: the tools that were called before it, in their order. A call
    that did not return has an `error` that says so."""
    parts: tuple[File, ...] = ()
    """The files that were sent with it. `kernel.files.read` has their content."""
    note: Note | None = None
    """In a turn's history, on messages that are not in the session: the summary before the first message,
    and the memories for this question after the last."""
    replaces: str | None = None
    """On the first message of a turn: the turn that it replaces."""
    replaced_by: str | None = None
    """The turn that has replaced its turn. The message stays in the log, and no model is given it."""

    @property
    def tokens(self) -> int:
        """An estimate, its files included."""
        return message_tokens(self.content, self.parts)


def message_of(event: Event) -> Message | None:
    if event.role is None or event.content is None:
        return None
    return Message(
        seq=event.seq,
        role=event.role,
        content=event.content,
        at=event.at,
        turn_id=event.turn_id,
        source=event.source,
        prompt_ref=event.body.get("prompt_ref"),
        delivery=event.body.get("delivery"),
        held_until=event.body.get("held_until"),
        outcome=event.body.get("outcome"),
        undelivered=event.body.get("undelivered"),
        parts=event.parts,
        replaces=event.body.get("replaces"),
        replaced_by=event.body.get("replaced_by"),
    )


def in_context_order(events: Iterable[Event]) -> Iterator[Message]:
    """The messages of events in log order, with those from outside a turn moved behind it.

    Those of a turn that was replaced are left out.
    """
    open_turn: str | None = None
    outside: list[Message] = []
    for event in events:
        if event.type == "stream_start" and event.turn_id != open_turn:
            # A start while another turn seems open: that turn was requeued after a crash.
            yield from outside
            outside = []
            open_turn = event.turn_id
        message = message_of(event)
        if message is not None and message.replaced_by is None:
            if open_turn is not None and event.turn_id != open_turn:
                outside.append(message)
            else:
                yield message
        if event.type == "stream_end":
            open_turn = None
            yield from outside
            outside = []
    yield from outside


def is_news(event: Event) -> bool:
    """Whether the event says something to the owner that they may not have seen.

    A user's own message is no news, nor is a run that had nothing to say. A message that a program stored is
    none either: that conversation took place elsewhere. What is copied into the log of a chat counts there.
    """
    if event.role != "assistant" or event.via_id is not None:
        return False
    if event.type == "stream_end":
        return not event.body.get("quiet") and event.body["outcome"] not in _NOTHING_SAID
    return event.type == "message" and event.source is not None
