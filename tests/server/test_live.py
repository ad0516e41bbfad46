"""Live events: WebSocket and server-sent events carry the same events in the same order."""

import asyncio
import json
import signal
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest
from websockets.asyncio.client import ClientConnection, connect

from tests.server.listener import Listener
from tests.server.process import Served, served
from tests.server.script import text_of


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    folder: Path = tmp_path_factory.mktemp("live")
    with served(f"sqlite:///{folder}/segue.db") as server:
        yield server


async def send(socket: ClientConnection, **command: Any) -> None:
    await socket.send(json.dumps(command))


async def receive_until(socket: ClientConnection, kind: str) -> list[dict[str, Any]]:
    """Receive events up to and including the first of a type."""
    events: list[dict[str, Any]] = []
    async with asyncio.timeout(30):
        while not events or events[-1]["type"] != kind:
            events.append(json.loads(await socket.recv()))
    return events


async def test_a_turn_is_streamed_in_order(server: Served) -> None:
    async with connect(server.ws) as socket:
        await send(socket, type="subscribe", session="web:whole")
        assert json.loads(await socket.recv())["code"] == "not_found"
        await send(socket, type="message", session="web:whole", content="6 1 whole", id="1")
        accepted, *events = await receive_until(socket, "session_sync")
    assert (accepted["type"], accepted["id"], accepted["position"]) == ("accepted", "1", 0)
    listener = Listener("web:whole")
    for event in events:
        listener.receive(event)
    assert listener.types == ["stream_start", "tool_started", "tool_call", "stream_end", "session_sync"]
    by_type = {event["type"]: event for event in events}
    start, tool, call, end, sync = (by_type[name] for name in listener.types)
    assert {event["turn_id"] for event in events} == {accepted["turn_id"]}
    assert (start["source"], start["attempt"], start["message"]["content"]) == (None, 1, "6 1 whole")
    assert (tool["call_id"], tool["name"], tool["arguments"]) == ("1", "look", {"at": "it"})
    assert (call["result"], call["error"], call["duration_ms"]) == ("seen", None, 0)
    assert (end["state"], end["outcome"], end["reply"]) == ("done", "ok", text_of("6 1 whole"))
    assert end["usage"] == {"output_tokens": 6}
    assert end["message_id"] == end["message"]["id"]
    assert (sync["object"]["key"], sync["object"]["message_count"]) == ("web:whole", 2)
    assert all(event["at"].endswith("+00:00") for event in events)


async def test_a_message_with_the_same_id_is_one_turn(server: Served) -> None:
    async with connect(server.ws) as socket:
        for _ in range(2):
            await send(socket, type="message", session="web:twice", content="2 1", id="same")
        first, second = json.loads(await socket.recv()), json.loads(await socket.recv())
    assert first["turn_id"] == second["turn_id"]


async def test_a_client_that_connects_during_a_turn_gets_the_text_so_far_as_one_piece(server: Served) -> None:
    async with connect(server.ws) as first, connect(server.ws) as second:
        await send(first, type="message", session="web:middle", content="60 5 middle", id="1")
        await receive_until(first, "accepted")
        await send(first, type="subscribe", session="web:middle")
        await receive_until(first, "tool_call")
        await send(second, type="subscribe", session="web:middle")
        events = await receive_until(second, "session_sync")
        await receive_until(
            first, "session_sync"
        )  # with unread events, closing the socket would take ten seconds
    replayed = [event["type"] for event in events if event.get("replay")]
    assert replayed == ["stream_start", "tool_started", "tool_call", "stream_delta"]
    listener = Listener("web:middle")
    for event in events:
        listener.receive(event)
    assert listener.text == text_of("60 5 middle")


async def test_a_turn_is_stopped_over_the_socket(server: Served) -> None:
    async with connect(server.ws) as socket:
        await send(socket, type="message", session="web:stop", content="500 20 stop", id="1")
        await receive_until(socket, "accepted")
        await send(socket, type="subscribe", session="web:stop", after=0)
        await receive_until(socket, "stream_delta")
        await send(socket, type="stop", session="web:stop")
        events = await receive_until(socket, "session_sync")
    end = next(event for event in events if event["type"] == "stream_end")
    assert (end["state"], end["outcome"]) == ("cancelled", "stopped")
    assert text_of("500 20 stop").strip().startswith(end["reply"])
    assert events[-1]["object"]["state"] == "idle"


async def test_the_list_gets_updates_of_every_session_of_its_owner(server: Served) -> None:
    async with connect(server.ws) as socket, httpx2.AsyncClient(base_url=server.http) as http:
        await send(socket, type="subscribe", session="*")
        await send(socket, type="stop", session="web:none")
        await receive_until(socket, "error")  # the subscription is active now
        for name in ("a", "b"):
            body = {"role": "user", "content": "Hello"}
            await http.post(f"/sessions/web:list-{name}/messages", json=body)
        seen: dict[str, Any] = {}
        async with asyncio.timeout(20):
            while not {"web:list-a", "web:list-b"} <= seen.keys():
                event = json.loads(await socket.recv())
                seen[event["session"]] = event
    assert seen["web:list-a"]["type"] == "session_sync"
    assert seen["web:list-a"]["object"]["message_count"] == 1


async def test_invalid_input_is_answered_and_the_socket_stays_open(server: Served) -> None:
    async with connect(server.ws) as socket:
        for nonsense in (
            "",
            "[]",
            "{",
            '{"type": "dance"}',
            '{"type": ["subscribe"]}',
            '{"type": "subscribe"}',
            '{"type": "subscribe", "session": "no colon"}',
            '{"type": "subscribe", "session": "web:1", "after": -1}',
            '{"type": "subscribe", "session": "web:1", "more": 1}',
            '{"type": "message", "session": "web:1", "content": "  "}',
            '{"type": "message", "session": "web:1", "content": "\\ud800"}',
            '{"type": "stop", "session": "web:none"}',
            "[" * 100_000,
        ):
            await socket.send(nonsense)
            answer = json.loads(await socket.recv())
            assert (answer["type"], answer["status"]) in (("error", 422), ("error", 404)), nonsense
            assert answer["detail"]
        await send(socket, type="message", session="web:sane", content="1 1", id="1")
        assert json.loads(await socket.recv())["type"] == "accepted"


async def sse(response: httpx2.Response) -> AsyncIterator[tuple[str, dict[str, Any]]]:
    id = ""
    async for line in response.aiter_lines():
        if line.startswith("id:"):
            id = line.removeprefix("id:").strip()
        elif line.startswith("data:"):
            yield id, json.loads(line.removeprefix("data:"))


async def test_server_sent_events_are_the_same_and_resume(server: Served) -> None:
    async with httpx2.AsyncClient(base_url=server.http, timeout=30) as http:
        await http.post("/sessions/web:sse/turns", json={"content": "40 10 sse"})
        listener, last = Listener("web:sse"), "0"
        while not listener.over:
            headers = {"Last-Event-ID": last}
            async with http.stream("GET", "/sessions/web:sse/events", headers=headers) as response:
                assert response.headers["content-type"].startswith("text/event-stream")
                events = 0
                async for id, event in sse(response):
                    assert id == str(event["seq"])
                    listener.receive(event)
                    last, events = id, events + 1
                    if events == 15 or listener.over:
                        break
        assert listener.text == text_of("40 10 sse")
        missing = await http.get("/sessions/web:none/events")
        assert missing.status_code == 404


async def test_a_stopping_server_closes_its_streams(tmp_path: Path) -> None:
    with served(f"sqlite:///{tmp_path}/segue.db") as server:
        async with connect(server.ws) as socket, httpx2.AsyncClient(base_url=server.http, timeout=30) as http:
            body = {"role": "user", "content": "Hello"}
            await http.post("/sessions/web:1/messages", json=body)
            await send(socket, type="subscribe", session="web:1", after=0)
            await receive_until(socket, "message")
            async with http.stream("GET", "/sessions/web:1/events?after=0") as response:
                stream = sse(response)
                await anext(stream)
                server.process.terminate()
                assert [event async for event in stream] == []
            async with asyncio.timeout(10):
                await socket.wait_closed()
        await asyncio.to_thread(server.process.join, 10)
        assert server.process.exitcode in (0, -signal.SIGTERM)
