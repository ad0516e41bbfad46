"""Who is admitted: this machine, the callers that the application knows, and pages of allowed origins."""

import json
import shutil
import subprocess
import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx2
import pytest
from fastapi import FastAPI
from starlette.requests import HTTPConnection
from websockets.asyncio.client import connect
from websockets.exceptions import InvalidStatus

from segue import Kernel, Owner
from segue.config import ApiKey, Configuration, Role, Secret
from segue.errors import BadSetting
from segue.server import Caller, mount
from segue.testing import ScriptedAgent
from tests.docs.pages import ROOT
from tests.server.conftest import ADA, bearer
from tests.server.uvicorn_process import uvicorn

FRONT_END = "http://localhost:5173"
FOREIGN = ("203.0.113.7", 40000)
LOCAL = ("127.0.0.1", 40000)


@asynccontextmanager
async def mounted(
    client: tuple[str, int] | None = LOCAL, **options: Any
) -> AsyncIterator[httpx2.AsyncClient]:
    app = FastAPI()
    mount(app, Kernel("sqlite://:memory:", agent=ScriptedAgent()), **options)
    transport = httpx2.ASGITransport(app=app, client=client, raise_app_exceptions=False)  # type: ignore[arg-type]
    async with (
        app.router.lifespan_context(app),
        httpx2.AsyncClient(transport=transport, base_url="http://localhost/segue") as http,
    ):
        yield http


async def known_user(connection: HTTPConnection) -> Caller | None:
    """As an application's own login: here the user's name is in a header."""
    name = connection.headers.get("x-user")
    return Caller(Owner("acme", name), Role.ADMIN if name == "root" else Role.USER) if name else None


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1", "[::1]"])
async def test_another_machine_is_refused_whatever_host_it_names(host: str) -> None:
    async with mounted(FOREIGN) as http:
        for path in ("/sessions", "/metrics", "/auth/session"):
            refused = await http.get(path, headers={"Host": host})
            assert (refused.status_code, refused.json()["code"]) == (403, "forbidden_peer")
            assert refused.headers["content-type"] == "application/problem+json"
            assert "`caller=`" in refused.json()["detail"]


@pytest.mark.parametrize("peer", ["127.0.0.1", "127.0.0.2", "::1", "::ffff:127.0.0.1"])
async def test_this_machine_is_the_operator(peer: str) -> None:
    async with mounted((peer, 1)) as http:
        assert (await http.get("/auth/session")).json()["role"] == "admin"


@pytest.mark.parametrize("peer", [("10.0.0.1", 1), ("::ffff:10.0.0.1", 1), ("testclient", 1), None])
async def test_a_peer_that_is_not_known_to_be_this_machine_is_refused(peer: tuple[str, int] | None) -> None:
    async with mounted(peer) as http:
        assert (await http.get("/sessions")).status_code == 403


@pytest.mark.parametrize(
    ("forwarded", "status"), [("203.0.113.7", 403), ("127.0.0.1, 203.0.113.7", 403), ("127.0.0.1", 200)]
)
async def test_a_client_behind_a_local_proxy_is_not_this_machine(forwarded: str, status: int) -> None:
    async with mounted() as http:
        answer = await http.get("/sessions", headers={"X-Forwarded-For": forwarded})
        assert answer.status_code == status


async def test_another_machine_is_admitted_with_a_key() -> None:
    keys = (ApiKey(key=Secret(ADA), account="one", user="ada"),)
    async with mounted(FOREIGN, configuration=Configuration(api_keys=keys)) as http:
        assert (await http.get("/sessions")).status_code == 401
        assert (await http.get("/sessions", headers=bearer(ADA))).status_code == 200


def test_a_socket_of_another_network_is_refused_with_the_host_localhost() -> None:
    """A real connection: the server and its client are in a network namespace with an address of its own."""
    own_network = ["unshare", "--user", "--map-root-user", "--net"]
    if not shutil.which("ip") or subprocess.run([*own_network, "true"], capture_output=True).returncode:
        pytest.skip("this machine does not allow network namespaces")
    program = [*own_network, sys.executable, "-m", "tests.server.namespace"]
    done = subprocess.run(program, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == {"127.0.0.1": 200, "10.1.2.3": 403}


async def test_the_application_decides_who_calls() -> None:
    async with mounted(FOREIGN, caller=known_user) as http:
        refused = await http.get("/sessions")
        assert (refused.status_code, refused.json()["code"]) == (401, "unauthorized")
        assert "log in there" in refused.json()["detail"]
        await http.post("/sessions/web:1/turns?wait=20", json={"content": "Hi"}, headers={"X-User": "ada"})
        for name, listed in {"ada": 1, "ben": 0, "root": 1}.items():
            sessions = (await http.get("/sessions", headers={"X-User": name})).json()["sessions"]
            assert len(sessions) == listed
        assert (await http.get("/metrics", headers={"X-User": "ada"})).status_code == 403
        assert (await http.get("/metrics", headers={"X-User": "root"})).status_code == 200
        who = (await http.get("/auth/session", headers={"X-User": "ada"})).json()
        assert who == {"account": "acme", "user": "ada", "role": "user", "model": None}


async def test_a_result_that_is_no_caller_is_an_error_of_the_server(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def wrong(connection: HTTPConnection) -> Any:
        return "ada"

    async with mounted(caller=wrong) as http:
        failed = await http.get("/sessions")
    assert (failed.status_code, failed.json()["code"]) == (500, "internal")
    assert "must return a segue.server.Caller or None" in caplog.text


def test_keys_and_an_own_login_together_are_refused() -> None:
    keys = (ApiKey(key=Secret(ADA)),)
    kernel = Kernel("sqlite://:memory:", agent=ScriptedAgent())
    with pytest.raises(BadSetting, match="either `caller` or `api_keys`"):
        mount(FastAPI(), kernel, caller=known_user, configuration=Configuration(api_keys=keys))


@pytest.mark.parametrize(
    "origin",
    ["*", "null", "app.example.org", "ftp://a.example", "https://a.example/x", "https://u@a.example", ""],
)
def test_a_text_that_is_no_origin_is_refused(origin: str) -> None:
    kernel = Kernel("sqlite://:memory:", agent=ScriptedAgent())
    with pytest.raises(BadSetting, match="is not an origin"):
        mount(FastAPI(), kernel, allowed_origins=[origin])


async def test_a_page_of_an_allowed_origin_may_read_and_write_with_credentials() -> None:
    async with mounted(allowed_origins=["http://LOCALHOST:5173/", "https://a.example:443"]) as http:
        for origin in (FRONT_END, "https://a.example"):
            asked = await http.options("/sessions/web:1/turns", headers=preflight(origin))
            assert asked.status_code == 200
            assert asked.headers["access-control-allow-origin"] == origin
            assert asked.headers["access-control-allow-credentials"] == "true"
            assert "idempotency-key" in asked.headers["access-control-allow-headers"].lower()
            said = await http.post(
                "/sessions/web:1/turns", json={"content": "Hi"}, headers={"Origin": origin}
            )
            assert said.status_code == 202
            assert said.headers["access-control-allow-origin"] == origin
            assert said.headers["access-control-allow-credentials"] == "true"
            assert "origin" in said.headers["vary"].lower()


async def test_a_refusal_can_be_read_by_a_page_of_an_allowed_origin() -> None:
    async with mounted(allowed_origins=[FRONT_END], caller=known_user) as http:
        refused = await http.get("/sessions", headers={"Origin": FRONT_END})
    assert refused.status_code == 401
    assert refused.headers["access-control-allow-origin"] == FRONT_END


@pytest.mark.parametrize(
    "origin", ["http://localhost:5174", "https://localhost:5173", "http://evil.example", "null"]
)
async def test_a_page_of_any_other_origin_is_refused(origin: str) -> None:
    async with mounted(allowed_origins=[FRONT_END]) as http:
        for answer in (
            await http.options("/sessions", headers=preflight(origin)),
            await http.get("/sessions", headers={"Origin": origin}),
        ):
            assert (answer.status_code, answer.json()["code"]) == (403, "forbidden_origin")
            assert "access-control-allow-origin" not in answer.headers
        assert (await http.get("/sessions", headers={"Origin": "http://localhost"})).status_code == 200


async def test_websockets_check_the_origin_and_the_caller(tmp_path: Path) -> None:
    env = {"SEGUE_TEST_DATABASE": f"sqlite:///{tmp_path}/segue.db"}
    with uvicorn("tests.server.mounted:app", tmp_path / "log", env=env) as server:
        socket = f"ws://127.0.0.1:{server.port}/segue/ws"
        for headers, status in (
            ({"X-User": "ada", "Origin": "http://evil.example"}, 403),
            ({"Origin": FRONT_END}, 401),
        ):
            with pytest.raises(InvalidStatus) as refused:
                async with connect(socket, additional_headers=headers):
                    pass
            assert refused.value.response.status_code == status
        async with connect(socket, additional_headers={"X-User": "ada", "Origin": FRONT_END}) as live:
            await live.send(json.dumps({"type": "message", "session": "web:1", "content": "Hi", "id": "1"}))
            assert json.loads(await live.recv())["type"] == "accepted"


def preflight(origin: str) -> Mapping[str, str]:
    return {
        "Origin": origin,
        "Access-Control-Request-Method": "POST",
        "Access-Control-Request-Headers": "content-type, idempotency-key",
    }
