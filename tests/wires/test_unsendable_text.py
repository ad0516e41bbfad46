"""An agent's text may have characters that UTF-8 cannot carry: every follower gets the rest of it."""

import asyncio
import json
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any

import httpx2
import pytest
import pytest_asyncio
from websockets.asyncio.client import connect

from segue import Delta, Kernel, OpenTurn, ToolCalled, ToolStarted, Usage
from tests.eventually import eventually
from tests.wires.conftest import PATIENCE, serving

BAD, SENT = "a\ud800b", "a\ufffdb"
KEY = "websocket:tea"
MESSAGES = [{"role": "user", "content": "Hello", "parts": [{"type": "text", "text": "Hello"}]}]
STREAMS: dict[str, dict[str, Any]] = {
    "/agui": {"threadId": "tea", "runId": "1", "messages": MESSAGES},
    "/ui": {"id": "tea", "messages": MESSAGES},
    "/v1/responses": {"model": "segue", "input": "Hello", "stream": True},
    "/langgraph/runs/stream": {
        "assistant_id": "segue",
        "input": {"messages": MESSAGES},
        "stream_mode": ["messages-tuple", "updates"],
    },
}


class Careless:
    """Says a word, and calls a tool when the test lets it."""

    reports_tools = True

    def __init__(self) -> None:
        self.speaking = asyncio.Event()
        self.go_on = asyncio.Event()

    async def answer(self, turn: OpenTurn) -> AsyncIterator[Delta | str]:
        yield "Hm."
        self.speaking.set()
        await self.go_on.wait()
        yield ToolStarted(call_id="1", name=BAD, arguments={BAD: [BAD]})
        yield ToolCalled(call_id="1", name=BAD, arguments={BAD: [BAD]}, result=BAD)
        yield ToolCalled(call_id="2", name=BAD, error=BAD)
        yield Usage({"model": BAD})


@dataclass(slots=True)
class Scene:
    kernel: Kernel
    agent: Careless
    http: httpx2.AsyncClient

    async def read(self, answer: httpx2.Response, *, until: str = "never") -> str:
        """Read a stream to its end or up to a word. Its tool is called when the first text has come."""
        assert answer.status_code == 200
        text = ""
        async with asyncio.timeout(PATIENCE):
            async for piece in answer.aiter_text():
                text += piece
                if "Hm." in text:
                    self.agent.go_on.set()
                if until in text:
                    break
        return text


@pytest_asyncio.fixture
async def scene(migrated_sqlite_url: str) -> AsyncIterator[Scene]:
    agent = Careless()
    async with (
        Kernel(migrated_sqlite_url, agent=agent) as kernel,
        serving(kernel, []) as url,
        httpx2.AsyncClient(base_url=url, timeout=PATIENCE) as http,
    ):
        yield Scene(kernel, agent, http)


async def test_a_websocket_gets_the_whole_turn(scene: Scene) -> None:
    url = str(scene.http.base_url).replace("http", "ws", 1).rstrip("/")
    events: dict[str, dict[str, Any]] = {}
    async with asyncio.timeout(PATIENCE), connect(f"{url}/ws") as socket:
        await socket.send(json.dumps({"type": "message", "session": KEY, "content": "Hello"}))
        await socket.send(json.dumps({"type": "subscribe", "session": KEY, "after": 0}))
        while "session_sync" not in events:
            event = json.loads(await socket.recv())
            events.setdefault(event["type"], event)
            if event["type"] == "stream_delta":
                scene.agent.go_on.set()
    assert events["tool_started"]["arguments"] == {SENT: [SENT]}
    assert (events["tool_call"]["name"], events["tool_call"]["result"]) == (SENT, SENT)
    assert events["stream_end"]["usage"]["model"] == SENT


async def test_server_sent_events_have_the_whole_turn(scene: Scene) -> None:
    await scene.kernel.receive(KEY, "Hello")
    async with scene.http.stream("GET", f"/sessions/{KEY}/events") as answer:
        text = await scene.read(answer, until='"type":"session_sync"')
    assert f'"arguments":{{"{SENT}":["{SENT}"]}}' in text


@pytest.mark.parametrize("path", STREAMS)
async def test_a_wire_streams_the_whole_turn(scene: Scene, path: str) -> None:
    async with scene.http.stream("POST", path, json=STREAMS[path]) as answer:
        assert SENT in await scene.read(answer)


async def test_a_response_has_the_whole_turn(scene: Scene) -> None:
    body = {"model": "segue", "input": "Hello"}
    async with asyncio.TaskGroup() as tasks:
        asked = tasks.create_task(scene.http.post("/v1/responses", json=body))
        await scene.agent.speaking.wait()
        (session,) = await scene.kernel.sessions.list()
        await eventually(lambda: session.id in scene.kernel.hub._listeners, "the request waits")
        scene.agent.go_on.set()
    assert SENT in [item["name"] for item in (await asked).json()["output"] if item["type"] == "mcp_call"]
