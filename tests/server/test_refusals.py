"""Refused requests: each problem names the field that has the wrong value."""

from typing import Any

import httpx2
import pytest

KEY = "/sessions/web:1"
JOB = {"message": "What is new?", "schedule": "every 2h"}
CRON = {"kind": "cron", "expr": "0 9 * * *", "tz": "UTC"}

REFUSED: list[tuple[str, Any, str, str]] = [
    (f"{KEY}/turns", {}, "invalid", "content"),
    (f"{KEY}/turns", {"content": " "}, "invalid", "content"),
    (f"{KEY}/messages", {"role": "user", "content": ""}, "invalid", "content"),
    (
        f"{KEY}/messages/batch",
        {"messages": [{"role": "user", "content": ""}]},
        "invalid",
        "messages.0.content",
    ),
    (f"{KEY}/automations", {**JOB, "schedule": {"kind": "every"}}, "invalid", "schedule.every_seconds"),
    (
        f"{KEY}/automations",
        {**JOB, "schedule": {"kind": "at", "at": "1h", "days": "CN"}},
        "invalid",
        "schedule.days",
    ),
    (f"{KEY}/automations", {**JOB, "schedule": {"kind": "never"}}, "invalid", "schedule"),
    (f"{KEY}/automations", {**JOB, "schedule": ""}, "invalid", "schedule"),
    (f"{KEY}/automations", {**JOB, "schedule": "when it rains"}, "invalid_time", "schedule"),
    (f"{KEY}/automations", {**JOB, "schedule": "every day at 9"}, "zone_needed", "schedule"),
    (f"{KEY}/automations", {**JOB, "schedule": {**CRON, "expr": "daily"}}, "bad_trigger", "schedule"),
    (f"{KEY}/automations", {**JOB, "schedule": {**CRON, "days": "XX"}}, "unknown_days", "schedule"),
    (f"{KEY}/automations", {**JOB, "policy": {"retries": -1}}, "bad_policy", "policy"),
    (
        f"{KEY}/automations",
        {**JOB, "policy": {"budget": {"usd": 1, "per": "day"}}},
        "price_unknown",
        "policy.budget",
    ),
    (
        f"{KEY}/recall",
        {"call_type": "recurring", "when": "1h", "interval_seconds": "60"},
        "invalid",
        "interval_seconds",
    ),
    (f"{KEY}/scheduled-messages", {"send_at": "soon", "message_text": "Hello."}, "invalid_time", "send_at"),
    (f"{KEY}/scheduled-messages", {"send_at": "1h", "message_text": " "}, "empty_text", "message_text"),
    (f"{KEY}/read", {"seq": False}, "invalid", "seq"),
    ("/sessions", {"timezone": "Mars/Base"}, "bad_setting", "timezone"),
]


async def test_a_refusal_names_the_field(http: httpx2.AsyncClient, subtests: pytest.Subtests) -> None:
    await http.post("/sessions", json={"key": "web:1"})
    for path, body, code, field in REFUSED:
        with subtests.test(path, body=body):
            problem = (await http.post(path, json=body)).json()
            assert (problem["status"], problem["code"], problem.get("field")) == (422, code, field)
            assert "value error" not in problem["detail"]


async def test_a_refused_change_names_the_field(http: httpx2.AsyncClient) -> None:
    job = (await http.post(f"{KEY}/automations", json=JOB)).json()
    refused = await http.patch(f"/automations/{job['id']}", json={"schedule": "every 2 seconds"})
    assert (refused.json()["code"], refused.json()["field"]) == ("bad_trigger", "schedule")
    refused = await http.patch(KEY, json={"days": "XX"})
    assert (refused.json()["code"], refused.json()["field"]) == ("unknown_days", "days")


async def test_a_refusal_may_quote_what_no_response_can_have(http: httpx2.AsyncClient) -> None:
    body = b'{"model": "\\ud800", "input": "Hello."}'
    refused = await http.post("/v1/responses", content=body, headers={"Content-Type": "application/json"})
    assert refused.status_code == 404
    assert "�" in refused.text


async def test_a_chat_id_may_have_a_colon(http: httpx2.AsyncClient) -> None:
    """As those of Matrix rooms do; the key of the same session takes it, too."""
    made = await http.post("/sessions", json={"channel": "web", "chat_id": "!room:example.org"})
    assert (made.status_code, made.json()["key"]) == (201, "web:!room:example.org")
    assert made.json()["chat_id"] == "!room:example.org"
    refused = await http.post("/sessions", json={"channel": "web:a", "chat_id": "1"})
    assert (refused.status_code, refused.json()["field"]) == (422, "channel")


async def test_a_refused_method_is_told_all_methods_of_the_path(http: httpx2.AsyncClient) -> None:
    """Also of a path whose last part may have slashes."""
    for path, methods in (
        ("/sessions/web:1", "DELETE, GET, PATCH"),
        ("/guests/telegram/a/b", "DELETE, PATCH"),
    ):
        refused = await http.request("OPTIONS", path)
        assert refused.status_code == 405
        assert ", ".join(sorted(refused.headers["allow"].split(", "))) == methods
