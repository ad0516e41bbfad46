"""Sessions, turns and messages over HTTP, on both databases."""

from datetime import UTC, datetime
from typing import Any

import httpx2

from segue import Ask, Every, Kernel, Usage, Waiting
from segue.testing import ScriptedAgent
from tests.eventually import eventually

FIELDS = [
    "unread",
    "id",
    "last_seq",
    "key",
    "channel",
    "chat_id",
    "chat_type",
    "title",
    "timezone",
    "account",
    "user",
    "created_at",
    "last_message_at",
    "message_count",
    "pending_tokens",
    "last_line",
    "last_line_at",
    "last_activity_at",
    "days",
    "waiting_until",
    "quiet",
    "quiet_until",
    "digest",
    "held",
    "budget",
    "upcoming",
    "keep_recent_count",
    "auto_commit_policy",
    "auto_commit_last_error",
    "auto_commit_last_error_at",
    "state",
    "queued",
    "recall",
    "automation_count",
    "when_busy",
    "metadata",
]


async def test_a_session_is_opened_once_and_then_found(http: httpx2.AsyncClient) -> None:
    body = {"key": "web:1", "title": "Travel", "timezone": "Europe/Berlin", "metadata": {"a": [1]}}
    made = await http.post("/sessions", json=body)
    assert made.status_code == 201
    assert sorted(made.json()) == sorted(FIELDS)
    assert {name: made.json()[name] for name in body} == body
    again = await http.post("/sessions", json={"key": "web:1", "title": "Other"})
    assert (again.status_code, again.json()) == (200, made.json())
    assert (await http.get("/sessions/web:1")).json() == made.json()


async def test_a_session_without_a_key_gets_one(http: httpx2.AsyncClient) -> None:
    one = (await http.post("/sessions", json={})).json()
    other = (await http.post("/sessions", json={"channel": "telegram", "chat_type": "group"})).json()
    assert one["channel"] == "websocket"
    assert (other["channel"], other["chat_type"]) == ("telegram", "group")
    assert (await http.get(f"/sessions/{other['key']}")).status_code == 200


async def test_a_session_is_changed_and_null_clears_a_field(http: httpx2.AsyncClient) -> None:
    await http.post("/sessions", json={"key": "web:1", "title": "Travel", "timezone": "UTC"})
    changed = await http.patch("/sessions/web:1", json={"timezone": None, "when_busy": "reject"})
    assert changed.status_code == 200
    there = (await http.get("/sessions/web:1")).json()
    assert (there["title"], there["timezone"], there["when_busy"]) == ("Travel", None, "reject")
    wrong = await http.patch("/sessions/web:1", json={"timezone": "Mars/Olympus"})
    assert (wrong.status_code, wrong.json()["code"]) == (422, "bad_setting")


async def test_sessions_are_paged_newest_first(http: httpx2.AsyncClient) -> None:
    for number in range(5):
        await http.post("/sessions", json={"key": f"web:{number}"})
    seen, cursor = [], None
    while True:
        page = (
            await http.get("/sessions", params={"limit": 2, **({"cursor": cursor} if cursor else {})})
        ).json()
        seen += [session["key"] for session in page["sessions"]]
        cursor = page["next_cursor"]
        if cursor is None:
            break
    assert seen == ["web:4", "web:3", "web:2", "web:1", "web:0"]
    assert (await http.get("/sessions", params={"cursor": "nonsense"})).json()["code"] == "bad_cursor"


async def test_a_request_waits_for_its_turn_and_the_transcript_has_both_messages(
    http: httpx2.AsyncClient, agent: ScriptedAgent
) -> None:
    agent.script(["Hello ", "**you**.", Usage({"output_tokens": 3})])
    said = await http.post("/sessions/web:1/turns?wait=20", json={"content": "Hi <b>there</b>"})
    assert said.status_code == 200
    turn = said.json()
    assert (turn["state"], turn["reply"], turn["usage"]) == ("done", "Hello **you**.", {"output_tokens": 3})
    assert (await http.get(f"/turns/{turn['turn_id']}")).json() == turn
    listed = (await http.get("/sessions/web:1/messages")).json()
    asked, answered = listed["messages"]
    assert (asked["role"], asked["content"]) == ("user", "Hi <b>there</b>")
    assert asked["html"].strip() == "<p>Hi &lt;b&gt;there&lt;/b&gt;</p>"
    assert answered["html"].strip() == "<p>Hello <strong>you</strong>.</p>"
    assert (asked["source"], asked["metadata"], asked["archived"]) == (None, {}, False)
    assert len({asked["id"], answered["id"]}) == 2
    later = (await http.get("/sessions/web:1/messages", params={"after": asked["seq"]})).json()
    assert later["messages"] == [answered]


async def test_without_wait_the_response_has_the_position_in_the_queue(
    http: httpx2.AsyncClient, agent: ScriptedAgent
) -> None:
    agent.pause()
    first = (await http.post("/sessions/web:1/turns", json={"content": "one"})).json()
    assert first == {"turn_id": first["turn_id"], "state": "queued", "position": 0}
    await agent.under_way()
    second = (await http.post("/sessions/web:1/turns", json={"content": "two"})).json()
    assert second["position"] == 1
    there = (await http.get("/sessions/web:1")).json()
    assert (there["state"], there["queued"], there["title"]) == ("running", 1, "one")
    busy = await http.post("/sessions/web:1/turns", json={"content": "three", "when_busy": "reject"})
    assert (busy.status_code, busy.json()["code"]) == (409, "session_busy")
    assert (await http.post("/sessions/web:1/turns?wait=0.01", json={"content": "four"})).status_code == 202
    stopped = (await http.post("/sessions/web:1/stop")).json()
    assert stopped == {"stopped": True, "turn_id": first["turn_id"]}
    agent.go_on()
    assert (await http.post("/sessions/web:1/turns?wait=20", json={"content": "five"})).status_code == 200
    assert (await http.post("/sessions/web:1/stop")).json() == {"stopped": False, "turn_id": None}


async def test_messages_are_stored_together_without_the_agent(
    http: httpx2.AsyncClient, agent: ScriptedAgent
) -> None:
    one = await http.post("/sessions/web:1/messages", json={"role": "user", "content": "I am in Rome."})
    assert one.json() == {"session_key": "web:1", "seq": 1, "message_count": 1, "pending_tokens": 4}
    many = [{"role": "assistant", "content": f"word {number}"} for number in range(100)]
    added = await http.post("/sessions/web:1/messages/batch", json={"messages": many})
    assert added.json() == {
        "session_key": "web:1",
        "seq": 101,
        "message_count": 101,
        "pending_tokens": 204,
        "added": 100,
    }
    there = (await http.get("/sessions/web:1")).json()
    assert (there["message_count"], there["pending_tokens"]) == (101, 204)
    assert not agent.asked
    too_many = await http.post("/sessions/web:1/messages/batch", json={"messages": [*many, many[0]]})
    assert (too_many.status_code, too_many.json()["field"]) == (422, "messages")
    page = (await http.get("/sessions/web:1/messages", params={"limit": 100})).json()
    rest = (await http.get("/sessions/web:1/messages", params={"cursor": page["next_cursor"]})).json()
    assert [message["seq"] for message in page["messages"] + rest["messages"]] == list(range(1, 102))


async def test_automations_prevent_a_deletion(http: httpx2.AsyncClient, kernel: Kernel) -> None:
    job = await kernel.schedule("web:1", Every(3600), Ask("Look."), name="hourly")
    assert (await http.get("/sessions/web:1")).json()["automation_count"] == 1
    blocked = await http.delete("/sessions/web:1")
    assert blocked.status_code == 200
    assert blocked.json() == {
        "deleted": False,
        "blocked_by_automations": True,
        "automations": [{"id": job.id, "name": "hourly", "enabled": True}],
    }
    gone = await http.delete("/sessions/web:1", params={"delete_automations": "true"})
    assert gone.json() == {"deleted": True}
    assert (await http.get("/sessions/web:1")).status_code == 404


async def test_runs_are_listed_and_shown(http: httpx2.AsyncClient, kernel: Kernel) -> None:
    job = await kernel.schedule("web:1", Every(1), Ask("Look."), name="often")

    async def two_runs() -> list[dict[str, Any]]:
        runs: list[dict[str, Any]] = (await http.get("/sessions/web:1/runs")).json()["runs"]
        return runs if len(runs) >= 2 else []

    newest, *_ = await eventually(two_runs, "two runs")
    await kernel.jobs.delete(job.id)
    assert newest["job_id"] == job.id
    shown = (await http.get(f"/runs/{newest['run_id']}")).json()
    assert (shown["run_id"], shown["session_key"], shown["slot"]) == (
        newest["run_id"],
        "web:1",
        newest["slot"],
    )
    first = (await http.get("/sessions/web:1/runs", params={"limit": 1})).json()
    second = (
        await http.get("/sessions/web:1/runs", params={"limit": 1, "cursor": first["next_cursor"]})
    ).json()
    assert first["runs"][0]["slot"] > second["runs"][0]["slot"]
    messages = (await http.get("/sessions/web:1/messages")).json()["messages"]
    trigger = next(message for message in messages if message["role"] == "user")
    assert trigger["source"]["kind"] == "cron"
    assert trigger["metadata"]["cron_job_id"] == job.id


async def test_a_session_says_until_when_it_waits_for_its_user(
    http: httpx2.AsyncClient, agent: ScriptedAgent
) -> None:
    agent.script([Waiting("Pay?")], "Paid.")
    await http.post("/sessions/web:1/turns?wait=30", json={"content": "Pay the bill"})
    waiting_until = (await http.get("/sessions/web:1")).json()["waiting_until"]
    assert datetime.fromisoformat(waiting_until) > datetime.now(UTC)
    await http.post("/sessions/web:1/turns?wait=30", json={"content": "yes"})
    assert (await http.get("/sessions/web:1")).json()["waiting_until"] is None
