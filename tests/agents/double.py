"""Fake model provider on loopback: answers from a script in two wire formats, and records the requests.

It serves OpenAI's chat completions at `/v1/chat/completions` and Anthropic's messages at `/v1/messages`, both
streaming, over real HTTP: it receives the bytes that a provider would receive.
"""

import asyncio
import json
from collections import deque
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager, suppress
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
    finish: str | None = None


@dataclass(frozen=True)
class Fails:
    """An HTTP error."""

    status: int
    body: Any = None
    headers: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class HangsUp:
    """The connection is closed before the first byte of an answer."""


@dataclass(frozen=True)
class Asked:
    path: str
    headers: dict[str, str]
    body: dict[str, Any]


Line: TypeAlias = Says | Fails | HangsUp


def says(*pieces: Piece) -> Says:
    return Says(pieces)


class Double:
    def __init__(self) -> None:
        self.asked: list[Asked] = []
        self.left = asyncio.Event()
        """Set when a client left in the middle of an answer."""
        self.waiting = asyncio.Event()
        """Set when an answer waits at a gate."""
        self._lines: deque[Line] = deque()
        self.url = ""

    def script(self, *lines: Line) -> None:
        self._lines.extend(lines)

    def line_for(self, asked: Asked) -> Line:
        return self._lines.popleft() if self._lines else says("ok")

    @asynccontextmanager
    async def listening(self) -> AsyncIterator[None]:
        server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        self.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        self._open: set[asyncio.StreamWriter] = set()
        try:
            yield
        finally:
            server.close()
            for writer in self._open:
                writer.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._open.add(writer)
        try:
            while asked := await _request(reader):
                self.asked.append(asked)
                if not await self._answer(asked, self.line_for(asked), reader, writer):
                    break
        except (ConnectionError, asyncio.IncompleteReadError):
            self.left.set()
        finally:
            self._open.discard(writer)
            writer.close()

    async def _answer(
        self, asked: Asked, line: Line, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> bool:
        """Answer; return whether the connection stays open."""
        match line:
            case HangsUp():
                return False
            case Fails(status, body, headers):
                _fail(writer, status, body, headers)
                return True
        writer.write(
            b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"
        )
        speak = _anthropic if asked.path.startswith("/v1/messages") else _openai
        for sent in speak(line):
            if isinstance(sent, Breaks):
                return False
            if isinstance(sent, Waits):
                await writer.drain()
                self.waiting.set()
                await self._at_gate(sent.gate, reader)
            else:
                writer.write(b"%x\r\n%s\r\n" % (len(sent), sent))
        writer.write(b"0\r\n\r\n")
        await writer.drain()
        return True

    async def _at_gate(self, gate: asyncio.Event, reader: asyncio.StreamReader) -> None:
        """Wait until the gate is set. Raises ConnectionResetError if the client leaves first."""
        opened = asyncio.create_task(gate.wait())
        gone = asyncio.create_task(reader.read(1))
        await asyncio.wait({opened, gone}, return_when=asyncio.FIRST_COMPLETED)
        opened.cancel()
        gone.cancel()
        with suppress(asyncio.CancelledError):
            await gone
        if not gate.is_set():
            raise ConnectionResetError


async def _request(reader: asyncio.StreamReader) -> Asked | None:
    try:
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
    except asyncio.IncompleteReadError:
        return None
    first, *lines = head.split("\r\n")
    headers = {
        name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines if line)
    }
    body = await reader.readexactly(int(headers.get("content-length", "0")))
    return Asked(first.split()[1], headers, json.loads(body) if body else {})


def _fail(writer: asyncio.StreamWriter, status: int, body: Any, headers: dict[str, str]) -> None:
    content = json.dumps(body or {"error": {"message": "no", "type": "error"}}).encode()
    lines = [f"HTTP/1.1 {status} No", "content-type: application/json", f"content-length: {len(content)}"]
    lines += [f"{name}: {value}" for name, value in headers.items()]
    writer.write("\r\n".join(lines).encode() + b"\r\n\r\n" + content)


def _halves(text: str) -> tuple[str, str]:
    return text[: len(text) // 2], text[len(text) // 2 :]


def _openai(line: Says) -> Iterator[bytes | Waits | Breaks]:
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
            "usage": {"prompt_tokens": given, "completion_tokens": made, "total_tokens": given + made},
        }
    )
    yield b"data: [DONE]\n\n"


def _anthropic(line: Says) -> Iterator[bytes | Waits | Breaks]:
    def event(kind: str, **body: Any) -> bytes:
        return b"event: %s\ndata: %s\n\n" % (kind.encode(), json.dumps({"type": kind, **body}).encode())

    def block(index: int, opened: dict[str, Any], *deltas: dict[str, Any]) -> Iterator[bytes]:
        yield event("content_block_start", index=index, content_block=opened)
        for delta in deltas:
            yield event("content_block_delta", index=index, delta=delta)
        yield event("content_block_stop", index=index)

    given, made = line.usage
    yield event(
        "message_start",
        message={
            "id": "m-1",
            "type": "message",
            "role": "assistant",
            "model": "claude-haiku-5-5",
            "content": [],
            "stop_reason": None,
            "usage": {"input_tokens": given, "output_tokens": 1},
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
