"""Scheduled messages over HTTP: schedule, list, send without an open page, cancel."""

from typing import Any

import httpx2
import pytest

from segue import Ask, Every, Kernel
from segue.config import Configuration
from segue.server import create_app
from segue.server.schemas import events
from segue.testing import FaultyStore, ManualClock, RecordingChannel, ScriptedAgent, quiet
from tests.eventually import eventually
from tests.server.conftest import ADA, BEN, bearer, reach

KEY = "websocket:1"
PATH = f"/sessions/{KEY}/scheduled-messages"
LATER = {"send_at": "in 1 hour", "message_text": "Your flight leaves at noon."}


async def open_chat(http: httpx2.AsyncClient, key: str = KEY, **about: Any) -> None:
    assert (await http.post("/sessions", json={"key": key, **about})).status_code == 201


async def listed(http: httpx2.AsyncClient, **params: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = (await http.get(PATH, params=params)).json()["messages"]
    return found


async def wait_until_sent_or_failed(http: httpx2.AsyncClient) -> dict[str, Any]:
    async def not_pending() -> list[dict[str, Any]]:
        return [message for message in await listed(http) if message["status"] != "pending"]

    message: dict[str, Any]
    [message] = await eventually(not_pending, "it is sent or has failed")
    return message


async def test_a_message_is_scheduled_listed_and_cancelled(http: httpx2.AsyncClient) -> None:
    await open_chat(http)
    made = await http.post(PATH, json=LATER)
    assert made.status_code == 201
    created = made.json()
    assert created == {
        "task_id": created["task_id"],
        "session_id": KEY,
        "send_at": created["send_at"],
        "message_text": LATER["message_text"],
        "replace_existing": False,
        "cancelled": [],
    }
    [message] = await listed(http)
    assert {
        "task_id",
        "message_text",
        "send_at",
        "status",
        "sent_at",
        "sent_message_id",
        "last_error",
    } <= set(message)
    assert (message["task_id"], message["status"]) == (created["task_id"], "pending")
    cancelled = await http.delete(f"/scheduled-messages/{created['task_id']}")
    assert (cancelled.status_code, cancelled.json()["status"]) == (200, "cancelled")
    assert await listed(http, status="pending") == []
    again = await http.delete(f"/scheduled-messages/{created['task_id']}")
    assert (again.status_code, again.json()["code"]) == (409, "already_started")


async def test_every_change_sends_the_current_message(http: httpx2.AsyncClient, kernel: Kernel) -> None:
    """A page updates without a reload."""
    await open_chat(http)
    made = (await http.post(PATH, json=LATER)).json()["task_id"]
    session = await kernel.sessions.get(KEY)
    [written] = await kernel.log.events(KEY)
    event = await events.to_wire(kernel, session, written, overview=None)
    assert (event["type"], event["seq"]) == ("message_update", 1)
    assert event["scheduled_message"] == (await listed(http))[0]
    await http.delete(f"/scheduled-messages/{made}")
    *_, cancelled = await kernel.log.events(KEY)
    event = await events.to_wire(kernel, session, cancelled, overview=None)
    assert event["scheduled_message"]["status"] == "cancelled"
    await kernel.sessions.delete(KEY)
    assert (await events.to_wire(kernel, session, cancelled, overview=None))["scheduled_message"] is None


async def test_on_the_websocket_channel_a_message_is_sent_without_an_open_page(
    http: httpx2.AsyncClient, agent: ScriptedAgent
) -> None:
    await open_chat(http)
    await http.post(PATH, json={**LATER, "send_at": "in 1 second"})
    message = await wait_until_sent_or_failed(http)
    assert (message["status"], message["last_error"]) == ("sent", None)
    assert message["sent_at"] is not None
    [said] = (await http.get(f"/sessions/{KEY}/messages")).json()["messages"]
    assert (said["role"], said["content"]) == ("assistant", LATER["message_text"])
    assert said["source"]["kind"] == "scheduled_send"
    assert message["sent_message_id"] == said["id"], "B4.5"
    assert agent.asked == []


async def test_a_replacement_names_the_cancelled_messages(http: httpx2.AsyncClient) -> None:
    await open_chat(http)
    old = (await http.post(PATH, json=LATER)).json()["task_id"]
    new = (await http.post(PATH, json={**LATER, "replace_existing": True})).json()
    assert (new["replace_existing"], new["cancelled"]) == (True, [old])


@pytest.mark.parametrize(
    ("body", "status", "code"),
    [
        ({**LATER, "message_text": " "}, 422, "empty_text"),
        ({**LATER, "send_at": "never"}, 422, "invalid_time"),
        ({**LATER, "send_at": "2020-01-01T00:00:00Z"}, 422, "invalid_time"),
        ({**LATER, "session_id": "websocket:2"}, 422, "invalid"),
        ({**LATER, "replace_existing": "yes"}, 422, "invalid"),
    ],
)
async def test_an_error_has_its_code(
    http: httpx2.AsyncClient, body: dict[str, Any], status: int, code: str
) -> None:
    await open_chat(http)
    refused = await http.post(PATH, json=body)
    assert (refused.status_code, refused.json()["code"]) == (status, code)
    assert await listed(http) == []


async def test_a_group_is_refused(http: httpx2.AsyncClient) -> None:
    await open_chat(http, "websocket:team", chat_type="group")
    refused = await http.post("/sessions/websocket:team/scheduled-messages", json=LATER)
    assert (refused.status_code, refused.json()["code"]) == (409, "not_private_chat")


async def test_a_store_that_fails_is_a_storage_failure(kernel: Kernel) -> None:
    app = create_app(kernel, Configuration(database="sqlite://:memory:"), run_workers=False)
    async with reach(app) as http:
        await open_chat(http)
        whole = kernel.store.database
        kernel.store.database = FaultyStore(whole, fail_at=1)
        failed = await http.post(PATH, json=LATER)
        kernel.store.database = whole
        assert (failed.status_code, failed.json()["code"]) == (503, "storage_failure")
        assert await listed(http) == []


async def test_a_repeat_with_its_key_is_one_message(http: httpx2.AsyncClient) -> None:
    await open_chat(http)
    named = {"Idempotency-Key": "m-1"}
    first, again = [(await http.post(PATH, json=LATER, headers=named)).json() for _ in range(2)]
    assert first == again
    assert len(await listed(http)) == 1


async def test_the_list_is_paged(http: httpx2.AsyncClient) -> None:
    await open_chat(http)
    ids = [(await http.post(PATH, json=LATER)).json()["task_id"] for _ in range(5)]
    first = (await http.get(PATH, params={"limit": 3})).json()
    rest = (await http.get(PATH, params={"limit": 3, "cursor": first["next_cursor"]})).json()
    assert [one["task_id"] for one in (*first["messages"], *rest["messages"])] == ids[::-1]
    assert rest["next_cursor"] is None


async def test_messages_of_another_user_are_not_found(guarded: httpx2.AsyncClient) -> None:
    await guarded.post("/sessions", json={"key": KEY}, headers=bearer(ADA))
    made = (await guarded.post(PATH, json=LATER, headers=bearer(ADA))).json()
    assert (await guarded.get(PATH, headers=bearer(BEN))).status_code == 404
    assert (await guarded.post(PATH, json=LATER, headers=bearer(BEN))).status_code == 404
    path = f"/scheduled-messages/{made['task_id']}"
    assert (await guarded.delete(path, headers=bearer(BEN))).status_code == 404
    assert (await guarded.delete(path, headers=bearer(ADA))).status_code == 200


async def test_the_outcome_of_a_run_and_its_delivery_are_separate(database_url: str) -> None:
    """Outcome and delivery are both visible: the run is ok, its answer was not delivered."""
    clock, channel = ManualClock(), RecordingChannel("test")
    channel.fail(ConnectionResetError("gone"))
    async with Kernel(database_url, agent=ScriptedAgent(), channels=[channel], clock=clock) as kernel:
        job = await kernel.schedule("test:1", Every(3600), Ask("Look."))
        clock.advance(hours=1)
        await quiet(kernel)
        app = create_app(kernel, Configuration(database="sqlite://:memory:"), run_workers=False)
        async with reach(app) as http:
            [run] = (await http.get(f"/automations/{job.id}/runs")).json()["runs"]
            [delivery] = (await http.get("/sessions/test:1/deliveries")).json()["deliveries"]
        assert (run["outcome"], delivery["state"]) == ("ok", "failed")
        assert (delivery["turn_id"], delivery["error"]) == (run["turn_id"], "delivery unknown: gone")
