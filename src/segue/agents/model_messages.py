"""Model messages: converts a session's history and a turn's prompt to the model library's messages.

The history comes first, the prompt last: as a user message, or as a system message if it is an instruction
that the agent left for itself (a recall).
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
    """The messages that one turn sends to the model; each step appends to them."""

    def __init__(self, instructions: str) -> None:
        self.instructions = instructions
        self._messages: list[ModelMessage] = []

    @property
    def messages(self) -> list[ModelMessage]:
        return self._messages

    @classmethod
    async def of(cls, turn: OpenTurn, instructions: str) -> "Conversation":
        """Start with the history, the prompt, and what the user added in an earlier attempt of the turn."""
        history = await turn.history()
        conversation = cls(instructions)
        conversation.add_messages(message for message in history if message.turn_id != turn.id)
        conversation._add_prompt(turn)
        conversation.add_messages(message for message in history if message.turn_id == turn.id)
        return conversation

    def _add_prompt(self, turn: OpenTurn) -> None:
        if turn.role == "user":
            self._request(UserPromptPart(turn.prompt))
            return
        first = not self._messages
        self._request(SystemPromptPart(turn.prompt))
        if first:  # some providers refuse a conversation without a user message
            self._request(UserPromptPart("(There is no message yet. Follow the instruction.)"))

    def add_messages(self, messages: Iterable[Message]) -> None:
        for message in messages:
            if message.role == "assistant":
                self._messages.append(ModelResponse(parts=[TextPart(message.content)]))
            elif message.role == "system":
                self._request(SystemPromptPart(message.content))
            else:
                self._request(UserPromptPart(message.content))

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
