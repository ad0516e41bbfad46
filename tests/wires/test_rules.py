"""Every wire has the rules of the other routes: keys, Host, Origin and the size of a body."""

import json
import re
from collections.abc import AsyncIterator
from typing import Any

import httpx2
import pytest
import pytest_asyncio
from fastapi import FastAPI
from openai import AsyncOpenAI

from segue import Kernel, Settings
from segue.kernel.api.files import MEGABYTE
from segue.server import create_app, mount
from segue.server.guard import LARGEST_BODY
from segue.testing import RecordingChannel, ScriptedAgent
from tests.server.conftest import ADA, KEYS, bearer, reach, running

MESSAGES = [{"role": "user", "content": "Hello", "parts": [{"type": "text", "text": "Hello"}]}]
BODIES: dict[str, Any] = {
    "/v1/chat/completions": {"model": "segue", "messages": MESSAGES},
    "/v1/responses": {"model": "segue", "input": "Hello"},
    "/agui": {"threadId": "tea", "runId": "1", "messages": MESSAGES},
    "/agui/connect": {"threadId": "tea", "runId": "1", "messages": []},
    "/ui": {"id": "tea", "messages": MESSAGES},
    "/langgraph/threads": {},
    "/langgraph/runs/wait": {"assistant_id": "segue", "input": {"messages": MESSAGES}},
    "/langgraph/runs/crons": {
        "assistant_id": "segue",
        "schedule": "0 9 * * *",
        "input": {"messages": MESSAGES},
    },
}
every_wire = pytest.mark.parametrize("path", BODIES)


@pytest_asyncio.fixture
async def http(migrated_sqlite_url: str) -> AsyncIterator[httpx2.AsyncClient]:
    async with (
        Kernel(migrated_sqlite_url, agent=ScriptedAgent()) as kernel,
        running(kernel, api_keys=KEYS) as app,
        reach(app, headers=bearer(ADA)) as client,
    ):
        yield client


def sentence_in(path: str, refused: httpx2.Response) -> str:
    """The error's sentence, which each protocol has in a place of its own."""
    if path.startswith("/v1"):
        assert {*refused.json()["error"]} == {"message", "type", "param", "code"}
        return str(refused.json()["error"]["message"])
    return refused.text if path == "/ui" else str(refused.json()["detail"])


@every_wire
async def test_a_request_with_a_key_is_answered(http: httpx2.AsyncClient, path: str) -> None:
    assert (await http.post(path, json=BODIES[path])).status_code == 200


@every_wire
async def test_a_request_of_any_account_may_be_repeated(http: httpx2.AsyncClient, path: str) -> None:
    once = {"Idempotency-Key": "a-key-of-one-request"}
    first, second = [await http.post(path, json=BODIES[path], headers=once) for _ in range(2)]
    assert (first.status_code, second.status_code) == (200, 200)
    assert first.headers.get("X-Segue-Session") == second.headers.get("X-Segue-Session")
    if path.startswith("/langgraph"):
        assert first.json() == second.json()


@every_wire
async def test_a_request_without_a_key_is_refused_in_the_wires_own_shape(
    http: httpx2.AsyncClient, path: str
) -> None:
    refused = await http.post(path, json=BODIES[path], headers={"Authorization": "Bearer wrong"})
    assert (refused.status_code, refused.headers["WWW-Authenticate"]) == (401, "Bearer")
    assert "a valid API key is required" in sentence_in(path, refused)


@every_wire
@pytest.mark.parametrize(
    "header", [{"Host": "evil.example"}, {"Origin": "https://evil.example"}], ids=["host", "origin"]
)
async def test_another_host_or_origin_is_refused(
    http: httpx2.AsyncClient, path: str, header: dict[str, str]
) -> None:
    assert (await http.post(path, json=BODIES[path], headers=header)).status_code == 403


@every_wire
async def test_a_body_that_is_too_large_is_refused(http: httpx2.AsyncClient, path: str) -> None:
    most = LARGEST_BODY + 20 * MEGABYTE * 4 // 3
    assert (await http.post(path, content=b" " * (most + 1))).status_code == 413


@pytest.mark.parametrize("path", [path for path, body in BODIES.items() if body])
@pytest.mark.parametrize("body", ["{", "[]", "null", '"x"', "{}", '{"messages": 1, "model": 2, "input": 3}'])
async def test_a_malformed_body_is_refused_in_the_wires_own_shape(
    http: httpx2.AsyncClient, path: str, body: str
) -> None:
    refused = await http.post(path, content=body, headers={"Content-Type": "application/json"})
    assert refused.status_code == (400 if path.startswith("/v1") else 422)
    assert sentence_in(path, refused)


@pytest.mark.parametrize("path", [path for path, body in BODIES.items() if "Hello" in json.dumps(body)])
async def test_text_that_no_database_stores_is_refused(http: httpx2.AsyncClient, path: str) -> None:
    body = json.dumps(BODIES[path]).replace("Hello", "a\\u0000b")
    refused = await http.post(path, content=body, headers={"Content-Type": "application/json"})
    assert refused.status_code in (400, 422)


async def test_a_session_of_a_network_chat_is_not_made_for_another_user() -> None:
    async with (
        Kernel("sqlite://:memory:", agent=ScriptedAgent(), channels=[RecordingChannel("telegram")]) as kernel,
        running(kernel, api_keys=KEYS) as app,
        reach(app, headers=bearer(ADA)) as client,
    ):
        for path in ("/v1/chat/completions", "/v1/responses", "/agui", "/ui"):
            refused = await client.post(path, json=BODIES[path], headers={"X-Segue-Session": "telegram:42"})
            assert refused.status_code == 404, path
        assert await kernel.sessions.list() == []


async def test_a_mounted_server_has_the_wires_below_its_prefix() -> None:
    app = FastAPI()
    mount(app, Kernel("sqlite://:memory:", agent=ScriptedAgent()))
    transport = httpx2.ASGITransport(app=app)
    async with (
        app.router.lifespan_context(app),
        AsyncOpenAI(
            base_url="http://localhost/segue/v1",
            api_key="none",
            http_client=httpx2.AsyncClient(transport=transport),
        ) as client,
    ):
        answered = await client.responses.create(model="segue", input="Hello")
    assert answered.output_text == "ok"


def test_operations_of_wires_have_readable_ids_and_tags() -> None:
    described = create_app(Kernel("sqlite://:memory:", agent=ScriptedAgent())).openapi()
    for path, methods in described["paths"].items():
        for operation in methods.values():
            tag = operation["tags"][0]
            if tag.startswith("Wires: "):
                assert operation["operationId"].startswith(("openai_", "agui_", "ui_", "langgraph_")), path
                assert operation["summary"], path


NAMED_IN_BODY = {"/agui": "threadId", "/agui/connect": "threadId", "/ui": "id"}


@pytest.mark.parametrize("path", NAMED_IN_BODY)
async def test_a_session_of_any_script_is_named_in_the_header_and_back(
    http: httpx2.AsyncClient, path: str
) -> None:
    answered = await http.post(path, json=BODIES[path] | {NAMED_IN_BODY[path]: "чай%"})
    assert answered.status_code == 200
    header = answered.headers["X-Segue-Session"]
    assert header == "websocket:%D1%87%D0%B0%D0%B9%25"
    again = await http.post(
        "/v1/responses", json=BODIES["/v1/responses"], headers={"X-Segue-Session": header}
    )
    assert again.json()["conversation"]["id"] == "чай%"


BY_ID = (
    ("GET", "/v1/responses/{id}"),
    ("POST", "/v1/responses/{id}/cancel"),
    ("GET", "/v1/models/{id}"),
    ("GET", "/langgraph/threads/{id}"),
    ("GET", "/langgraph/threads/{id}/runs"),
    ("GET", "/langgraph/threads/tea/runs/{id}"),
    ("DELETE", "/langgraph/runs/crons/{id}"),
)
IMPOSSIBLE = ("none", "%00", "a%20b", "%ED%A0%80", "%D1%87", "x" * 150)


async def test_an_id_that_cannot_exist_is_not_found(database_url: str) -> None:
    async with (
        Kernel(database_url, agent=ScriptedAgent()) as kernel,
        running(kernel) as app,
        reach(app) as client,
    ):
        await kernel.sessions.open("websocket:tea")
        statuses = {
            (method, path, id): (await client.request(method, path.format(id=id))).status_code
            for method, path in BY_ID
            for id in IMPOSSIBLE
        }
    assert {request: status for request, status in statuses.items() if status != 404} == {}


async def test_in_unified_mode_a_wire_answers_in_the_common_session_and_resumes_by_its_cursor() -> None:
    agent, settings = ScriptedAgent(), Settings(unified_session=True)
    async with (
        Kernel("sqlite://:memory:", agent=agent, settings=settings) as kernel,
        running(kernel) as app,
        reach(app) as client,
    ):
        await kernel.wait(await kernel.receive("websocket:other", "Hello"))
        await client.post("/ui", json=BODIES["/ui"])
        first = await client.get("/ui/tea/stream?after=0")
        cursor = re.findall(r'"cursor":(\d+)', first.text)[-1]
        rest = await client.get(f"/ui/tea/stream?after={cursor}")
    assert len(agent.asked[1].history) == 2
    assert ('"delta":"ok"' in first.text, rest.status_code) == (True, 204)


async def test_bad_fields_of_a_cron_are_refused(http: httpx2.AsyncClient) -> None:
    for field in (
        {"end_time": "soon"},
        {"timezone": "a\u0000"},
        {"schedule": "0 9 31 2 *"},
        {"metadata": {"name": "a\u0000"}},
        {"assistant_id": "\u0000"},
    ):
        refused = await http.post("/langgraph/runs/crons", json=BODIES["/langgraph/runs/crons"] | field)
        assert refused.status_code in (404, 422), field
