"""MCP over HTTP has the keys, owners, limits, Host and Origin rules of every other route."""

import json
import re
import sys
from collections.abc import AsyncIterator

import httpx2
import pytest
import pytest_asyncio
from fastapi import FastAPI
from mcp import MCPError
from starlette.requests import HTTPConnection

from segue import Kernel, Operator, Owner
from segue.config import Configuration
from segue.server import Caller, create_app, mount
from segue.testing import ScriptedAgent
from tests.server.conftest import ADA, BEN, KEYS, ROOT_KEY, bearer, reach
from tests.wires.mcp_clients import REVISIONS, Mode, call, connected, listening, refused, resource

JOB_ID = re.compile(r"Job (\S+)")
INITIALIZE = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-11-25",
        "capabilities": {},
        "clientInfo": {"name": "test", "version": "1"},
    },
}
ACCEPT = {"Accept": "application/json, text/event-stream"}


@pytest.fixture
def kernel(database_url: str) -> Kernel:
    return Kernel(database_url, agent=ScriptedAgent())


@pytest_asyncio.fixture
async def address(kernel: Kernel) -> AsyncIterator[str]:
    """A server that requires keys."""
    async with listening(create_app(kernel, Configuration(api_keys=KEYS))) as address:
        yield address
        assert not await kernel.audit()


@pytest.mark.parametrize("mode", REVISIONS)
async def test_the_same_key_of_two_users_is_two_sessions(address: str, kernel: Kernel, mode: Mode) -> None:
    async with (
        connected(address, "mcp:work", key=ADA, mode=mode) as ada,
        connected(address, "mcp:work", key=BEN, mode=mode) as ben,
    ):
        added = await call(ada, "cron", action="add", message="Ada's report", every_seconds=3600)
        job_id = JOB_ID.findall(added)[0]
        assert "does not exist yet" in await refused(ben, "cron", action="list")
        await call(ben, "set_timezone", timezone="UTC")
        assert "Ada" not in await call(ben, "cron", action="list")
        for action in ("update", "pause", "resume", "skip", "remove"):
            sentence = await refused(ben, "cron", action=action, job_id=job_id, name="Ben's")
            assert "is not found here" in sentence
        assert "is not found here" in await refused(ben, "explain_job", job_id=job_id)
    assert [job.name for job in await kernel.jobs.list("mcp:work", owner=Owner("one", "ada"))] == [
        "Ada's report"
    ]


async def test_resources_of_another_tenant_are_neither_listed_nor_read(address: str, kernel: Kernel) -> None:
    ada_owner = Owner("one", "ada")
    await kernel.log.write_all("mcp:secret", [("user", "the secret of Ada")], owner=ada_owner)
    for key in (BEN, ROOT_KEY):
        async with connected(address, "mcp:secret", key=key) as client:
            assert (await client.list_resources()).resources == []
            for path in ("messages", "automations", "runs/1"):
                with pytest.raises(MCPError, match="not found"):
                    await client.read_resource(f"segue://sessions/mcp:secret/{path}")
            await call(client, "set_timezone", timezone="UTC")
            assert await call(client, "read_messages") == "Nothing was said here yet."
    async with connected(address, key=ADA) as client:
        assert "the secret of Ada" in await resource(client, "segue://sessions/mcp:secret/messages")


async def test_a_run_of_another_tenant_is_not_found_below_an_own_session(
    address: str, kernel: Kernel
) -> None:
    async with (
        connected(address, "mcp:work", key=ADA) as ada,
        connected(address, "mcp:work", key=BEN) as ben,
    ):
        added = await call(ada, "cron", action="add", message="Report", every_seconds=3600)
        await call(ada, "cron", action="skip", job_id=JOB_ID.findall(added)[0])
        (run,) = await kernel.runs.list("mcp:work", owner=Owner("one", "ada"))
        uri = f"segue://sessions/mcp:work/runs/{run.id}"
        assert json.loads(await resource(ada, uri))["outcome"] == "skipped"
        await call(ben, "set_timezone", timezone="UTC")
        with pytest.raises(MCPError, match="not found"):
            await ben.read_resource(uri)


async def test_an_admin_acts_for_a_user_of_the_account_only(address: str, kernel: Kernel) -> None:
    await kernel.log.write_all("mcp:work", [("user", "Hello")], owner=Owner("two", "eve"))
    async with connected(address, "mcp:work", key=ROOT_KEY, path="/mcp?user=eve") as client:
        assert "Hello" in await call(client, "read_messages")
    async with reach_with_keys(kernel) as http:
        answer = await http.post("/mcp?user=ben", json=INITIALIZE, headers=ACCEPT | bearer(ADA))
    assert answer.status_code == 404


async def test_a_user_cannot_create_the_chat_of_another_user(address: str, kernel: Kernel) -> None:
    async with connected(address, "telegram:42", key=ADA) as client:
        assert "there is no session" in await refused(client, "send_turn", text="Hello")
    assert await kernel.sessions.list(owner=Operator("one")) == []


async def test_a_transport_session_is_only_for_the_caller_who_opened_it(address: str) -> None:
    async with httpx2.AsyncClient(base_url=address, headers=ACCEPT, timeout=60) as http:
        opened = await http.post("/mcp", json=INITIALIZE, headers=bearer(ADA))
        transport = {"Mcp-Session-Id": opened.headers["mcp-session-id"]}
        ping = {"jsonrpc": "2.0", "id": 2, "method": "ping"}
        foreign = await http.post("/mcp", json=ping, headers=bearer(BEN) | transport)
        removed = await http.delete("/mcp", headers=bearer(BEN) | transport)
        own = await http.post("/mcp", json=ping, headers=bearer(ADA) | transport)
    assert [foreign.status_code, removed.status_code, own.status_code] == [404, 404, 200]


def reach_with_keys(kernel: Kernel) -> httpx2.AsyncClient:
    return reach(create_app(kernel, Configuration(api_keys=KEYS)))


@pytest_asyncio.fixture
async def http() -> AsyncIterator[httpx2.AsyncClient]:
    """A client without a key, of a server that requires keys."""
    app = create_app(Kernel("sqlite://:memory:", agent=ScriptedAgent()), Configuration(api_keys=KEYS))
    async with app.router.lifespan_context(app), reach(app) as client:
        yield client


@pytest.mark.parametrize("method", ["GET", "POST", "DELETE"])
@pytest.mark.parametrize("headers", [{}, bearer("not-a-key-of-this-server"), {"Authorization": "Basic eA=="}])
async def test_without_a_key_of_the_server_it_is_401(
    http: httpx2.AsyncClient, method: str, headers: dict[str, str]
) -> None:
    answer = await http.request(method, "/mcp", json=INITIALIZE, headers=ACCEPT | headers)
    assert answer.status_code == 401
    assert answer.json()["code"] == "unauthorized"
    assert answer.headers["www-authenticate"] == "Bearer"


@pytest.mark.parametrize(
    ("header", "code"),
    [({"Host": "evil.example"}, "forbidden_host"), ({"Origin": "https://evil.example"}, "forbidden_origin")],
)
async def test_another_sites_page_is_refused(
    http: httpx2.AsyncClient, header: dict[str, str], code: str
) -> None:
    answer = await http.post("/mcp", json=INITIALIZE, headers=ACCEPT | bearer(ADA) | header)
    assert (answer.status_code, answer.json()["code"]) == (403, code)


async def test_a_body_has_the_limit_of_every_route(http: httpx2.AsyncClient) -> None:
    async def pieces() -> AsyncIterator[bytes]:
        for _ in range(5):
            yield b" " * (1 << 20)

    for content in (b" " * (5 << 20), pieces()):
        answer = await http.post(
            "/mcp",
            content=content,
            headers=ACCEPT | bearer(ADA) | {"Content-Type": "application/json"},
        )
        assert (answer.status_code, answer.json()["code"]) == (413, "too_large")


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b"null", b'{"jsonrpc": "1.0"}', b"\xff\xfe"])
@pytest.mark.parametrize("version", [None, "2025-11-25", "2026-07-28", "1999-01-01"])
async def test_a_body_that_is_no_request_is_refused_not_failed(
    http: httpx2.AsyncClient, content: bytes, version: str | None
) -> None:
    headers = ACCEPT | bearer(ADA) | {"Content-Type": "application/json"}
    if version:
        headers["Mcp-Protocol-Version"] = version
    answer = await http.post("/mcp", content=content, headers=headers)
    assert 400 <= answer.status_code < 500


async def test_another_method_is_refused_with_those_that_there_are(http: httpx2.AsyncClient) -> None:
    answer = await http.put("/mcp", headers=bearer(ADA))
    assert answer.status_code == 405
    assert answer.headers["allow"] == "DELETE, GET, HEAD, POST"


async def test_requests_are_counted_under_their_route(address: str) -> None:
    async with httpx2.AsyncClient(base_url=address, timeout=60) as http:
        await http.post("/mcp", json=INITIALIZE, headers=ACCEPT | bearer(ADA))
        metrics = (await http.get("/metrics", headers=bearer(ROOT_KEY))).text
    assert 'segue_http_requests_total{method="POST",route="/mcp",status="200"} 1.0' in metrics


async def test_without_the_package_a_sentence_says_what_to_install(
    http: httpx2.AsyncClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "mcp.server", None)
    for _ in range(2):
        answer = await http.post("/mcp", json=INITIALIZE, headers=ACCEPT | bearer(ADA))
        assert (answer.status_code, answer.json()["code"]) == (501, "missing_package")
        assert "pip install 'segue[mcp]'" in answer.json()["detail"]


async def test_before_the_application_has_started_it_is_503() -> None:
    app = create_app(Kernel("sqlite://:memory:", agent=ScriptedAgent()), Configuration())
    async with reach(app) as http:
        answer = await http.post("/mcp", json=INITIALIZE, headers=ACCEPT)
    assert (answer.status_code, answer.json()["code"]) == (503, "not_started")


async def test_it_is_mounted_with_the_applications_own_login(database_url: str) -> None:
    async def caller(connection: HTTPConnection) -> Caller | None:
        name = connection.headers.get("authorization", "").removeprefix("Bearer ")
        return Caller(Owner("acme", name)) if name in ("ada", "ben") else None

    kernel, app = Kernel(database_url, agent=ScriptedAgent()), FastAPI()
    mount(app, kernel, caller=caller)
    app.state.segue = next(route.app.state.segue for route in app.routes if hasattr(route, "app"))
    async with listening(app) as address:
        async with connected(address, "mcp:work", key="ada", path="/segue/mcp") as ada:
            await call(ada, "cron", action="add", message="Report", every_seconds=3600)
        async with connected(address, "mcp:work", key="ben", path="/segue/mcp") as ben:
            assert "does not exist yet" in await refused(ben, "cron", action="list")
        async with httpx2.AsyncClient() as http:
            answer = await http.post(f"{address}/segue/mcp", json=INITIALIZE, headers=ACCEPT | bearer("eve"))
        assert answer.status_code == 401
        assert len(await kernel.jobs.list("mcp:work", owner=Owner("acme", "ada"))) == 1
