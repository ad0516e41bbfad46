"""Authentication, ownership, host and origin checks, limits and security headers."""

import ast
import inspect
import json
import logging
import textwrap
from dataclasses import asdict
from pathlib import Path
from typing import Any

import httpx2
import pytest
from websockets.asyncio.client import connect
from websockets.exceptions import InvalidStatus

from segue import Ask, Every, Kernel, Owner
from segue.server import auth
from tests.eventually import eventually
from tests.server.conftest import ADA, BEN, KEYS, ROOT_KEY, bearer, reach, running
from tests.server.process import served

ALL_KEYS = json.dumps([{**asdict(each), "key": each.key.reveal()} for each in KEYS])


async def test_without_a_valid_key_every_route_is_refused(guarded: httpx2.AsyncClient) -> None:
    wrong = [
        {},
        bearer("wrong"),
        bearer(""),
        {"Authorization": f"Basic {ADA}"},
        {"Authorization": ADA},
        {"Cookie": f"segue_session={ADA}"},
        {"Cookie": "segue_session=99999999999.AAAA"},
    ]
    for headers in wrong:
        for method, path in [("GET", "/sessions"), ("POST", "/sessions/web:1/turns"), ("GET", "/metrics")]:
            refused = await guarded.request(method, path, headers=headers, json={"content": "Hi"})
            assert (refused.status_code, refused.json()["code"]) == (401, "unauthorized"), headers
            assert refused.headers["www-authenticate"] == "Bearer"
    assert (await guarded.get("/health")).status_code == 200


async def test_the_body_is_not_read_without_a_valid_key(guarded: httpx2.AsyncClient) -> None:
    torn, json_of = b'{"content": ', {"content-type": "application/json"}
    for path in ("/sessions/web:1/turns", "/sessions/not-a-key/turns", "/sessions/web:1/turns?wait=long"):
        refused = await guarded.post(path, content=torn, headers=json_of)
        assert (refused.status_code, refused.json()["code"]) == (401, "unauthorized"), path
    refused = await guarded.post("/sessions/web:1/turns", content=torn, headers={**json_of, **bearer(ADA)})
    assert (refused.status_code, refused.json()["detail"]) == (422, "the body is not JSON")


async def test_objects_of_other_users_are_not_found(guarded: httpx2.AsyncClient, kernel: Kernel) -> None:
    ada = bearer(ADA)
    turn = (await guarded.post("/sessions/web:1/turns?wait=20", json={"content": "Hi"}, headers=ada)).json()
    job = await kernel.schedule("web:1", Every(1), Ask("Look."), owner=Owner("one", "ada"))
    runs = await eventually(lambda: kernel.runs.list("web:1", owner=Owner("one", "ada")), "a run")
    await kernel.jobs.delete(job.id, owner=Owner("one", "ada"))
    asked = [
        ("GET", "/sessions/web:1"),
        ("PATCH", "/sessions/web:1"),
        ("DELETE", "/sessions/web:1"),
        ("GET", "/sessions/web:1/messages"),
        ("POST", "/sessions/web:1/stop"),
        ("GET", "/sessions/web:1/runs"),
        ("GET", "/sessions/web:1/events"),
        ("GET", f"/turns/{turn['turn_id']}"),
        ("GET", f"/runs/{runs[0].id}"),
        ("GET", "/sessions/web:1/forecast"),
        ("GET", "/sessions/web:1/usage"),
        ("GET", "/sessions/web:1/budget"),
        ("POST", "/sessions/web:1/budget/raise"),
        ("POST", "/sessions/web:1/read"),
        ("GET", "/sessions/web:1/export"),
        ("GET", "/sessions/web:1/turns"),
        ("POST", f"/turns/{turn['turn_id']}/stop"),
    ]
    bodies: dict[str, Any] = {
        "/sessions/web:1": {},
        "/sessions/web:1/budget/raise": {},
        "/sessions/web:1/read": {"seq": 1},
    }
    for key in (BEN, ROOT_KEY):
        for method, path in asked:
            body = bodies.get(path) if method in ("PATCH", "PUT", "POST") else None
            there = await guarded.request(method, path, headers=bearer(key), json=body)
            assert (there.status_code, there.json()["code"]) == (404, "not_found"), path
        assert (await guarded.get("/sessions", headers=bearer(key))).json()["sessions"] == []
    assert (await guarded.get(f"/turns/{turn['turn_id']}", headers=ada)).status_code == 200
    assert (await guarded.get(f"/runs/{runs[0].id}", headers=ada)).status_code == 200


async def test_the_same_key_under_two_owners_is_two_sessions(guarded: httpx2.AsyncClient) -> None:
    for key in (ADA, BEN):
        body = {"role": "user", "content": f"I have {key[-3:]}"}
        one = await guarded.post(
            "/sessions/web:1/messages", json=body, headers=bearer(key) | {"Idempotency-Key": "x"}
        )
        assert one.json()["message_count"] == 1


async def test_a_key_is_exchanged_for_a_strict_cookie(guarded: httpx2.AsyncClient) -> None:
    refused = await guarded.post("/auth/session", json={"key": "wrong"})
    assert (refused.status_code, "set-cookie" in refused.headers) == (401, False)
    made = await guarded.post("/auth/session", json={"key": ADA})
    assert made.json() == {"account": "one", "user": "ada", "role": "user", "model": None}
    cookie = made.headers["set-cookie"]
    assert ADA not in cookie
    assert {"HttpOnly", "SameSite=strict", "Path=/"} <= set(cookie.split("; "))
    assert (await guarded.get("/auth/session")).json()["user"] == "ada"
    name, _, value = cookie.partition(";")[0].partition("=")
    for forged in (f"9{value}", value[:-2] + "AA", value.replace(".", ""), "", "é"):
        headers = {b"Cookie": f"{name}={forged}".encode()}
        guarded.cookies.clear()
        assert (await guarded.get("/auth/session", headers=headers)).status_code == 401, forged
    gone = await guarded.delete("/auth/session")
    assert gone.status_code == 204
    assert "Max-Age=0" in gone.headers["set-cookie"]


async def test_a_cookie_expires_and_is_revoked_with_its_key() -> None:
    keys = auth.ApiKeys(KEYS)
    cookie = keys.cookie_for(ADA, 0)
    assert keys.caller_by_cookie(cookie, auth.COOKIE_SECONDS * 1000) is not None
    assert keys.caller_by_cookie(cookie, auth.COOKIE_SECONDS * 1000 + 1) is None
    assert auth.ApiKeys(KEYS[1:]).caller_by_cookie(cookie, 0) is None


def test_every_key_is_compared_in_constant_time() -> None:
    """No `==` on a secret, and no early exit from the loop."""
    for method in (auth.ApiKeys.caller_by_key, auth.ApiKeys.caller_by_cookie):
        tree = ast.parse(textwrap.dedent(inspect.getsource(method)))
        (loop,) = [node for node in ast.walk(tree) if isinstance(node, ast.For)]
        inside = list(ast.walk(loop))
        assert not [node for node in inside if isinstance(node, ast.Return | ast.Break | ast.Compare)]
        called = [ast.unparse(node.func) for node in inside if isinstance(node, ast.Call)]
        assert "hmac.compare_digest" in called


async def test_a_foreign_host_name_is_refused(http: httpx2.AsyncClient) -> None:
    """DNS rebinding: the page of another site calls this server by its own host name."""
    for host in (
        "evil.example",
        "evil.example:8420",
        "localhost.evil.example",
        "127.0.0.1.evil.example",
        "a b",
        "",
    ):
        refused = await http.get("/sessions", headers={"Host": host})
        assert (refused.status_code, refused.json()["code"]) == (403, "forbidden_host"), host
    for host in ("localhost", "localhost:8420", "127.0.0.1:8420", "[::1]:8420", "127.8.8.8"):
        assert (await http.get("/sessions", headers={"Host": host})).status_code == 200, host


async def test_an_allowed_host_name_is_accepted(kernel: Kernel) -> None:
    async with running(kernel, allowed_hosts=("Segue.Example",)) as app, reach(app) as http:
        for host, status in {"segue.example": 200, "segue.example:443": 200, "other.example": 403}.items():
            assert (await http.get("/sessions", headers={"Host": host})).status_code == status


async def test_a_page_of_another_site_is_refused(http: httpx2.AsyncClient) -> None:
    for origin in (
        "http://evil.example",
        "null",
        "http://localhost:9",
        "file://",
        "http://localhost@evil.example",
        "x",
    ):
        refused = await http.post("/sessions", json={}, headers={"Origin": origin})
        assert (refused.status_code, refused.json()["code"]) == (403, "forbidden_origin"), origin
        assert "access-control-allow-origin" not in refused.headers
    for headers in ({"Origin": "http://localhost"}, {"Origin": "http://localhost:80"}, {}):
        assert (await http.post("/sessions", json={}, headers=headers)).status_code == 201


async def test_on_all_interfaces_a_server_with_keys_accepts_any_host_name(kernel: Kernel) -> None:
    async with running(kernel, host="segue.example", api_keys=KEYS) as app, reach(app) as client:
        for host, status in {"segue.example": 200, "evil.example": 403}.items():
            asked = await client.get("/sessions", headers=bearer(ADA) | {"Host": host})
            assert asked.status_code == status


async def test_websockets_have_the_same_checks(tmp_path: Path) -> None:
    with served(f"sqlite:///{tmp_path}/segue.db", "--keys", ALL_KEYS) as server:
        for headers, status in (
            ({}, 401),
            (bearer("wrong"), 401),
            (bearer(ADA) | {"Origin": "http://evil.example"}, 403),
        ):
            with pytest.raises(InvalidStatus) as refused:
                async with connect(server.ws, additional_headers=headers):
                    pass
            assert refused.value.response.status_code == status
        with pytest.raises(InvalidStatus) as refused:
            async with connect(f"ws://evil.example:{server.port}/ws", host="127.0.0.1", port=server.port):
                pass
        assert refused.value.response.status_code == 403
        async with httpx2.AsyncClient(base_url=server.http) as http:
            await http.post(
                "/sessions/web:1/messages", json={"role": "user", "content": "a"}, headers=bearer(ADA)
            )
            login = await http.post("/auth/session", json={"key": BEN})
        cookie = {"Cookie": login.headers["set-cookie"].partition(";")[0], "Origin": server.http}
        async with connect(server.ws, additional_headers=cookie) as socket:
            await socket.send(json.dumps({"type": "subscribe", "session": "web:1", "after": 0}))
            assert json.loads(await socket.recv())["code"] == "not_found"


async def test_a_large_body_is_refused(http: httpx2.AsyncClient) -> None:
    async def endless() -> object:
        for _ in range(100):
            yield b" " * 100_000

    large = await http.post("/sessions", content=b" " * 5_000_000)
    assert (large.status_code, large.json()["code"]) == (413, "too_large")
    streamed = await http.post("/sessions", content=endless())  # type: ignore[arg-type]
    assert (streamed.status_code, streamed.json()["code"]) == (413, "too_large")
    words = await http.post("/sessions/web:1/turns", json={"content": "x" * 100_001})
    assert (words.status_code, words.json()["field"]) == (422, "content")
    key = await http.get(f"/sessions/web:{'x' * 300}")
    assert (key.status_code, key.json()["field"]) == (422, "key")


async def test_text_that_no_database_can_store_is_refused(http: httpx2.AsyncClient) -> None:
    bad = [
        (b'{"content": "a\\u0000b"}', "/sessions/web:1/turns"),
        (b'{"content": "\\ud800"}', "/sessions/web:1/turns"),
        (b'{"content": "   "}', "/sessions/web:1/turns"),
        (b'{"content": 5}', "/sessions/web:1/turns"),
        (b"{", "/sessions/web:1/turns"),
        (b"[]", "/sessions/web:1/turns"),
        (b'{"metadata": {"a": NaN}}', "/sessions"),
        (b'{"metadata": {"a": "\\ud800"}}', "/sessions"),
        (b'{"metadata": ' + b'{"a":' * 500 + b"1" + b"}" * 501, "/sessions"),
        (b'{"key": "no colon"}', "/sessions"),
        (b'{"timezone": "../../etc/passwd"}', "/sessions"),
    ]
    for body, path in bad:
        refused = await http.post(path, content=body, headers={"Content-Type": "application/json"})
        assert refused.status_code == 422, (body, refused.text)
        assert refused.headers["content-type"] == "application/problem+json"


async def test_every_response_has_security_headers(http: httpx2.AsyncClient) -> None:
    for path in ("/health", "/sessions", "/nothing", "/docs", "/openapi.json"):
        headers = (await http.get(path)).headers
        policy = headers["content-security-policy"]
        assert "script-src 'self'" in policy
        assert "unsafe" not in policy
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["cache-control"] == "no-store"
    page = (await http.get("/docs")).text
    assert "<script" not in page


async def test_metrics_are_for_admins_and_name_no_user(guarded: httpx2.AsyncClient) -> None:
    await guarded.post("/sessions/web:secret/turns?wait=20", json={"content": "Hi"}, headers=bearer(ADA))
    assert (await guarded.get("/metrics", headers=bearer(ADA))).status_code == 403
    text = (await guarded.get("/metrics", headers=bearer(ROOT_KEY))).text
    assert 'route="/sessions/{key}/turns"' in text
    for secret in ("web:secret", "ada", ADA, "one"):
        assert f'"{secret}"' not in text


async def test_no_secret_is_logged(guarded: httpx2.AsyncClient, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    await guarded.post("/auth/session", json={"key": ADA})
    await guarded.get("/sessions", headers=bearer(ADA))
    await guarded.get("/sessions", headers=bearer("wrong-key"))
    await guarded.post("/sessions", content=f'{{"key": "{ADA}", "x": 1}}'.encode(), headers=bearer(ADA))
    assert ADA not in caplog.text
    assert "wrong-key" not in caplog.text


async def test_a_length_that_is_no_number_is_refused(
    http: httpx2.AsyncClient, subtests: pytest.Subtests
) -> None:
    for length in (b"\xb2", b"-1", b"+1", b"1_0", b"1, 1", b"", b"x", b"9" * 20, b"9" * 5000):
        with subtests.test(length=length[:30]):
            refused = await http.get("/sessions", headers=[(b"content-length", length)])
            assert (refused.status_code, refused.json()["code"]) == (400, "bad_request")
    assert (await http.get("/sessions", headers={"content-length": "00"})).status_code == 200
