"""`mount` and `create_app`: the application's lifespan opens the kernel and runs its workers."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import httpx2
import pytest
from fastapi import FastAPI
from starlette.applications import Starlette
from starlette.responses import PlainTextResponse
from starlette.routing import Mount, Route
from starlette.testclient import TestClient, WebSocketDenialResponse

from segue import Kernel
from segue.errors import AlreadyOpen, BadMount
from segue.server import create_app, mount
from segue.testing import ScriptedAgent
from tests.server.conftest import reach

TURN = "/segue/sessions/web:1/turns?wait=20"
HELLO = {"content": "Hello"}


async def connect_to_a_service_that_is_down() -> None:
    raise OSError("no such service")


def unopened(url: str = "sqlite://:memory:") -> Kernel:
    return Kernel(url, agent=ScriptedAgent())


async def test_the_lifespan_opens_the_kernel_and_runs_its_workers(database_url: str) -> None:
    app, kernel = FastAPI(), unopened(database_url)
    mount(app, kernel)
    async with app.router.lifespan_context(app), reach(app) as http:
        assert (await http.post(TURN, json=HELLO)).json()["reply"] == "ok"
        assert (await http.get("/segue/health")).json()["scheduler"]["alive"]
    assert not kernel.is_open


async def test_create_app_opens_the_kernel_in_its_lifespan(database_url: str) -> None:
    app = create_app(unopened(database_url))
    async with app.router.lifespan_context(app), reach(app) as http:
        answer = await http.post("/sessions/web:1/turns?wait=20", json=HELLO)
        assert answer.json()["reply"] == "ok"


async def test_the_own_lifespan_of_the_application_runs_inside_and_may_use_the_kernel() -> None:
    kernel = unopened()
    steps: list[str] = []

    @asynccontextmanager
    async def own(app: FastAPI) -> AsyncIterator[dict[str, str]]:
        await kernel.sessions.open("web:1", title="Made at start-up")
        steps.append("opened")
        yield {"greeting": "hello"}
        steps.append(f"closed while the kernel is open: {kernel.is_open}")

    app = FastAPI(lifespan=own)
    mount(app, kernel)
    async with app.router.lifespan_context(app) as given, reach(app) as http:
        assert given == {"greeting": "hello"}
        assert (await http.get("/segue/sessions/web:1")).json()["title"] == "Made at start-up"
    assert steps == ["opened", "closed while the kernel is open: True"]


async def test_an_application_can_be_started_again() -> None:
    app = FastAPI()
    mount(app, unopened())
    for _ in range(2):
        async with app.router.lifespan_context(app), reach(app) as http:
            assert (await http.post(TURN, json=HELLO)).json()["reply"] == "ok"


def test_an_application_can_be_started_by_the_test_client_of_starlette() -> None:
    app = FastAPI()
    mount(app, unopened())
    with TestClient(app, base_url="http://localhost", client=("127.0.0.1", 1)) as client:
        assert client.post(TURN, json=HELLO).json()["reply"] == "ok"
        with client.websocket_connect("ws://localhost/segue/ws") as socket:
            socket.send_text(json.dumps({"type": "subscribe", "session": "web:1", "after": 0}))
            assert socket.receive_json()["type"] == "stream_start"


async def test_an_open_kernel_is_used_as_it_is() -> None:
    """The code that opened it runs its workers, or leaves the work to other processes."""
    async with unopened() as kernel:
        app = FastAPI()
        mount(app, kernel)
        async with app.router.lifespan_context(app), reach(app) as http:
            assert (await http.post("/segue/sessions/web:1/turns", json=HELLO)).json()["state"] == "queued"
            assert (await kernel.drain()).turns == 1
        assert kernel.is_open


async def test_a_kernel_that_the_own_lifespan_opens_too_is_refused() -> None:
    kernel = unopened()

    @asynccontextmanager
    async def own(app: FastAPI) -> AsyncIterator[None]:
        async with kernel:
            yield

    app = FastAPI(lifespan=own)
    mount(app, kernel)
    with pytest.raises(AlreadyOpen, match="by mounting it"):
        async with app.router.lifespan_context(app):
            pass


def test_a_mount_in_the_lifespan_is_too_late() -> None:
    @asynccontextmanager
    async def own(app: FastAPI) -> AsyncIterator[None]:
        mount(app, unopened())
        yield

    with (
        pytest.raises(BadMount, match=r"the application has started.*at module level"),
        TestClient(FastAPI(lifespan=own)),
    ):
        pass


async def test_a_mount_whose_lifespan_never_ran_answers_with_a_sentence() -> None:
    """For example in an application that is itself mounted: its lifespan is not run."""
    app, outer = FastAPI(), FastAPI()
    mount(app, unopened())
    outer.mount("/inner", app)
    async with reach(outer) as http:
        refused = await http.get("/inner/segue/sessions")
    assert (refused.status_code, refused.json()["code"]) == (503, "not_started")
    assert "lifespan has not run" in refused.json()["detail"]
    with (
        TestClient(outer, base_url="http://localhost", client=("127.0.0.1", 1)) as client,
        pytest.raises(WebSocketDenialResponse) as denied,
        client.websocket_connect("ws://localhost/inner/segue/ws"),
    ):
        pass
    assert denied.value.status_code == 503


async def test_a_second_mount_of_a_kernel_or_a_prefix_is_refused() -> None:
    app, kernel = FastAPI(), unopened()
    mount(app, kernel)
    with pytest.raises(BadMount, match="this kernel is mounted here already"):
        mount(app, kernel, "/other")
    with pytest.raises(BadMount, match="another kernel is mounted at /segue"):
        mount(app, unopened())


async def test_two_kernels_live_below_two_prefixes() -> None:
    app = FastAPI()
    mount(app, unopened(), "/sales")
    mount(app, unopened(), "/support")
    async with app.router.lifespan_context(app), reach(app) as http:
        for prefix, listed in (("/sales", 1), ("/support", 0)):
            if listed:
                await http.post(f"{prefix}/sessions/web:1/turns?wait=20", json=HELLO)
            assert len((await http.get(f"{prefix}/sessions")).json()["sessions"]) == listed


@pytest.mark.parametrize("prefix", ["", "/", "segue", "/segue/", "/{name}"])
def test_a_prefix_that_is_no_path_is_refused(prefix: str) -> None:
    with pytest.raises(BadMount, match="is not a path such as /segue"):
        mount(FastAPI(), unopened(), prefix)


async def test_a_route_for_all_paths_does_not_hide_the_mount() -> None:
    """As in a Starlette application that hands everything else to Django."""

    async def everything(request: object) -> PlainTextResponse:
        return PlainTextResponse("the rest")

    app = Starlette(routes=[Mount("/", routes=[Route("/{path:path}", everything)])])
    mount(app, unopened())
    async with app.router.lifespan_context(app), reach(app) as http:
        assert (await http.get("/segue/sessions")).json() == {"sessions": [], "next_cursor": None}
        assert (await http.get("/anything")).text == "the rest"


async def test_the_api_is_described_below_the_prefix() -> None:
    app = FastAPI()
    mount(app, unopened(), "/agents/segue")
    async with app.router.lifespan_context(app), reach(app) as http:
        described = (await http.get("/agents/segue/openapi.json")).json()
        assert described["servers"] == [{"url": "/agents/segue"}]
        assert "/sessions/{key}/turns" in described["paths"]
        assert (await http.get("/openapi.json")).json()["paths"] == {}
        page = (await http.get("/agents/segue/")).text
    assert 'src="/' not in page
    assert 'href="/' not in page


async def test_an_error_in_the_own_lifespan_closes_the_kernel() -> None:
    kernel = unopened()

    @asynccontextmanager
    async def own(app: FastAPI) -> AsyncIterator[None]:
        await connect_to_a_service_that_is_down()
        yield

    app = FastAPI(lifespan=own)
    mount(app, kernel)
    with pytest.raises(OSError, match="no such service"):
        async with app.router.lifespan_context(app):
            pass
    assert not kernel.is_open


async def test_the_metrics_of_a_mounted_app_count_running_turns() -> None:
    app = FastAPI()
    mount(app, unopened())
    async with app.router.lifespan_context(app), reach(app) as http:
        metrics: httpx2.Response = await http.get("/segue/metrics")
    assert "segue_turns_running 0.0" in metrics.text
