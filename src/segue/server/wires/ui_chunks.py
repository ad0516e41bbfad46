"""Chunks of the AI SDK's UI message stream: translates the steps of a turn. Pure."""

from collections.abc import Iterator
from typing import Any

from segue.server.schemas import views
from segue.server.wires.turn_steps import (
    TextSaid,
    ThoughtSaid,
    ToolBegan,
    ToolReturned,
    TurnBegan,
    TurnOver,
    TurnStep,
)

Json = dict[str, Any]


class UiChunks:
    """Translates the steps of a turn to chunks. Text and reasoning are parts that a later step closes."""

    def __init__(self) -> None:
        self._open: str | None = None
        """What is open: `text` or `reasoning`."""
        self._parts = 0
        self._tools: set[str] = set()

    def take(self, step: TurnStep) -> Iterator[Json]:
        match step:
            case TurnBegan():
                yield {"type": "start", "messageId": step.turn_id, "messageMetadata": _metadata(step)}
            case TextSaid(text):
                yield from self._say("text", text)
            case ThoughtSaid(text):
                yield from self._say("reasoning", text)
            case ToolBegan():
                yield from self._close()
                yield from self._call(step)
            case ToolReturned():
                yield from self._close()
                yield from self._return(step)
            case TurnOver():
                yield from self._close()
                yield from self._end(step)

    def _say(self, kind: str, text: str) -> Iterator[Json]:
        if self._open != kind:
            yield from self._close()
            self._open = kind
            self._parts += 1
            yield {"type": f"{kind}-start", "id": str(self._parts)}
        yield {"type": f"{kind}-delta", "id": str(self._parts), "delta": text}

    def _close(self) -> Iterator[Json]:
        if self._open is not None:
            yield {"type": f"{self._open}-end", "id": str(self._parts)}
            self._open = None

    def _call(self, step: ToolBegan | ToolReturned) -> Iterator[Json]:
        self._tools.add(step.call_id)
        call = {"toolCallId": step.call_id, "toolName": step.name, "dynamic": True, "providerExecuted": True}
        yield {"type": "tool-input-start", **call}
        yield {"type": "tool-input-available", **call, "input": dict(step.arguments)}

    def _return(self, step: ToolReturned) -> Iterator[Json]:
        if step.call_id not in self._tools:  # the agent did not report its start
            yield from self._call(step)
        call = {"toolCallId": step.call_id, "dynamic": True, "providerExecuted": True}
        if step.failed:
            yield {"type": "tool-output-error", **call, "errorText": step.result}
        else:
            yield {"type": "tool-output-available", **call, "output": step.result}

    def _end(self, over: TurnOver) -> Iterator[Json]:
        if over.asked is not None:
            asked = over.asked
            data = {
                "question": asked.question,
                "choices": list(asked.choices),
                "until": views.moment(asked.until),
            }
            yield {"type": "data-question", "id": over.turn_id, "data": data}
        metadata = {"cursor": over.cursor, "outcome": str(over.outcome), "usage": dict(over.usage)}
        if over.failed:
            yield {"type": "message-metadata", "messageMetadata": metadata}
            yield {"type": "error", "errorText": over.notice}
        elif over.stopped:
            yield {"type": "message-metadata", "messageMetadata": metadata}
            yield {"type": "abort", "reason": over.notice}
        else:
            yield {"type": "finish", "finishReason": "stop", "messageMetadata": metadata}


def _metadata(step: TurnBegan) -> Json:
    source = views.source(step.source)
    return {
        "turn_id": step.turn_id,
        "cursor": step.cursor,
        "source": source and source.model_dump(),
        "text": step.text,
    }
