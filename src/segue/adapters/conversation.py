"""Conversation of a turn: what an adapter gives its framework, in the order in which a model reads it."""

from collections.abc import Iterable

from segue.model.agent import OpenTurn, Text, ToolCalled
from segue.model.transcript import Message
from segue.record import record

NO_MESSAGE_YET = "(There is no message yet. Follow the instruction.)"
"""Some providers refuse a conversation without a user message."""


@record
class Said:
    """A message for the model."""

    role: str
    """`user`, `assistant` or `system`."""
    text: str
    calls: tuple[ToolCalled, ...] = ()
    """Of an answer: the tools that were called before it, with their results."""


async def conversation(turn: OpenTurn) -> list[Said]:
    """Return the history, the prompt, and what the user added in an earlier attempt of the turn."""
    history = await turn.history(tools=True)
    before = said(message for message in history if message.turn_id != turn.id)
    added = said(message for message in history if message.turn_id == turn.id)
    prompt = [Said(role=turn.role, text=turn.prompt)]
    if turn.role != "user" and not any(each.role == "user" for each in before):
        prompt.append(Said(role="user", text=NO_MESSAGE_YET))
    return [*before, *prompt, *added]


def said(messages: Iterable[Message]) -> list[Said]:
    return [Said(role=each.role, text=each.content, calls=each.calls) for each in messages]


def result_of(call: ToolCalled) -> str:
    """Return a stored call's result as a model reads it."""
    return f"Error: {call.error}" if call.error is not None else call.result or "(nothing)"


class Paragraphs:
    """Puts a blank line between the texts of two model steps."""

    def __init__(self) -> None:
        self._has_text = False
        self._gap = False

    def next_step(self) -> None:
        """Tell that the model speaks again, after its tools."""
        self._gap = self._has_text

    def piece(self, text: str) -> Text:
        gap, self._gap, self._has_text = self._gap, False, True
        return Text(f"\n\n{text}" if gap else text)
