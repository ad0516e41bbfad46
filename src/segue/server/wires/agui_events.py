"""Events of AG-UI: translates the steps of a turn. Pure."""

import json
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


class AguiEvents:
    """Translates the steps of a turn to events. Text and reasoning are messages that a later step closes."""

    def __init__(self, thread_id: str, run_id: str) -> None:
        self._run: Json = {"threadId": thread_id, "runId": run_id}
        self._turn_id = ""
        self._open: str | None = None
        """What is open: `TEXT` or `REASONING`."""
        self._messages = 0
        self._tools: set[str] = set()

    def take(self, step: TurnStep) -> Iterator[Json]:
        match step:
            case TurnBegan():
                self._turn_id = step.turn_id
                yield {"type": "RUN_STARTED", **self._run, "metadata": _metadata(step)}
            case TextSaid(text):
                yield from self._say("TEXT", text, role="assistant")
            case ThoughtSaid(text):
                yield from self._say("REASONING", text, role="reasoning")
            case ToolBegan():
                yield from self._close()
                yield from self._call(step)
            case ToolReturned():
                yield from self._close()
                yield from self._return(step)
            case TurnOver():
                yield from self._close()
                yield from self._end(step)

    @property
    def _message_id(self) -> str:
        return f"{self._turn_id}-{self._messages}"

    def _say(self, kind: str, text: str, role: str) -> Iterator[Json]:
        if not text:
            return
        if self._open != kind:
            yield from self._close()
            self._open = kind
            self._messages += 1
            if kind == "REASONING":
                yield {"type": "REASONING_START", "messageId": self._message_id}
            yield {"type": f"{kind}_MESSAGE_START", "messageId": self._message_id, "role": role}
        yield {"type": f"{kind}_MESSAGE_CONTENT", "messageId": self._message_id, "delta": text}

    def _close(self) -> Iterator[Json]:
        if self._open is None:
            return
        yield {"type": f"{self._open}_MESSAGE_END", "messageId": self._message_id}
        if self._open == "REASONING":
            yield {"type": "REASONING_END", "messageId": self._message_id}
        self._open = None

    def _call(self, step: ToolBegan | ToolReturned) -> Iterator[Json]:
        self._tools.add(step.call_id)
        arguments = json.dumps(dict(step.arguments), ensure_ascii=False)
        yield {"type": "TOOL_CALL_START", "toolCallId": step.call_id, "toolCallName": step.name}
        yield {"type": "TOOL_CALL_ARGS", "toolCallId": step.call_id, "delta": arguments}
        yield {"type": "TOOL_CALL_END", "toolCallId": step.call_id}

    def _return(self, step: ToolReturned) -> Iterator[Json]:
        if step.call_id not in self._tools:  # the agent did not report its start
            yield from self._call(step)
        self._messages += 1
        yield {
            "type": "TOOL_CALL_RESULT",
            "messageId": self._message_id,
            "toolCallId": step.call_id,
            "content": step.result,
            "role": "tool",
        }

    def _end(self, over: TurnOver) -> Iterator[Json]:
        if not self._turn_id:  # cancelled before it started
            yield {"type": "RUN_STARTED", **self._run}
        if over.failed:
            yield {"type": "RUN_ERROR", "message": over.notice, "code": f"turn_{over.outcome}"}
            return
        result = {"turn_id": over.turn_id, "cursor": over.cursor, "outcome": str(over.outcome)}
        finished = {"type": "RUN_FINISHED", **self._run, "result": result, "outcome": _outcome(over)}
        yield finished | {"usage": [_usage(over)]} if over.usage else finished


def _metadata(step: TurnBegan) -> Json:
    source = views.source(step.source)
    return {
        "segue": {
            "turn_id": step.turn_id,
            "cursor": step.cursor,
            "source": source and source.model_dump(),
            "text": step.text,
        }
    }


def _outcome(over: TurnOver) -> Json:
    if over.stopped:
        return {"type": "cancelled"}
    if over.asked is None:
        return {"type": "success"}
    asked = over.asked
    interrupt: Json = {
        "id": over.turn_id,
        "reason": "question",
        "message": asked.question,
        "expiresAt": views.moment(asked.until),
    }
    if asked.choices:
        interrupt["responseSchema"] = {"type": "string", "examples": list(asked.choices)}
    return {"type": "interrupt", "interrupts": [interrupt]}


def _usage(over: TurnOver) -> Json:
    given, made = over.tokens("input_tokens"), over.tokens("output_tokens")
    return {"inputTokens": given, "outputTokens": made, "totalTokens": given + made}
