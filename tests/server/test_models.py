"""Models over HTTP: their names, their prices, and which one an automation has."""

from collections.abc import AsyncIterator

import httpx2
import pytest
import pytest_asyncio

from segue import Kernel, Settings
from segue.testing import ScriptedAgent
from tests.server.conftest import reach, running

NAMES = {"fast": "openai-chat:gpt-4o-mini", "own": "ollama:smollm2"}


@pytest_asyncio.fixture(loop_scope="session")
async def http() -> AsyncIterator[httpx2.AsyncClient]:
    settings = Settings(models=NAMES, model="openai-chat:gpt-4o-mini")
    async with (
        Kernel("sqlite://:memory:", agent=ScriptedAgent(), settings=settings) as kernel,
        running(kernel) as app,
        reach(app) as client,
    ):
        yield client


async def add(http: httpx2.AsyncClient, **fields: object) -> httpx2.Response:
    body = {"message": "Look.", "schedule": "every 2h", **fields}
    return await http.post("/sessions/web:1/automations", json=body)


async def test_the_models_are_listed_with_known_prices(http: httpx2.AsyncClient) -> None:
    listed = (await http.get("/models")).json()
    fast, own = listed["models"]
    assert (fast["name"], fast["model"], fast["default"]) == ("fast", "openai-chat:gpt-4o-mini", True)
    assert fast["usd_per_million_tokens"]["input"] == 0.15
    assert (own["default"], own["usd_per_million_tokens"]) == (False, None)
    assert listed["prices_date"] == "2026-11-17"


async def test_an_automation_has_its_model_and_a_change_of_it(http: httpx2.AsyncClient) -> None:
    made = (await add(http, mode="check", model="own", look="fast")).json()
    assert (made["model"], made["look"]) == ("own", "fast")
    path = f"/automations/{made['id']}"
    changed = (await http.patch(path, json={"model": "fast", "look": None})).json()
    assert (changed["model"], changed["look"]) == ("fast", None)
    same = (await http.patch(path, json={"name": "disk"})).json()
    assert (same["name"], same["model"]) == ("disk", "fast")


async def test_an_automation_without_a_model_gets_the_name_of_the_default(http: httpx2.AsyncClient) -> None:
    assert (await add(http)).json()["model"] == "fast"


@pytest.mark.parametrize(
    ("fields", "code", "words"),
    [
        ({"model": "bset"}, "unknown_model", "there is no model 'bset'; there are: fast, own"),
        ({"mode": "check", "look": "bset"}, "unknown_model", "there are: fast, own"),
        ({"look": "fast"}, "invalid", "look is for a check"),
    ],
)
async def test_a_wrong_model_is_refused(
    http: httpx2.AsyncClient, fields: dict[str, str], code: str, words: str
) -> None:
    refused = await add(http, **fields)
    problem = refused.json()
    assert (refused.status_code, problem["code"]) == (422, code)
    assert words in problem["detail"]


async def test_a_check_with_a_look_cannot_become_a_turn(http: httpx2.AsyncClient) -> None:
    made = (await add(http, mode="check", look="fast")).json()
    path = f"/automations/{made['id']}"
    assert (await http.patch(path, json={"mode": "turn"})).status_code == 422
    assert (await http.patch(path, json={"mode": "turn", "look": None})).status_code == 200
