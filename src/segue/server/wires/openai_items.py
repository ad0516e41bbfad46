"""Output items of OpenAI responses: translates the steps of a turn to the protocol's stream events. Pure."""

import json
from collections.abc import Iterator
from typing import Any

from segue.record import record
from segue.server.wires.openai_common import MODEL
from segue.server.wires.turn_steps import TextSaid, ToolBegan, ToolReturned, TurnOver, TurnStep

Json = dict[str, Any]


@record
class ResponseHead:
    """What is known of a response before its turn begins."""

    id: str
    created_at: int
    conversation: str
    previous_response_id: str | None = None
    background: bool = False

    def response(self, status: str, output: list[Json], **more: Any) -> Json:
        return {
            "id": self.id,
            "object": "response",
            "created_at": self.created_at,
            "status": status,
            "model": MODEL,
            "output": output,
            "background": self.background,
            "conversation": {"id": self.conversation},
            "previous_response_id": self.previous_response_id,
            "error": None,
            "incomplete_details": None,
            "instructions": None,
            "metadata": {},
            "parallel_tool_calls": True,
            "temperature": None,
            "tool_choice": "auto",
            "tools": [],
            "top_p": None,
            "usage": None,
            **more,
        }


class ResponseEvents:
    """Builds the output item by item. An event that the client has seen is never changed by a later one."""

    def __init__(self, head: ResponseHead) -> None:
        self._head = head
        self._output: list[Json] = []
        self._text: str | None = None
        """The text of the open message; None if none is open."""
        self._tools: dict[str, int] = {}
        self._count = 0
        self.response = head.response("in_progress", [])

    def begin(self) -> Iterator[Json]:
        yield self._event("response.created", response=self.response)
        yield self._event("response.in_progress", response=self.response)

    def take(self, step: TurnStep) -> Iterator[Json]:
        match step:
            case TextSaid(text):
                yield from self._say(text)
            case ToolBegan():
                yield from self._close_message()
                yield from self._open_tool(step)
            case ToolReturned():
                yield from self._close_message()
                yield from self._close_tool(step)
            case TurnOver():
                yield from self._close_message()
                yield from self._end(step)

    def _say(self, text: str) -> Iterator[Json]:
        if self._text is None:
            self._text = ""
            self._output.append(self._message("in_progress", []))
            yield self._item_event("response.output_item.added", item=self._output[-1])
            yield self._item_event("response.content_part.added", **self._at_part(), part=_output_text(""))
        self._text += text
        yield self._item_event("response.output_text.delta", **self._at_part(), delta=text, logprobs=[])

    def _close_message(self) -> Iterator[Json]:
        if self._text is None:
            return
        part = _output_text(self._text)
        yield self._item_event("response.output_text.done", **self._at_part(), text=self._text, logprobs=[])
        yield self._item_event("response.content_part.done", **self._at_part(), part=part)
        self._output[-1] = self._message("completed", [part])
        yield self._item_event("response.output_item.done", item=self._output[-1])
        self._text = None

    def _open_tool(self, step: ToolBegan) -> Iterator[Json]:
        self._tools[step.call_id] = len(self._output)
        item = {
            "id": f"mcp_{step.call_id}",
            "type": "mcp_call",
            "server_label": MODEL,
            "name": step.name,
            "arguments": json.dumps(dict(step.arguments), ensure_ascii=False),
            "output": None,
            "error": None,
            "status": "in_progress",
        }
        self._output.append(item)
        yield self._item_event("response.output_item.added", item=item)
        yield self._item_event("response.mcp_call.in_progress", item_id=item["id"])

    def _close_tool(self, step: ToolReturned) -> Iterator[Json]:
        if step.call_id not in self._tools:  # the agent did not report its start
            yield from self._open_tool(
                ToolBegan(call_id=step.call_id, name=step.name, arguments=step.arguments)
            )
        index = self._tools[step.call_id]
        item = self._output[index] | _result(step)
        self._output[index] = item
        yield self._event(f"response.mcp_call.{item['status']}", item_id=item["id"], output_index=index)
        yield self._event("response.output_item.done", item=item, output_index=index)

    def _end(self, over: TurnOver) -> Iterator[Json]:
        if over.failed:
            error = {"code": "server_error", "message": over.notice}
            self.response = self._head.response("failed", self._output, error=error, usage=_usage(over))
            yield self._event("response.failed", response=self.response)
        elif over.stopped:
            self.response = self._head.response("cancelled", self._output, usage=_usage(over))
            yield self._event("response.incomplete", response=self.response)
        else:
            self.response = self._head.response("completed", self._output, usage=_usage(over))
            yield self._event("response.completed", response=self.response)

    def _message(self, status: str, content: list[Json]) -> Json:
        position = len(self._output) if status == "in_progress" else len(self._output) - 1
        return {
            "id": f"msg_{self._head.id}_{position}",
            "type": "message",
            "role": "assistant",
            "status": status,
            "content": content,
        }

    def _at_part(self) -> Json:
        return {"item_id": self._output[-1]["id"], "content_index": 0}

    def _item_event(self, kind: str, **fields: Any) -> Json:
        return self._event(kind, output_index=len(self._output) - 1, **fields)

    def _event(self, kind: str, **fields: Any) -> Json:
        self._count += 1
        return {"type": kind, "sequence_number": self._count - 1, **fields}


def _result(step: ToolReturned) -> Json:
    if step.failed:
        error = {"type": "mcp_tool_execution_error", "content": [{"type": "text", "text": step.result}]}
        return {"status": "failed", "error": error}
    return {"status": "completed", "output": step.result}


def _output_text(text: str) -> Json:
    return {"type": "output_text", "text": text, "annotations": [], "logprobs": []}


def _usage(over: TurnOver) -> Json:
    given, made = over.tokens("input_tokens"), over.tokens("output_tokens")
    return {
        "input_tokens": given,
        "input_tokens_details": {
            "cached_tokens": over.tokens("cache_read_tokens"),
            "cache_write_tokens": over.tokens("cache_write_tokens"),
        },
        "output_tokens": made,
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": given + made,
    }
