"""Clock times over HTTP: refused without a zone, right with one; and the zone that a page sends."""

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import httpx2
import pytest
from websockets.asyncio.client import connect

from tests.server.process import Served, served

CHAT = "/sessions/web:1"
NINE = "2030-01-02 09:00"
RECALL = {"call_type": "once", "additional_context_message": "Read build.log with read_file."}
CRON = {"kind": "cron", "expr": "0 9 * * *"}

ORDERS: list[tuple[str, str, dict[str, Any]]] = [
    ("automations", "schedule", {"message": "Look.", "schedule": NINE}),
    ("automations", "schedule", {"message": "Look.", "schedule": {"kind": "at", "at": NINE}}),
    ("automations", "schedule", {"message": "Look.", "schedule": CRON}),
    ("automations", "schedule", {"message": "Look.", "schedule": "every day at 9"}),
    ("recall", "when", {**RECALL, "when": NINE}),
    ("scheduled-messages", "send_at", {"message_text": "Up.", "send_at": NINE}),
]


def hour(made: dict[str, Any]) -> str:
    """The hour of its first time, in UTC."""
    found = made.get("next_runs", [made.get("trigger_at") or made.get("send_at")])[0]
    return f"{datetime.fromisoformat(found).astimezone(UTC):%H}"


@pytest.mark.parametrize(("where", "field", "body"), ORDERS)
async def test_a_clock_time_needs_a_zone(
    http: httpx2.AsyncClient, where: str, field: str, body: dict[str, Any]
) -> None:
    await http.post("/sessions", json={"key": "web:1"})
    no = await http.post(f"{CHAT}/{where}", json=body)
    assert (no.status_code, no.json()["code"]) == (422, "zone_needed")
    assert "Europe/Berlin" in no.json()["detail"]
    given = await http.post(f"{CHAT}/{where}", json={**body, "timezone": "Asia/Tokyo"})
    assert (given.status_code, hour(given.json())) == (201, "00"), given.text
    await http.delete(f"{CHAT}/recall")
    await http.patch(CHAT, json={"timezone": "Europe/Berlin"})
    of_the_session = await http.post(f"{CHAT}/{where}", json=body)
    assert of_the_session.status_code == 201
    assert hour(of_the_session.json()) in ("07", "08"), "nine in Berlin, whatever the season"


async def test_a_new_schedule_needs_a_zone_too(http: httpx2.AsyncClient) -> None:
    made = await http.post(f"{CHAT}/automations", json={"message": "Look.", "schedule": "every 2h"})
    there = f"/automations/{made.json()['id']}"
    no = await http.patch(there, json={"schedule": "every day at 9"})
    assert (no.status_code, no.json()["code"]) == (422, "zone_needed")
    changed = await http.patch(there, json={"schedule": "every day at 9", "timezone": "Asia/Tokyo"})
    assert changed.json()["schedule"] == {"kind": "cron", "expr": "0 9 * * *", "tz": "Asia/Tokyo"}


async def test_a_relative_time_needs_no_zone(http: httpx2.AsyncClient) -> None:
    await http.post("/sessions", json={"key": "web:1"})
    for where, body in (
        ("automations", {"message": "Look.", "schedule": "every 30 minutes"}),
        ("recall", {**RECALL, "when": "in 2h"}),
        ("scheduled-messages", {"message_text": "Up.", "send_at": "in 2h"}),
    ):
        assert (await http.post(f"{CHAT}/{where}", json=body)).status_code == 201


async def test_an_invalid_zone_is_refused(http: httpx2.AsyncClient) -> None:
    body = {"message": "Look.", "schedule": "every day at 9", "timezone": "Mars/Olympus"}
    no = await http.post(f"{CHAT}/automations", json=body)
    assert no.status_code == 422
    assert "Mars/Olympus" in no.json()["detail"]


async def test_a_time_in_a_sentence_needs_a_zone(http: httpx2.AsyncClient) -> None:
    no = await http.get("/when", params={"text": "call Ana tomorrow at 9"})
    assert (no.status_code, no.json()["code"]) == (422, "zone_needed")
    for text, timezone, phrase in (
        ("call Ana tomorrow at 9", "Asia/Tokyo", "tomorrow at 9"),
        ("call Ana tomorrow at 9 Asia/Tokyo", None, "tomorrow at 9 Asia/Tokyo"),
        ("call Ana in 2 hours", None, "in 2 hours"),
    ):
        asked = {"text": text} | ({"timezone": timezone} if timezone else {})
        assert (await http.get("/when", params=asked)).json()["when"]["phrase"] == phrase


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    folder: Path = tmp_path_factory.mktemp("zones")
    with served(f"sqlite:///{folder}/segue.db") as server:
        yield server


async def zone_after(server: Served, key: str, timezone: str) -> Any:
    async with connect(server.ws) as socket:
        said = {"type": "message", "session": key, "content": "1 1 hello", "timezone": timezone}
        await socket.send(json.dumps(said))
        assert json.loads(await socket.recv())["type"] == "accepted"
    async with httpx2.AsyncClient(base_url=server.http) as http:
        return (await http.get(f"/sessions/{key}")).json()["timezone"]


async def test_the_zone_of_a_page_is_used_if_the_session_has_none(server: Served) -> None:
    async with httpx2.AsyncClient(base_url=server.http) as http:
        await http.post("/sessions", json={"key": "web:bare"})
        await http.post("/sessions", json={"key": "web:set", "timezone": "Asia/Tokyo"})
    assert await zone_after(server, "web:new", "Europe/Berlin") == "Europe/Berlin"
    assert await zone_after(server, "web:bare", "Europe/Berlin") == "Europe/Berlin"
    assert await zone_after(server, "web:set", "Europe/Berlin") == "Asia/Tokyo"
    assert await zone_after(server, "web:odd", "Mars/Olympus") is None, "the message is taken all the same"
