"""Wire formats of model providers: the bytes of a streamed answer, from the pieces of a script."""

import asyncio
import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias


@dataclass(frozen=True)
class Calls:
    """The model calls a tool; the arguments are sent unchanged, in two pieces."""

    name: str
    arguments: str
    call_id: str = "call_1"


@dataclass(frozen=True)
class Thinks:
    text: str


@dataclass(frozen=True)
class Waits:
    """Wait until the gate is set, or until the client leaves."""

    gate: asyncio.Event = field(default_factory=asyncio.Event)


@dataclass(frozen=True)
class Breaks:
    """The connection is cut."""


@dataclass(frozen=True)
class Ends:
    """The stream ends normally, but without a finish reason and a last event."""


Piece: TypeAlias = str | Calls | Thinks | Waits | Breaks | Ends


@dataclass(frozen=True)
class Says:
    """An answer, piece by piece."""

    pieces: Sequence[Piece]
    usage: tuple[int, int] = (11, 7)
    """Tokens of the prompt and of the answer."""
    cached: tuple[int, int] = (0, 0)
    """Of the prompt: tokens that were read from the cache, and that were written to it."""
    finish: str | None = None


def _halves(text: str) -> tuple[str, str]:
    return text[: len(text) // 2], text[len(text) // 2 :]


def openai_chat(line: Says) -> Iterator[bytes | Waits | Breaks]:
    def chunk(delta: dict[str, Any], finish: str | None = None) -> bytes:
        return event({"choices": [{"index": 0, "delta": delta, "finish_reason": finish}]})

    def event(more: dict[str, Any]) -> bytes:
        common = {"id": "c-1", "object": "chat.completion.chunk", "created": 1, "model": "gpt-4o"}
        return b"data: %s\n\n" % json.dumps({**common, **more}).encode()

    calls = 0
    for piece in line.pieces:
        match piece:
            case str():
                yield chunk({"role": "assistant", "content": piece})
            case Thinks(text):
                yield chunk({"role": "assistant", "reasoning_content": text})
            case Calls(name, arguments, call_id):
                first, second = _halves(arguments)
                function = {"name": name, "arguments": first}
                opened = {"index": calls, "id": call_id, "type": "function", "function": function}
                yield chunk({"tool_calls": [opened]})
                yield chunk({"tool_calls": [{"index": calls, "function": {"arguments": second}}]})
                calls += 1
            case Ends():
                return
            case _:
                yield piece
    yield chunk({}, line.finish or ("tool_calls" if calls else "stop"))
    given, made = line.usage
    yield event(
        {
            "choices": [],
            "usage": {
                "prompt_tokens": given,
                "completion_tokens": made,
                "total_tokens": given + made,
                "prompt_tokens_details": {"cached_tokens": line.cached[0]},
            },
        }
    )
    yield b"data: [DONE]\n\n"


def anthropic_messages(line: Says) -> Iterator[bytes | Waits | Breaks]:
    def event(kind: str, **body: Any) -> bytes:
        return b"event: %s\ndata: %s\n\n" % (kind.encode(), json.dumps({"type": kind, **body}).encode())

    def block(index: int, opened: dict[str, Any], *deltas: dict[str, Any]) -> Iterator[bytes]:
        yield event("content_block_start", index=index, content_block=opened)
        for delta in deltas:
            yield event("content_block_delta", index=index, delta=delta)
        yield event("content_block_stop", index=index)

    given, made = line.usage
    read, written = line.cached
    yield event(
        "message_start",
        message={
            "id": "m-1",
            "type": "message",
            "role": "assistant",
            "model": "claude-haiku-5-5",
            "content": [],
            "stop_reason": None,
            "usage": {
                "input_tokens": given - read - written,
                "cache_read_input_tokens": read,
                "cache_creation_input_tokens": written,
                "output_tokens": 1,
            },
        },
    )
    index = 0
    called = False
    for piece in line.pieces:
        match piece:
            case str():
                yield from block(index, {"type": "text", "text": ""}, {"type": "text_delta", "text": piece})
            case Thinks(text):
                thought = {"type": "thinking", "thinking": "", "signature": ""}
                signed = {"type": "signature_delta", "signature": "c2ln"}
                yield from block(index, thought, {"type": "thinking_delta", "thinking": text}, signed)
            case Calls(name, arguments, call_id):
                deltas = [{"type": "input_json_delta", "partial_json": half} for half in _halves(arguments)]
                opened = {"type": "tool_use", "id": call_id, "name": name, "input": {}}
                yield from block(index, opened, *deltas)
                called = True
            case Ends():
                return
            case _:
                yield piece
                continue
        index += 1
    stop = line.finish or ("tool_use" if called else "end_turn")
    yield event("message_delta", delta={"stop_reason": stop}, usage={"output_tokens": made})
    yield event("message_stop")


Bytes: TypeAlias = Iterator[bytes | Waits | Breaks]

FORMATS: dict[str, Callable[[Says], Bytes]] = {
    "/v1/chat/completions": openai_chat,
    "/v1/messages": anthropic_messages,
}
"""By the path of a request."""
