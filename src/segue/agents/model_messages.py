"""Model messages: converts a session's history and a turn's prompt to the model library's messages.

The summary and the history come first, the prompt last: as a user message, or as a system message if it is an
instruction that the agent left for itself (a recall). What is only for this turn stands directly before the
prompt: the time, and the memories that match the question.

Invariant
  - everything before the note of the turn is the same text as in the turn before, followed by that turn
"""

from collections.abc import Iterable, Sequence

from pydantic_ai.messages import (
    BinaryContent,
    CachePoint,
    ModelMessage,
    ModelRequest,
    ModelRequestPart,
    ModelResponse,
    SystemPromptPart,
    TextPart,
    ToolReturnPart,
    UserPromptPart,
)

from segue.agents.attachments import IMAGES_AND_PDF, Attachment, Attachments
from segue.model.agent import OpenTurn
from segue.model.files import File
from segue.model.transcript import Message, Note


def user_prompt(text: str, files: Sequence[Attachment]) -> UserPromptPart:
    """A user's message with its images and documents."""
    if not files:
        return UserPromptPart(text)
    return UserPromptPart(
        [text, *(BinaryContent(each.data, media_type=each.file.media_type) for each in files)]
    )


class Conversation:
    """The messages that one turn sends to the model; each step appends to them."""

    def __init__(self, instructions: str, files: Attachments) -> None:
        self.instructions = instructions
        self._files = files
        self._messages: list[ModelMessage] = []

    @property
    def messages(self) -> list[ModelMessage]:
        return self._messages

    @classmethod
    async def of(
        cls, turn: OpenTurn, instructions: str, *, notes: Sequence[str], cache: CachePoint | None = None
    ) -> "Conversation":
        """Start with the history, the notes and the prompt, and what the user added in an earlier attempt.

        `cache` marks the end of the history, for a provider that wants a mark.
        """
        history = await turn.history()
        conversation = cls(instructions, Attachments(turn, IMAGES_AND_PDF))
        await conversation._files.load(history)
        memories = [message.content for message in history if message.note is Note.MEMORIES]
        past = [message for message in history if message.note is not Note.MEMORIES]
        conversation._add(message for message in past if message.turn_id != turn.id)
        conversation._add_note("\n\n".join([*memories, *notes]), cache)
        conversation._add_prompt(turn)
        conversation._add(message for message in past if message.turn_id == turn.id)
        return conversation

    def _add_note(self, note: str, cache: CachePoint | None) -> None:
        # As the user's: a provider may move what is said by the system to the start of the request.
        marks = cache is not None and any(not _is_system(message) for message in self._messages)
        self._request(UserPromptPart([cache, note] if cache and marks else note))

    def _add_prompt(self, turn: OpenTurn) -> None:
        if turn.role == "user":
            self._request(self._said_by_user(turn.prompt, turn.parts))
        else:
            self._request(SystemPromptPart(turn.prompt))

    async def add_messages(self, messages: Sequence[Message]) -> None:
        """Add what the user wrote since the turn began."""
        await self._files.load(messages)
        self._add(messages)

    def _add(self, messages: Iterable[Message]) -> None:
        for message in messages:
            text = self._files.text(message.content, message.parts, message.role)
            if message.role == "assistant":
                self._messages.append(ModelResponse(parts=[TextPart(text)]))
            elif message.role == "system":
                self._request(SystemPromptPart(text))
            else:
                self._request(self._said_by_user(message.content, message.parts))

    def _said_by_user(self, text: str, files: Sequence[File]) -> UserPromptPart:
        return user_prompt(self._files.text(text, files), self._files.of(files))

    def add_response(self, response: ModelResponse) -> None:
        self._messages.append(response)

    def add_results(self, results: Sequence[ToolReturnPart]) -> None:
        self._request(*results)

    def _request(self, *parts: ModelRequestPart) -> None:
        last = self._messages[-1] if self._messages else None
        if isinstance(last, ModelRequest):
            # Providers require that requests and responses alternate.
            last.parts = [*last.parts, *parts]
        else:
            self._messages.append(ModelRequest(parts=list(parts), instructions=self.instructions))


def _is_system(message: ModelMessage) -> bool:
    return isinstance(message, ModelRequest) and all(
        isinstance(part, SystemPromptPart) for part in message.parts
    )
