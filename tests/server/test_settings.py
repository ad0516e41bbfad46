"""Settings: an admin connects a model, the key stays in its file, and the environment wins."""

import asyncio
import logging
import os
import stat
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import Any

import httpx2
import pytest
import pytest_asyncio

from segue import Kernel
from segue.agents import make_agent, make_extractor
from segue.agents.connect import check_connection
from segue.config import Configuration, ModelConnection, ModelProvider
from segue.errors import AgentFailed
from segue.server import create_app
from segue.telemetry.logs import configure
from segue.testing.scripted_provider import Fails, HangsUp, ScriptedProvider, says
from segue.testing.wire_formats import Waits
from tests.server.conftest import ADA, KEYS, ROOT_KEY, bearer, reach, working

SECRET = "the-providers-key-of-root-42"


@pytest_asyncio.fixture(loop_scope="session")
async def provider() -> AsyncIterator[ScriptedProvider]:
    double = ScriptedProvider()
    async with double.listening():
        yield double


Serve = Callable[..., AbstractAsyncContextManager[httpx2.AsyncClient]]


@pytest.fixture
def serve(database_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Serve:
    for variable in ("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "OPENAI_BASE_URL", "OLLAMA_BASE_URL"):
        monkeypatch.delenv(variable, raising=False)

    @asynccontextmanager
    async def opened(
        *, key: str = ROOT_KEY, env: dict[str, str] | None = None, managed: bool = True
    ) -> AsyncIterator[httpx2.AsyncClient]:
        configuration = Configuration.load(
            env={"HOME": "/nowhere", **(env or {})},
            database=database_url,
            data=tmp_path / "data",
            api_keys=KEYS,
        )
        agent, extractor = make_agent(configuration), make_extractor(configuration)
        async with Kernel(database_url, agent=agent, extractor=extractor) as kernel:
            app = create_app(kernel, configuration, manages_model=managed)
            async with working(kernel), app.router.lifespan_context(app), reach(app) as client:
                client.headers |= bearer(key)
                yield client
        if hasattr(agent, "__aexit__"):
            await agent.__aexit__(None, None, None)

    return opened


def entered(provider: ScriptedProvider, kind: str) -> dict[str, Any]:
    """What an admin enters on the page to reach the double."""
    address = provider.url if kind == "anthropic" else provider.base_url
    key = {} if kind == "ollama" else {"key": SECRET}
    return {"provider": kind, "name": f"{kind}-model", "base_url": address, **key}


async def say(client: httpx2.AsyncClient, text: str) -> dict[str, Any]:
    answer = await client.post("/sessions/web:1/turns?wait=30", json={"content": text})
    assert answer.status_code == 200, answer.text
    said: dict[str, Any] = answer.json()
    return said


async def test_the_offline_rules_answer_until_a_model_is_connected(
    serve: Serve, provider: ScriptedProvider
) -> None:
    async with serve() as client:
        assert (await client.get("/auth/session")).json()["model"] == "offline"
        first = await client.get("/settings")
        assert first.json()["model"] == {
            "provider": None,
            "name": None,
            "base_url": None,
            "key_stored": False,
            "source": None,
            "editable": True,
        }
        assert "offline" in (await say(client, "hello"))["reply"]
        changed = await client.patch("/settings", json={"model": entered(provider, "openai")})
        assert (changed.status_code, changed.json()["model"]["source"]) == (200, "page")
        provider.script(says("I am connected."))
        assert (await say(client, "hello"))["reply"] == "I am connected."
        assert (await client.get("/auth/session")).json()["model"] == "openai-model"
        assert (await client.patch("/settings", json={"model": None})).status_code == 200
        assert "offline" in (await say(client, "hello"))["reply"]


@pytest.mark.parametrize("kind", ["openai", "anthropic", "ollama", "compatible"])
async def test_each_provider_is_tested_and_answers_in_its_own_format(
    serve: Serve, provider: ScriptedProvider, kind: str
) -> None:
    async with serve() as client:
        tested = await client.post("/settings/model/test", json=entered(provider, kind))
        assert (tested.status_code, tested.json()["ok"]) == (200, True)
        assert (await client.get("/settings")).json()["model"]["name"] is None, "a test stores nothing"
        await client.patch("/settings", json={"model": entered(provider, kind)})
        provider.script(says("Hello."))
        assert (await say(client, "hi"))["reply"] == "Hello."
    paths = {asked.path.partition("?")[0] for asked in provider.asked}
    assert paths == {"/v1/messages" if kind == "anthropic" else "/v1/chat/completions"}
    assert {asked.body["model"] for asked in provider.asked} == {f"{kind}-model"}
    sent = [asked.headers.get("x-api-key") or asked.headers["authorization"] for asked in provider.asked]
    assert all((SECRET in each) == (kind != "ollama") for each in sent)


async def test_the_key_is_in_a_private_file_and_nowhere_else(
    serve: Serve, provider: ScriptedProvider, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    configure("json", level=logging.INFO)
    try:
        async with serve() as client:
            answers = [await client.patch("/settings", json={"model": entered(provider, "openai")})]
            refusal = {"error": {"message": f"Incorrect API key provided: {SECRET}", "type": "x"}}
            provider.script(Fails(401, refusal), Fails(401, refusal))
            await say(client, "hello")
            answers.append(await client.post("/settings/model/test", json=entered(provider, "openai")))
            logging.getLogger("segue").warning("a library said %s", SECRET)
            paths = ("/settings", "/auth/session", "/sessions/web:1/log", "/sessions/web:1/messages")
            answers += [await client.get(path) for path in paths]
    finally:
        root.handlers[:], root.level = handlers, level
    assert all(SECRET not in answer.text for answer in answers)
    assert answers[0].json()["model"]["key_stored"] is True
    assert "a library said" in (log := capfd.readouterr().err)
    assert SECRET not in log
    files = [path for path in (tmp_path / "data").rglob("*") if path.is_file()]
    holding = [path for path in files if SECRET.encode() in path.read_bytes()]
    assert [path.name for path in holding] == ["model.json"]
    assert stat.S_IMODE(os.stat(holding[0]).st_mode) == 0o600


async def test_only_an_admin_sees_changes_or_tests_settings(serve: Serve, provider: ScriptedProvider) -> None:
    async with serve(key=ADA) as client:
        body = entered(provider, "openai")
        answers = [
            await client.get("/settings"),
            await client.patch("/settings", json={"model": body}),
            await client.post("/settings/model/test", json=body),
        ]
        assert [(each.status_code, each.json()["code"]) for each in answers] == [(403, "forbidden")] * 3
        who = (await client.get("/auth/session")).json()
        assert who == {"account": "one", "user": "ada", "role": "user", "model": "offline"}
        client.headers |= bearer("a key that is not known")
        assert (await client.get("/settings")).status_code == 401
    assert not provider.asked


async def test_the_environment_wins_and_is_shown(serve: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-of-the-environment")
    async with serve(env={"SEGUE_MODEL": "openai-chat:gpt-4o"}) as client:
        model = (await client.get("/settings")).json()["model"]
        assert (model["name"], model["source"], model["editable"]) == ("gpt-4o", "SEGUE_MODEL", False)
        refused = await client.patch("/settings", json={"model": None})
        assert (refused.status_code, refused.json()["code"]) == (409, "set_elsewhere")
        assert "set by SEGUE_MODEL" in refused.json()["detail"]
    async with serve(env={"SEGUE_MODEL": "offline"}) as client:
        model = (await client.get("/settings")).json()["model"]
        assert (model["name"], model["source"], model["editable"]) == (None, "SEGUE_MODEL", False)


async def test_an_application_keeps_its_own_agent(serve: Serve, provider: ScriptedProvider) -> None:
    async with serve(managed=False) as client:
        assert (await client.get("/settings")).json()["model"]["source"] == "application"
        for method, path, body in (
            ("PATCH", "/settings", {"model": entered(provider, "openai")}),
            ("POST", "/settings/model/test", entered(provider, "openai")),
        ):
            assert (await client.request(method, path, json=body)).json()["code"] == "set_elsewhere"
    assert not provider.asked


async def test_a_stored_key_is_sent_to_no_other_address(serve: Serve, provider: ScriptedProvider) -> None:
    async with serve() as client:
        first = entered(provider, "compatible")
        await client.patch("/settings", json={"model": first})
        without_key = {name: value for name, value in first.items() if name != "key"}
        again = await client.post("/settings/model/test", json={**without_key, "name": "another"})
        assert again.status_code == 200
        assert SECRET in provider.asked[-1].headers["authorization"]
        elsewhere = {**without_key, "base_url": f"{provider.url}/v1/"}
        assert (await client.post("/settings/model/test", json=elsewhere)).status_code == 200
        other = {**without_key, "base_url": f"{provider.url}/proxy/v1"}
        await client.post("/settings/model/test", json=other)
        assert provider.asked[-1].path.startswith("/proxy/")
        assert SECRET not in str(provider.asked[-1].headers)
        assert (await client.patch("/settings", json={"model": other})).json()["model"]["key_stored"] is False


FAILURES: list[tuple[str, Any, str, str]] = [
    ("openai", Fails(401), "model_key_refused", "OpenAI refused the key"),
    ("anthropic", Fails(401), "model_key_refused", "Anthropic refused the key"),
    ("openai", Fails(404), "model_not_found", "There is no model openai-model at http://127.0.0.1"),
    ("ollama", Fails(404), "model_not_found", "ollama pull ollama-model"),
    ("openai", HangsUp(), "model_unreachable", "cannot be reached"),
    ("openai", Fails(503), "model_overloaded", "overloaded"),
    ("openai", Fails(429), "model_rate_limited", "takes no more requests"),
    (
        "ollama",
        Fails(400, {"error": {"message": "x does not support tools", "type": "x"}}),
        "model_request_refused",
        "x does not support tools",
    ),
]


async def test_each_failure_of_a_test_has_a_code_and_a_sentence(
    serve: Serve, provider: ScriptedProvider, subtests: pytest.Subtests
) -> None:
    async with serve() as client:
        for kind, line, code, words in FAILURES:
            with subtests.test(words):
                provider.script(line)
                failed = await client.post("/settings/model/test", json=entered(provider, kind))
                assert (failed.status_code, failed.json()["code"]) == (422, code)
                assert words in failed.json()["detail"]


async def test_a_model_that_does_not_answer_is_given_up(provider: ScriptedProvider) -> None:
    provider.script(says(Waits(asyncio.Event())))
    connection = ModelConnection(
        provider=ModelProvider.COMPATIBLE, name="slow", base_url=provider.base_url, key=None
    )
    with pytest.raises(AgentFailed) as failed:
        await check_connection(connection, seconds=0.5)
    assert failed.value.code == "model_timeout"
    assert "did not answer within 0.5 seconds" in (failed.value.shown or "")


@pytest.mark.parametrize(
    "address", ["http://10.0.0.1/v1", "http://169.254.169.254/v1", "http://[fd00::1]/v1", "http://0x7f.1/v1"]
)
async def test_private_addresses_are_refused(serve: Serve, address: str) -> None:
    body = {"provider": "compatible", "name": "m", "base_url": address}
    async with serve() as client:
        tested = await client.post("/settings/model/test", json=body)
        changed = await client.patch("/settings", json={"model": body})
        assert (await client.get("/settings")).json()["model"]["name"] is None
    for refused in (tested, changed):
        assert (refused.status_code, refused.json()["code"]) == (422, "model_address_refused")
        assert "SEGUE_MODEL" in refused.json()["detail"]


NO_CONNECTIONS = [
    ({"provider": "openai", "name": "m"}, "model_key_missing"),
    ({"provider": "compatible", "name": "m"}, "model_address_missing"),
    ({"provider": "openai", "name": "two words", "key": "x"}, "invalid"),
    ({"provider": "openai", "name": "m", "key": "with space"}, "invalid"),
    ({"provider": "other", "name": "m"}, "invalid"),
    ({"provider": "openai", "name": "m", "base_url": "ftp://example.org"}, "invalid"),
    ({"provider": "openai", "name": "m", "base_url": "http://u:p@example.org"}, "invalid"),
    ({"provider": "compatible", "name": "m", "base_url": "http://127.0.0.1:99999/v1"}, "invalid"),
]


async def test_what_cannot_be_a_connection_is_refused_with_a_code(
    serve: Serve, subtests: pytest.Subtests
) -> None:
    async with serve() as client:
        for body, code in NO_CONNECTIONS:
            with subtests.test(body=body):
                refused = await client.post("/settings/model/test", json=body)
                assert (refused.status_code, refused.json()["code"]) == (422, code)


async def test_a_turn_without_a_usable_key_fails_with_a_code_and_the_step_to_take(
    serve: Serve, provider: ScriptedProvider
) -> None:
    async with serve() as client:
        await client.patch("/settings", json={"model": {"provider": "anthropic", "name": "m"}})
        assert (await say(client, "hello"))["reply"] is None
        await client.patch("/settings", json={"model": entered(provider, "openai")})
        provider.script(Fails(401))
        assert (await say(client, "hello"))["reply"] is None
        log = (await client.get("/sessions/web:1/log")).json()
    ends = [event for event in log["events"] if event["type"] == "stream_end"]
    assert [end["code"] for end in ends] == ["model_key_missing", "model_key_refused"]
    assert [end["message"]["content"] for end in ends] == [
        "Anthropic needs a key. Enter it in the settings.",
        "The model's provider refused the key. Check it in the settings.",
    ]


async def test_a_running_turn_ends_with_the_model_that_it_began_with(
    serve: Serve, provider: ScriptedProvider
) -> None:
    gate = asyncio.Event()
    provider.script(says("Half", Waits(gate), " and whole."), says("Second."))
    async with serve() as client:
        await client.patch("/settings", json={"model": entered(provider, "openai")})
        turn = (await client.post("/sessions/web:1/turns", json={"content": "hi"})).json()["turn_id"]
        await provider.waiting.wait()
        changed = {**entered(provider, "openai"), "name": "newer"}
        await client.patch("/settings", json={"model": changed})
        gate.set()
        assert (await say(client, "again"))["reply"] == "Second."
        assert (await client.get(f"/turns/{turn}")).json()["reply"] == "Half and whole."
    assert [asked.body["model"] for asked in provider.asked] == ["openai-model", "newer"]


async def test_a_damaged_file_is_reported_in_the_turn_and_can_be_replaced(
    serve: Serve, provider: ScriptedProvider, tmp_path: Path
) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "model.json").write_text("{")
    async with serve() as client:
        await say(client, "hello")
        log = (await client.get("/sessions/web:1/log")).json()["events"]
        assert [each["code"] for each in log if each["type"] == "stream_end"] == ["bad_setting"]
        await client.patch("/settings", json={"model": entered(provider, "openai")})
        assert (await say(client, "hello"))["reply"] == "ok"


async def test_a_folder_that_cannot_be_written_is_a_sentence(serve: Serve, tmp_path: Path) -> None:
    (tmp_path / "data").write_text("in the way")
    async with serve() as client:
        refused = await client.patch("/settings", json={"model": {"provider": "ollama", "name": "m"}})
    assert (refused.status_code, refused.json()["code"]) == (500, "not_saved")
    assert "could not be stored" in refused.json()["detail"]
