"""Requests that are begun and not ended: they are closed, and they keep no other request out."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
from websockets.asyncio.client import connect

from segue import Kernel, OpenTurn
from segue.cli.support.http_server import HttpServer, listening_socket
from segue.config import Configuration
from segue.server import create_app
from segue.server.guard import Patience
from segue.server.request_deadlines import Limits
from tests.server.process import served

HEAD = b"GET /health HTTP/1.1\r\nHost: localhost\r\n"
POST = (
    b"POST /sessions/web:1/turns HTTP/1.1\r\nHost: localhost\r\n"
    b"Content-Type: application/json\r\nContent-Length: 100\r\n\r\n"
)
HALVES = {
    "nothing": b"",
    "half of a line": b"GET /hea",
    "half of a head": HEAD,
    "a head": POST,
    "half of a body": POST + b'{"content": ',
}
LONG_ENOUGH = Limits(head_seconds=600, body_seconds=600)
SOON = Limits(head_seconds=0.1, body_seconds=0.1)

Streams = tuple[asyncio.StreamReader, asyncio.StreamWriter]


@asynccontextmanager
async def listening(kernel: Kernel, limits: Limits, patience: Patience | None = None) -> AsyncIterator[int]:
    """A server with a socket, in this process; its port."""
    app = create_app(kernel, Configuration(database="sqlite://:memory:"), run_workers=True)
    if patience is not None:
        (gate,) = app.user_middleware
        gate.kwargs["patience"] = patience
    with listening_socket("127.0.0.1", 0) as socket:
        server = HttpServer(app, limits)
        async with asyncio.TaskGroup() as group:
            group.create_task(server.serve([socket]))
            await server.ready.wait()
            yield socket.getsockname()[1]
            server.should_exit = True


async def begin(port: int, half: bytes) -> Streams:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(half)
    await writer.drain()
    return reader, writer


async def rest(streams: Streams) -> bytes:
    """What the server says until it closes the connection."""
    reader, writer = streams
    async with asyncio.timeout(60):
        try:
            return await reader.read()
        except ConnectionResetError:
            return b""
        finally:
            writer.close()


async def ask(port: int, request: bytes = HEAD + b"Connection: close\r\n\r\n") -> bytes:
    return await rest(await begin(port, request))


@pytest.mark.parametrize("half", HALVES)
async def test_a_request_that_is_not_ended_is_closed(kernel: Kernel, half: str) -> None:
    async with listening(kernel, SOON) as port:
        said = await rest(await begin(port, HALVES[half]))
        assert said == b"" if half == "nothing" else said.startswith(b"HTTP/1.1 408 ")
        assert (await ask(port)).startswith(b"HTTP/1.1 200 ")


async def test_the_second_request_of_a_connection_has_a_deadline_too(kernel: Kernel) -> None:
    async with listening(kernel, SOON) as port:
        said = await rest(await begin(port, HEAD + b"\r\n" + HEAD))
        first, _, second = said.partition(b"HTTP/1.1 408 ")
        assert first.startswith(b"HTTP/1.1 200 ")
        assert second


async def test_a_body_that_stops_gets_an_answer_that_says_why(kernel: Kernel) -> None:
    async with listening(kernel, LONG_ENOUGH, Patience(piece_seconds=0.1)) as port:
        said = await rest(await begin(port, HALVES["half of a body"]))
    head, _, body = said.partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 408 ")
    assert json.loads(body)["code"] == "too_slow"


async def test_of_too_many_the_silent_ones_are_closed_and_a_new_one_is_answered(kernel: Kernel) -> None:
    halves = [half for name, half in HALVES.items() if name != "nothing"] * 5
    async with listening(kernel, Limits(head_seconds=600, body_seconds=600, most=10)) as port:
        begun = [await begin(port, half) for half in halves]
        for _ in range(3):
            assert (await ask(port)).startswith(b"HTTP/1.1 200 ")
        for streams in begun[:10]:
            assert b" 408 " in await rest(streams)
        for _, writer in begun[10:]:
            writer.close()


async def test_one_that_goes_on_is_not_the_silent_one(kernel: Kernel) -> None:
    async with listening(kernel, Limits(head_seconds=600, body_seconds=600, most=2)) as port:
        slow = await begin(port, b"GET /health HTTP/1.1\r\n")
        silent = await begin(port, HEAD)
        slow[1].write(b"Host: localhost\r\nConnection: close\r\n")
        assert (await ask(port)).startswith(b"HTTP/1.1 200 ")
        assert b" 408 " in await rest(silent)
        slow[1].write(b"\r\n")
        assert (await rest(slow)).startswith(b"HTTP/1.1 200 ")


async def test_a_long_answer_is_not_cut(database_url: str) -> None:
    """A turn that is waited for, a stream of events and a WebSocket go on for longer than any deadline."""
    release = asyncio.Event()

    async def slow(turn: OpenTurn) -> str:
        await release.wait()
        return "Done."

    body = b'{"content": "Hello"}'
    waited = b"POST /sessions/web:1/turns?wait=60 HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n"
    waited += b"Content-Type: application/json\r\nContent-Length: %d\r\n\r\n%b" % (len(body), body)
    async with (
        Kernel(database_url, agent=slow) as kernel,
        listening(kernel, SOON) as port,
        connect(f"ws://127.0.0.1:{port}/ws") as socket,
    ):
        await kernel.open("web:1")
        turn = await begin(port, waited)
        events = await begin(port, b"GET /sessions/web:1/events?after=0 HTTP/1.1\r\nHost: localhost\r\n\r\n")
        # The deadlines of these pass, and so did those of the connections that were opened before them.
        for half in HALVES.values():
            await rest(await begin(port, half))
        await socket.ping()
        release.set()
        assert b'"reply":"Done."' in await rest(turn)
        async with asyncio.timeout(60):
            assert await events[0].readuntil(b"stream_end")
        events[1].close()


async def test_a_thousand_half_sent_requests_keep_no_other_out(database_url: str) -> None:
    """More of them than the server has descriptors, without a key."""
    with served(database_url, "--no-workers", "--descriptors", "300") as server:
        begun = [await begin(server.port, list(HALVES.values())[number % 5]) for number in range(400)]
        assert (await ask(server.port)).startswith(b"HTTP/1.1 200 ")
        for _, writer in begun:
            writer.close()
