"""Scripted model provider on loopback: answers from a script in two wire formats, and records the requests.

    provider = ScriptedProvider()
    provider.script(says(Calls("pay", '{"amount": 5}')), says("Paid."))
    async with provider.listening():
        client = AsyncOpenAI(base_url=provider.base_url, api_key="sk-test")

It serves OpenAI's chat completions at `/v1/chat/completions` and Anthropic's messages at `/v1/messages`, both
streaming, over real HTTP: it receives the bytes that a provider would receive.
"""

import asyncio
import json
from collections import deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from segue.testing.wire_formats import FORMATS, Breaks, Piece, Says, Waits


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
class ProviderRequest:
    """A request."""

    path: str
    headers: dict[str, str]
    body: dict[str, Any]

    @property
    def words(self) -> list[tuple[str, str]]:
        """The messages as (role, text)."""
        return words_sent(self.body)


Line: TypeAlias = Says | Fails | HangsUp


def says(*pieces: Piece) -> Says:
    return Says(pieces)


class ScriptedProvider:
    """Each request takes the next line of the script. After the last line, it answers `ok`.

    Without `keep_alive` it closes each connection after its answer, so that a client that is never closed
    leaves none open.
    """

    def __init__(self, *, keep_alive: bool = True) -> None:
        self._keep_alive = keep_alive
        self.asked: list[ProviderRequest] = []
        self.left = asyncio.Event()
        """Set when a client left in the middle of an answer."""
        self.waiting = asyncio.Event()
        """Set when an answer waits at a gate."""
        self._lines: deque[Line] = deque()
        self.url = ""

    @property
    def base_url(self) -> str:
        """What a client of OpenAI takes as `base_url`."""
        return f"{self.url}/v1"

    def script(self, *lines: Line) -> None:
        self._lines.extend(lines)

    def line_for(self, asked: ProviderRequest) -> Line:
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
        self, asked: ProviderRequest, line: Line, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> bool:
        """Answer; return whether the connection stays open."""
        match line:
            case HangsUp():
                return False
            case Fails(status, body, headers):
                _fail(writer, status, body, {**self._connection, **headers})
                return self._keep_alive
        speak = FORMATS.get(asked.path.partition("?")[0])
        if speak is None:
            _fail(
                writer,
                404,
                {"error": {"message": f"{asked.path} is not served", "type": "error"}},
                self._connection,
            )
            return self._keep_alive
        _head(writer, 200, "text/event-stream", {"transfer-encoding": "chunked", **self._connection})
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
        return self._keep_alive

    @property
    def _connection(self) -> dict[str, str]:
        return {} if self._keep_alive else {"connection": "close"}

    async def _at_gate(self, gate: asyncio.Event, reader: asyncio.StreamReader) -> None:
        """Wait until the gate is set. Raises ConnectionResetError if the client leaves first."""
        loop = asyncio.get_running_loop()
        opened = loop.create_task(gate.wait())
        gone = loop.create_task(reader.read(1))
        await asyncio.wait({opened, gone}, return_when=asyncio.FIRST_COMPLETED)
        opened.cancel()
        gone.cancel()
        with suppress(asyncio.CancelledError):
            await gone
        if not gate.is_set():
            raise ConnectionResetError


async def _request(reader: asyncio.StreamReader) -> ProviderRequest | None:
    try:
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
    except asyncio.IncompleteReadError:
        return None
    first, *lines = head.split("\r\n")
    headers = {
        name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines if line)
    }
    body = await reader.readexactly(int(headers.get("content-length", "0")))
    return ProviderRequest(first.split()[1], headers, json.loads(body) if body else {})


def _fail(writer: asyncio.StreamWriter, status: int, body: Any, headers: dict[str, str]) -> None:
    content = json.dumps(body or {"error": {"message": "no", "type": "error"}}).encode()
    _head(writer, status, "application/json", {"content-length": str(len(content)), **headers})
    writer.write(content)


def _head(writer: asyncio.StreamWriter, status: int, kind: str, headers: dict[str, str]) -> None:
    lines = [f"HTTP/1.1 {status} {'OK' if status == 200 else 'No'}", f"content-type: {kind}"]
    lines += [f"{name}: {value}" for name, value in headers.items()]
    writer.write("\r\n".join(lines).encode() + b"\r\n\r\n")


def words_sent(body: dict[str, Any]) -> list[tuple[str, str]]:
    """Return the messages of a request in either format as (role, text), the system prompt first."""
    messages: list[tuple[str, str]] = []
    if "system" in body:
        messages.append(("system", _text(body["system"])))
    return messages + [(message["role"], _text(message.get("content"))) for message in body["messages"]]


def calls_and_results(body: dict[str, Any]) -> list[tuple[str, str | None]]:
    """Return the roles of a request's messages, each with the id of the tool call it makes or answers."""
    messages: list[tuple[str, str | None]] = []
    for message in body["messages"]:
        blocks = message["content"] if isinstance(message.get("content"), list) else []
        made = [call["id"] for call in message.get("tool_calls", ())]
        made += [block["id"] for block in blocks if block["type"] == "tool_use"]
        answered = [block["tool_use_id"] for block in blocks if block["type"] == "tool_result"]
        answered += [message["tool_call_id"]] if message["role"] == "tool" else []
        if made:
            messages += [("assistant", call_id) for call_id in made]
        elif answered:
            messages += [("result", call_id) for call_id in answered]
        elif message["role"] != "system":
            messages.append((message["role"], None))
    return messages


def _text(content: Any) -> str:
    if isinstance(content, list):
        return "\n".join(str(block.get("text", block.get("content", ""))) for block in content)
    return str(content or "")
