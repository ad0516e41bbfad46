"""A session's words as a model library's messages.

The history comes first; what is asked comes last, as the user's words, or as a system message where it is an
instruction that the agent once left for itself (a recall).
"""

from collections.abc import Iterable, Sequence

from pydantic_ai.messages import (
    ModelMessage,
    ModelRequest,
    ModelRequestPart,
    ModelResponse,
    SystemPromptPart,
    TextPart,
    ToolReturnPart,
    UserPromptPart,
)

from segue.model.agent import OpenTurn
from segue.model.transcript import Message


class Conversation:
    """What one turn's model is given, growing step by step."""

    def __init__(self, instructions: str) -> None:
        self.instructions = instructions
        self._messages: list[ModelMessage] = []

    @property
    def messages(self) -> list[ModelMessage]:
        return self._messages

    @classmethod
    async def of(cls, turn: OpenTurn, instructions: str) -> "Conversation":
        """The history, what is asked, and what the user added before a worker of this turn was lost."""
        history = await turn.history()
        talk = cls(instructions)
        talk.hear(message for message in history if message.turn_id != turn.id)
        talk._ask(turn)
        talk.hear(message for message in history if message.turn_id == turn.id)
        return talk

    def _ask(self, turn: OpenTurn) -> None:
        if turn.role == "user":
            self._request(UserPromptPart(turn.prompt))
            return
        alone = not self._messages
        self._request(SystemPromptPart(turn.prompt))
        if alone:  # some providers refuse a conversation in which nobody has said anything
            self._request(UserPromptPart("(Nobody has written yet. Follow the instruction.)"))

    def hear(self, messages: Iterable[Message]) -> None:
        for message in messages:
            if message.role == "assistant":
                self._messages.append(ModelResponse(parts=[TextPart(message.content)]))
            elif message.role == "system":
                self._request(SystemPromptPart(message.content))
            else:
                self._request(UserPromptPart(message.content))

    def said(self, response: ModelResponse) -> None:
        """A step of the model, with the tools that it called."""
        self._messages.append(response)

    def returned(self, results: Sequence[ToolReturnPart]) -> None:
        self._request(*results)

    def _request(self, *parts: ModelRequestPart) -> None:
        last = self._messages[-1] if self._messages else None
        if isinstance(last, ModelRequest):
            # Providers want the two sides to take turns.
            last.parts = [*last.parts, *parts]
        else:
            self._messages.append(ModelRequest(parts=list(parts), instructions=self.instructions))
