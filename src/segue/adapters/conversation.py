"""Conversation of a turn: what an adapter gives its framework, in the order in which a model reads it."""

from collections.abc import Sequence

from segue.agents.attachments import Attachment, Attachments
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
    """With the content of text files, and a sentence for each file that the framework is not given."""
    files: tuple[Attachment, ...] = ()
    """The images of a user's message."""
    calls: tuple[ToolCalled, ...] = ()
    """Of an answer: the tools that were called before it, with their results."""
    turn_id: str | None = None


async def conversation(turn: OpenTurn, files: Attachments) -> list[Said]:
    """Return the history, the prompt, and what the user added in an earlier attempt of the turn."""
    history = await said(await turn.history(tools=True), files)
    return arranged(turn, history, files)


def arranged(
    turn: OpenTurn, history: Sequence[Said], files: Attachments, *, continues: bool = False
) -> list[Said]:
    """Return the history with the prompt of the turn in its place.

    `continues`: the framework has earlier messages of its own.
    """
    before = [each for each in history if each.turn_id != turn.id]
    added = [each for each in history if each.turn_id == turn.id]
    prompt = [
        Said(role=turn.role, text=files.text(turn.prompt, turn.parts), files=files.of(turn.parts, turn.role))
    ]
    if turn.role != "user" and not continues and not any(each.role == "user" for each in before):
        prompt.append(Said(role="user", text=NO_MESSAGE_YET))
    return [*before, *prompt, *added]


async def said(messages: Sequence[Message], files: Attachments) -> list[Said]:
    """Return messages as a model reads them, with their files."""
    await files.load(messages)
    return [
        Said(
            role=each.role,
            text=files.text(each.content, each.parts, each.role),
            files=files.of(each.parts, each.role),
            calls=each.calls,
            turn_id=each.turn_id,
        )
        for each in messages
    ]


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
