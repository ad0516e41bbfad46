"""Incomplete requests: they are closed, and they do not block other requests."""

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
from segue.server.guard import BodyDeadlines
from segue.server.request_deadlines import Limits
from tests.server.conftest import working
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
async def listening(
    kernel: Kernel, limits: Limits, deadlines: BodyDeadlines | None = None
) -> AsyncIterator[int]:
    """A server with a socket in this process. Yields its port."""
    app = create_app(kernel, Configuration(database="sqlite://:memory:"))
    if deadlines is not None:
        (guard,) = app.user_middleware
        guard.kwargs["deadlines"] = deadlines
    with listening_socket("127.0.0.1", 0) as socket:
        server = HttpServer(app, limits)
        async with working(kernel), asyncio.TaskGroup() as group:
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
    """The response until the server closes the connection."""
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
async def test_an_incomplete_request_is_closed(kernel: Kernel, half: str) -> None:
    async with listening(kernel, SOON) as port:
        response = await rest(await begin(port, HALVES[half]))
        assert response == b"" if half == "nothing" else response.startswith(b"HTTP/1.1 408 ")
        assert (await ask(port)).startswith(b"HTTP/1.1 200 ")


async def test_the_second_request_of_a_connection_has_a_deadline_too(kernel: Kernel) -> None:
    async with listening(kernel, SOON) as port:
        response = await rest(await begin(port, HEAD + b"\r\n" + HEAD))
        first, _, second = response.partition(b"HTTP/1.1 408 ")
        assert first.startswith(b"HTTP/1.1 200 ")
        assert second


async def test_a_body_that_stops_gets_an_error_with_the_reason(kernel: Kernel) -> None:
    async with listening(kernel, LONG_ENOUGH, BodyDeadlines(piece_seconds=0.1)) as port:
        response = await rest(await begin(port, HALVES["half of a body"]))
    head, _, body = response.partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 408 ")
    assert json.loads(body)["code"] == "too_slow"


async def test_above_the_limit_silent_requests_are_closed_and_a_new_one_is_answered(kernel: Kernel) -> None:
    halves = [half for name, half in HALVES.items() if name != "nothing"] * 5
    async with listening(kernel, Limits(head_seconds=600, body_seconds=600, max_incomplete=10)) as port:
        started = [await begin(port, half) for half in halves]
        for _ in range(3):
            assert (await ask(port)).startswith(b"HTTP/1.1 200 ")
        for streams in started[:10]:
            assert b" 408 " in await rest(streams)
        for _, writer in started[10:]:
            writer.close()


async def test_clients_that_connect_at_once_are_all_answered(kernel: Kernel) -> None:
    """As after a restart: the server accepts many connections before it reads the first request."""
    async with listening(kernel, Limits()) as port:
        opened = [await asyncio.open_connection("127.0.0.1", port) for _ in range(600)]
        for _, writer in opened:
            writer.write(HEAD + b"Connection: close\r\n\r\n")
        responses = [await rest(streams) for streams in opened]
    assert {response[:12] for response in responses} == {b"HTTP/1.1 200"}


async def test_a_request_that_sends_data_is_not_closed(kernel: Kernel) -> None:
    async with listening(kernel, Limits(head_seconds=600, body_seconds=600, max_incomplete=2)) as port:
        slow = await begin(port, b"GET /health HTTP/1.1\r\n")
        silent = await begin(port, HEAD)
        slow[1].write(b"Host: localhost\r\nConnection: close\r\n")
        assert (await ask(port)).startswith(b"HTTP/1.1 200 ")
        assert b" 408 " in await rest(silent)
        slow[1].write(b"\r\n")
        assert (await rest(slow)).startswith(b"HTTP/1.1 200 ")


async def test_a_long_response_is_not_cut(database_url: str) -> None:
    """A request that waits for a turn, an event stream and a WebSocket outlive every deadline."""
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
        await kernel.sessions.open("web:1")
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


async def test_a_thousand_incomplete_requests_do_not_block_others(database_url: str) -> None:
    """More requests than the server has descriptors, without a key."""
    with served(database_url, "--no-workers", "--descriptors", "300") as server:
        started = [await begin(server.port, list(HALVES.values())[number % 5]) for number in range(400)]
        assert (await ask(server.port)).startswith(b"HTTP/1.1 200 ")
        for _, writer in started:
            writer.close()
