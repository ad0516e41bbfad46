"""Recalls over HTTP, and live events of a headless run: the same as for a user's turn."""

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest
from websockets.asyncio.client import ClientConnection, connect

from segue import Kernel
from segue.testing import ScriptedAgent
from tests.server.conftest import ADA, BEN, bearer
from tests.server.listener import Listener
from tests.server.process import Served, served
from tests.server.script import text_of

RECALL = "/sessions/web:1/recall"
ONCE = {"call_type": "once", "when": "30m", "additional_context_message": "Read build.log with read_file."}
POLL = {**ONCE, "call_type": "recurring", "interval_seconds": 300, "internal_comment": "the build"}


async def talk(
    http: httpx2.AsyncClient, key: str = "web:1", *, headers: dict[str, str] | None = None
) -> None:
    body = {"role": "user", "content": "Hello."}
    await http.post(f"/sessions/{key}/messages", json=body, headers=headers)


async def test_a_recall_is_set_read_and_cancelled(http: httpx2.AsyncClient) -> None:
    """C8.1, C8.2."""
    await talk(http)
    assert (await http.get(RECALL)).json() == {"recall": None}
    made = await http.post(RECALL, json=POLL)
    assert made.status_code == 201
    recall = made.json()
    assert set(recall) == {
        *("id", "session_id", "call_type", "trigger_at", "interval_seconds", "internal_comment"),
        *("additional_context_message", "status", "created_at", "updated_at"),
    }
    assert (recall["session_id"], recall["status"], recall["interval_seconds"]) == ("web:1", "pending", 300)
    assert (await http.get(RECALL)).json() == {"recall": recall}
    assert (await http.delete(RECALL)).json() == {"cancelled": True}
    assert (await http.get(RECALL)).json() == {"recall": None}
    [listed] = (await http.get("/sessions/web:1/recalls")).json()["recalls"]
    assert (listed["id"], listed["status"]) == (recall["id"], "cancelled")


async def test_a_second_recall_is_a_conflict(http: httpx2.AsyncClient) -> None:
    await talk(http)
    first = (await http.post(RECALL, json=ONCE)).json()
    second = await http.post(RECALL, json=ONCE)
    assert (second.status_code, second.json()["code"]) == (409, "recall_pending")
    assert first["id"] in second.json()["detail"]


async def test_a_repeat_with_its_key_returns_the_first(http: httpx2.AsyncClient) -> None:
    await talk(http)
    named = {"Idempotency-Key": "r-1"}
    first = await http.post(RECALL, json=ONCE, headers=named)
    again = await http.post(RECALL, json=ONCE, headers=named)
    assert (again.status_code, again.json()) == (201, first.json())


async def test_skip_moves_a_recurring_recall_by_its_interval(http: httpx2.AsyncClient) -> None:
    """C8.3."""
    await talk(http)
    before = (await http.post(RECALL, json=POLL)).json()
    skipped = await http.post(f"{RECALL}/skip")
    assert skipped.status_code == 200
    assert skipped.json()["recall"]["id"] == before["id"]
    assert skipped.json()["recall"]["trigger_at"] > before["trigger_at"]


async def test_an_impossible_operation_has_an_error_code(http: httpx2.AsyncClient) -> None:
    """C8.4."""
    for method, path in (("GET", ""), ("DELETE", ""), ("POST", "/skip"), ("GET", "s")):
        missing = await http.request(method, f"/sessions/web:9/recall{path}")
        assert (missing.status_code, missing.json()["code"]) == (404, "not_found")
    assert (await http.post("/sessions/web:9/recall", json=ONCE)).status_code == 404
    await talk(http)
    assert (await http.delete(RECALL)).status_code == 404
    assert (await http.post(f"{RECALL}/skip")).status_code == 404
    await http.post(RECALL, json=ONCE)
    skip = await http.post(f"{RECALL}/skip")
    assert (skip.status_code, skip.json()["code"]) == (409, "not_recurring")


WRONG: list[tuple[dict[str, Any], str]] = [
    ({"call_type": "daily"}, "invalid"),
    ({"when": None}, "bad_recall"),
    ({"when": "soonish"}, "invalid_time"),
    ({"timezone_offset": "CET"}, "invalid_time"),
    ({"call_type": "recurring"}, "bad_recall"),
    ({"additional_context_message": " "}, "invalid"),
    ({"colour": "red"}, "invalid"),
]


async def test_bad_input_is_422_with_a_sentence(http: httpx2.AsyncClient, subtests: pytest.Subtests) -> None:
    await talk(http)
    for wrong, code in WRONG:
        with subtests.test(wrong=wrong):
            answer = await http.post(RECALL, json={**ONCE, **wrong})
            assert (answer.status_code, answer.json()["code"]) == (422, code)
            assert (await http.get("/sessions/web:1/recalls")).json()["recalls"] == []


async def test_sessions_show_their_recall_and_can_be_filtered_by_it(http: httpx2.AsyncClient) -> None:
    await talk(http)
    await talk(http, "web:2")
    recall = (await http.post(RECALL, json=ONCE)).json()
    assert (await http.get("/sessions/web:1")).json()["recall"] == recall
    assert (await http.get("/sessions/web:2")).json()["recall"] is None
    picked = (await http.get("/sessions?pending_recall=true")).json()["sessions"]
    assert [(one["key"], one["recall"]["id"]) for one in picked] == [("web:1", recall["id"])]


async def test_the_list_is_paged(http: httpx2.AsyncClient) -> None:
    await talk(http)
    made = []
    for _ in range(3):
        made.append((await http.post(RECALL, json=ONCE)).json()["id"])
        await http.delete(RECALL)
    first = (await http.get("/sessions/web:1/recalls?limit=2")).json()
    rest = (await http.get("/sessions/web:1/recalls", params={"cursor": first["next_cursor"]})).json()
    assert [one["id"] for one in (*first["recalls"], *rest["recalls"])] == made[::-1]
    assert rest["next_cursor"] is None


async def test_recalls_of_another_user_are_not_found(guarded: httpx2.AsyncClient) -> None:
    ada, ben = bearer(ADA), bearer(BEN)
    await talk(guarded, headers=ada)
    await guarded.post(RECALL, json=ONCE, headers=ada)
    assert (await guarded.get(RECALL, headers=ben)).status_code == 404
    assert (await guarded.delete(RECALL, headers=ben)).status_code == 404
    await talk(guarded, headers=ben)
    assert (await guarded.get(RECALL, headers=ben)).json() == {"recall": None}


async def test_a_fired_recall_is_marked_in_the_transcript_and_has_a_run(
    http: httpx2.AsyncClient, kernel: Kernel, agent: ScriptedAgent
) -> None:
    """C5.8, C9.2."""
    await talk(http)
    at_once = {**ONCE, "call_type": "immediate", "internal_comment": "the build"}
    agent.script("No errors.")
    await http.post(RECALL, json=at_once)
    async with asyncio.timeout(20):
        async for events in kernel.follow("web:1", after=0):
            if getattr(events, "type", "") == "session_sync":
                break
    _, trigger, answer = (await http.get("/sessions/web:1/messages")).json()["messages"]
    assert (trigger["role"], trigger["content"]) == ("user", "Recall: the build")
    assert trigger["metadata"]["is_recall"] is True
    assert (answer["content"], answer["source"]["kind"]) == ("No errors.", "recall")
    [run] = (await http.get("/sessions/web:1/runs")).json()["runs"]
    assert run["outcome"] == "ok"
    assert run["rendered_prompt"].endswith(ONCE["additional_context_message"])
    assert run["prompt_ref"]["id"] == "recall.agent_turn"
    [recall] = (await http.get("/sessions/web:1/recalls")).json()["recalls"]
    assert recall["status"] == "fired"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    folder: Path = tmp_path_factory.mktemp("recalls")
    with served(f"sqlite:///{folder}/segue.db") as server:
        yield server


async def set_immediate_recall(server: Served, key: str, asked: str) -> None:
    async with httpx2.AsyncClient(base_url=server.http) as http:
        await talk(http, key)
        body = {"call_type": "immediate", "additional_context_message": asked}
        assert (await http.post(f"/sessions/{key}/recall", json=body)).status_code == 201


async def receive_until(socket: ClientConnection, kind: str) -> list[dict[str, Any]]:
    events: list[dict[str, Any]] = []
    async with asyncio.timeout(30):
        while not events or events[-1]["type"] != kind:
            events.append(json.loads(await socket.recv()))
    return events


async def subscribe(socket: ClientConnection, key: str, after: int | None = None) -> None:
    await socket.send(json.dumps({"type": "subscribe", "session": key, "after": after}))


async def test_a_headless_run_is_streamed_as_a_turn_of_the_chat(server: Served) -> None:
    """C5.5, C5.6, C5.7, C7.1."""
    await set_immediate_recall(server, "web:live", "6 1 live")
    async with connect(server.ws) as socket:
        await subscribe(socket, "web:live", after=0)
        events = await receive_until(socket, "session_sync")
    listener = Listener("web:live")
    for event in events:
        listener.receive(event)
    in_run = [kind for kind in listener.types if kind not in ("message", "recall_update")]
    assert in_run == ["stream_start", "tool_started", "tool_call", "stream_end", "session_sync"]
    assert listener.text == text_of("6 1 live")
    start = next(event for event in events if event["type"] == "stream_start")
    assert (start["source"]["kind"], start["message"]["metadata"]["is_recall"]) == ("recall", True)
    assert events[-1]["object"]["recall"] is None


async def test_a_client_that_connects_during_a_headless_run_gets_all_of_it(server: Served) -> None:
    """C5.5: the earlier events first, then the text so far as one piece, then live events."""
    async with connect(server.ws) as first, connect(server.ws) as second:
        await set_immediate_recall(server, "web:middle", "60 5 middle")
        await subscribe(first, "web:middle", after=0)
        await receive_until(first, "tool_call")
        await subscribe(second, "web:middle")
        events = await receive_until(second, "session_sync")
    replayed = [event["type"] for event in events if event.get("replay")]
    assert replayed == ["stream_start", "recall_update", "tool_started", "tool_call", "stream_delta"]
    pieces = [event for event in events if event["type"] == "stream_delta"]
    text = ""
    for piece in pieces:
        text = text[: piece["offset"]] + piece["text"]
    assert text == text_of("60 5 middle")


async def test_a_headless_run_is_stopped_like_any_other(server: Served) -> None:
    """C6.1, C6.2, C5.12."""
    await set_immediate_recall(server, "web:stop", "500 20 stop")
    async with connect(server.ws) as socket, httpx2.AsyncClient(base_url=server.http) as http:
        await subscribe(socket, "web:stop", after=0)
        await receive_until(socket, "stream_delta")
        assert (await http.post("/sessions/web:stop/stop")).json()["stopped"] is True
        events = await receive_until(socket, "session_sync")
        [recall] = (await http.get("/sessions/web:stop/recalls")).json()["recalls"]
    end = next(event for event in events if event["type"] == "stream_end")
    assert (end["outcome"], recall["status"]) == ("stopped", "fired")


async def test_a_message_sent_during_a_run_is_answered_next(server: Served) -> None:
    """C5.4."""
    await set_immediate_recall(server, "web:both", "60 5 first")
    async with connect(server.ws) as socket:
        await subscribe(socket, "web:both", after=0)
        await receive_until(socket, "stream_delta")
        said = {"type": "message", "session": "web:both", "content": "3 1 second", "id": "1"}
        await socket.send(json.dumps(said))
        events = [*await receive_until(socket, "session_sync"), *await receive_until(socket, "session_sync")]
    replies = [event["reply"] for event in events if event["type"] == "stream_end"]
    assert replies == [text_of("60 5 first"), text_of("3 1 second")]


async def test_every_change_sends_the_pending_recall(server: Served) -> None:
    """C7.2, C7.3, C9.4: a banner updates without a reload."""
    async with connect(server.ws) as socket, httpx2.AsyncClient(base_url=server.http) as http:
        await talk(http, "web:banner")
        # From the start: a subscription without `after` may begin after the request below.
        await subscribe(socket, "web:banner", after=0)
        made = (await http.post("/sessions/web:banner/recall", json=POLL)).json()
        assert (await receive_until(socket, "recall_update"))[-1]["recall"] == made
        skipped = (await http.post("/sessions/web:banner/recall/skip")).json()["recall"]
        assert (await receive_until(socket, "recall_update"))[-1]["recall"] == skipped
        await http.delete("/sessions/web:banner/recall")
        last = (await receive_until(socket, "recall_update"))[-1]
    assert (last["recall"], last["session"]) == (None, "web:banner")


async def test_clients_are_notified_when_a_recall_starts(server: Served) -> None:
    """C7.2: pending, running, and gone when it has fired."""
    async with connect(server.ws) as socket, httpx2.AsyncClient(base_url=server.http) as http:
        await talk(http, "web:runs")
        await subscribe(socket, "web:runs", after=0)
        body = {"call_type": "immediate", "additional_context_message": "6 1 runs"}
        assert (await http.post("/sessions/web:runs/recall", json=body)).status_code == 201
        events = await receive_until(socket, "session_sync")
    start = next(place for place, event in enumerate(events) if event["type"] == "stream_start")
    assert events[start + 1]["type"] == "recall_update"
    assert events[start + 1]["recall"]["status"] == "running"
    recalls = [event["recall"] for event in events if event["type"] == "recall_update"]
    assert recalls[-1] is None
