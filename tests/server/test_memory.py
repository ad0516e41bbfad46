"""Memory over HTTP: policies, commits and their tasks, archives, memories, the context and the index."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import httpx2
import pytest
import pytest_asyncio

from segue import Kernel, Owner
from segue.config import Configuration
from segue.model.auto_commit import AutoCommitPolicy
from segue.server import create_app
from segue.testing import quiet
from tests.server.conftest import ADA, BEN, KEYS, ROOT_KEY, bearer, reach

POLICY = {"enabled": True, "token_threshold": 8000, "idle_timeout_seconds": 1800, "keep_recent_count": 10}
FULL = {**POLICY, "message_count_threshold": None, "min_commit_interval_seconds": 0}


@asynccontextmanager
async def without_workers(kernel: Kernel, **settings: Any) -> AsyncIterator[httpx2.AsyncClient]:
    """A server without workers: the test runs them by `quiet`."""
    app = create_app(kernel, Configuration(database="sqlite://:memory:", **settings))
    async with reach(app) as client:
        yield client


@pytest_asyncio.fixture(loop_scope="session")
async def http(kernel: Kernel) -> AsyncIterator[httpx2.AsyncClient]:
    async with without_workers(kernel) as client:
        yield client


@pytest_asyncio.fixture(loop_scope="session")
async def guarded(kernel: Kernel) -> AsyncIterator[httpx2.AsyncClient]:
    async with without_workers(kernel, api_keys=KEYS) as client:
        yield client


async def write(http: httpx2.AsyncClient, content: str, **more: Any) -> httpx2.Response:
    return await http.post("/sessions/web:1/messages", json={"role": "user", "content": content, **more})


async def test_a_write_stores_a_policy_and_the_session_shows_it(http: httpx2.AsyncClient) -> None:
    """A1.8, A2.1, A2.8, A2.10, A14.3."""
    written = (await write(http, "hello", auto_commit_policy=POLICY)).json()
    assert set(written) == {"session_key", "seq", "message_count", "pending_tokens"}
    session = (await http.get("/sessions/web:1")).json()
    assert session["auto_commit_policy"] == FULL
    assert session["keep_recent_count"] == 10
    assert session["pending_tokens"] == written["pending_tokens"] == 0
    assert (session["auto_commit_last_error"], session["auto_commit_last_error_at"]) == ("", "")
    assert "auto_commit_pending" not in session


async def test_null_clears_a_policy_and_an_absent_field_keeps_it(http: httpx2.AsyncClient) -> None:
    """A2.4, A2.5."""
    await write(http, "one", auto_commit_policy=POLICY)
    await write(http, "two")
    assert (await http.get("/sessions/web:1")).json()["auto_commit_policy"] == FULL
    await write(http, "three", auto_commit_policy=None)
    assert (await http.get("/sessions/web:1")).json()["auto_commit_policy"] is None


async def test_a_batch_has_one_top_level_policy(http: httpx2.AsyncClient) -> None:
    """A2.2, A2.3, A2.9."""
    messages = [{"role": "user", "content": f"word {number}"} for number in range(3)]
    many = "/sessions/web:1/messages/batch"
    done = await http.post(many, json={"messages": messages, "auto_commit_policy": POLICY})
    assert (done.json()["added"], done.json()["message_count"]) == (3, 3)
    messages[1]["auto_commit_policy"] = POLICY  # type: ignore[assignment]
    refused = await http.post(many, json={"messages": messages})
    assert refused.status_code == 422
    assert (
        "Per-message auto_commit_policy is not allowed in batch requests; "
        "use the top-level auto_commit_policy field instead" in refused.json()["detail"]
    )
    too_many = await http.post(many, json={"messages": [{"role": "user", "content": "x"}] * 101})
    assert too_many.status_code == 422
    assert (await http.get("/sessions/web:1")).json()["message_count"] == 3


INVALID_POLICIES: list[tuple[dict[str, Any], str]] = [
    ({"token_threshold": 1}, "enabled"),
    ({"enabled": True, "token_threshold": 0}, "token_threshold"),
    ({"enabled": True, "idle_timeout_seconds": -1}, "idle_timeout_seconds"),
    ({"enabled": True, "keep_recent_count": -1}, "keep_recent_count"),
    ({"enabled": True, "token_threshold": "8000"}, "token_threshold"),
    ({"enabled": True, "colour": "red"}, "colour"),
    ({"enabled": "yes"}, "enabled"),
]


async def test_an_invalid_policy_is_refused(http: httpx2.AsyncClient, subtests: pytest.Subtests) -> None:
    """A1.3, A1.4."""
    for policy, field in INVALID_POLICIES:
        with subtests.test(policy=policy):
            refused = await write(http, "hello", auto_commit_policy=policy)
            assert refused.status_code == 422
            assert refused.json()["field"] == f"auto_commit_policy.{field}"
            assert (await http.get("/sessions/web:1")).status_code == 404


async def test_a_session_is_opened_and_changed_with_a_policy(http: httpx2.AsyncClient) -> None:
    """A14.1, A14.2, A2.7."""
    opened = await http.post("/sessions", json={"key": "web:1", "auto_commit_policy": POLICY})
    assert opened.json()["auto_commit_policy"] == FULL
    merged = await http.patch("/sessions/web:1", json={"auto_commit_policy": {"token_threshold": 5}})
    assert merged.json()["auto_commit_policy"] == {**FULL, "token_threshold": 5}
    same = await http.patch("/sessions/web:1", json={})
    assert same.json()["auto_commit_policy"] == {**FULL, "token_threshold": 5}
    nulled = await http.patch("/sessions/web:1", json={"auto_commit_policy": {"token_threshold": None}})
    assert nulled.status_code == 422
    assert "auto_commit_policy=null" in nulled.json()["detail"]
    unknown = await http.patch("/sessions/web:1", json={"auto_commit_policy": {"colour": 1}})
    assert unknown.status_code == 422
    off = await http.patch("/sessions/web:1", json={"auto_commit_policy": None})
    assert off.json()["auto_commit_policy"] is None
    missing = await http.patch("/sessions/web:2", json={"auto_commit_policy": None})
    assert missing.status_code == 404


async def test_a_commit_answers_at_once_and_its_task_has_the_result(
    http: httpx2.AsyncClient, kernel: Kernel
) -> None:
    await write(http, "My name is Ada.")
    done = await http.post("/sessions/web:1/commit", json={})
    assert done.status_code == 202
    accepted = done.json()
    assert accepted == {
        "status": "accepted",
        "archived": True,
        "task_id": accepted["task_id"],
        "archive_id": "1",
    }
    skipped = await http.post("/sessions/web:1/commit")
    assert (skipped.status_code, skipped.json()) == (
        200,
        {"status": "skipped", "archived": False, "reason": "no_messages"},
    )
    await quiet(kernel)
    task = (await http.get(f"/tasks/{accepted['task_id']}")).json()
    assert (task["status"], task["task_type"], task["session_key"]) == (
        "completed",
        "session_commit",
        "web:1",
    )
    assert task["result"]["memories_extracted"] == {"fact": 1}
    listed = (await http.get("/tasks", params={"status": "completed"})).json()
    assert [each["task_id"] for each in listed["tasks"]] == [accepted["task_id"]]
    again = await http.post(f"/tasks/{accepted['task_id']}/cancel")
    assert (again.status_code, again.json()["code"]) == (409, "conflict")


async def test_an_archive_is_read_and_the_transcript_marks_it(http: httpx2.AsyncClient) -> None:
    await write(http, "one")
    await http.post("/sessions/web:1/commit", json={})
    await write(http, "two")
    archive = (await http.get("/sessions/web:1/archives/1")).json()
    assert (archive["n"], archive["reason"], [m["content"] for m in archive["messages"]]) == (
        1,
        "manual",
        ["one"],
    )
    listed = (await http.get("/sessions/web:1/archives")).json()["archives"]
    assert [each["n"] for each in listed] == [1]
    messages = (await http.get("/sessions/web:1/messages")).json()["messages"]
    assert [(m["content"], m["archived"]) for m in messages] == [("one", True), ("two", False)]
    assert (await http.get("/sessions/web:1/archives/2")).status_code == 404


async def test_memories_are_found_corrected_and_deleted(http: httpx2.AsyncClient, kernel: Kernel) -> None:
    await write(http, "I live in Berlin.")
    await http.post("/sessions/web:1/commit", json={})
    await quiet(kernel)
    (memory,) = (await http.get("/memories")).json()["memories"]
    assert (memory["kind"], memory["content"], memory["confidence"]) == ("fact", "I live in Berlin.", 0.85)
    assert memory["source"]["archive"] == 1
    found = (await http.get("/memories", params={"query": "Berlin"})).json()["memories"]
    assert memory["id"] in [each["id"] for each in found]
    path = f"/memories/{memory['id']}"
    changed = (await http.patch(path, json={"content": "I live in Bern."})).json()
    assert (changed["content"], changed["confidence"]) == ("I live in Bern.", 1.0)
    assert (await http.delete(path)).json() == {"deleted": True}
    assert (await http.delete(path)).status_code == 404


async def test_a_commit_is_undone(http: httpx2.AsyncClient, kernel: Kernel) -> None:
    await write(http, "I live in Berlin.")
    await http.post("/sessions/web:1/commit", json={})
    await quiet(kernel)
    undone = await http.post("/sessions/web:1/archives/1/undo")
    assert undone.json() == {"undone": True, "restored": 1, "kept": 0}
    assert (await http.get("/memories")).json()["memories"] == []
    assert (await http.post("/sessions/web:1/archives/1/undo")).status_code == 409


async def test_the_context_is_shown_with_its_counts(http: httpx2.AsyncClient, kernel: Kernel) -> None:
    await write(http, "The door code is 4711.")
    await http.post("/sessions/web:1/commit", json={})
    await quiet(kernel)
    await write(http, "hello")
    context = (await http.get("/sessions/web:1/context", params={"query": "door code"})).json()
    assert "4711" in context["summary"]
    assert any("4711" in memory["content"] for memory in context["memories"])
    assert [m["content"] for m in context["messages"]] == ["hello"]
    tokens = context["tokens"]
    assert tokens["total"] == tokens["summary"] + tokens["memories"] + tokens["messages"]
    small = (await http.get("/sessions/web:1/context", params={"token_budget": 1})).json()
    assert (small["summary"], small["left_out"]) == (None, 1)


async def test_the_index_has_the_shape_of_the_contract(http: httpx2.AsyncClient, kernel: Kernel) -> None:
    """A7.3, A7.4, A7.5, A7.9: any account, user and key, and only membership."""
    policy = AutoCommitPolicy(enabled=True, idle_timeout_seconds=60)
    for owner in (Owner("meta", "data"), Owner("_meta", "a:b")):
        await kernel.log.write_all("web:1", [("user", "hi")], owner=owner, auto_commit_policy=policy)
    await kernel.log.write(
        "web:tokens", "user", "hi", auto_commit_policy=AutoCommitPolicy(enabled=True, token_threshold=9)
    )
    index = (await http.get("/system/auto-commit/index")).json()
    assert set(index) == {"meta", "data"}
    assert set(index["meta"]) == {"updated_at"}
    assert index["data"] == {"meta": {"data": {"web:1": {}}}, "_meta": {"a:b": {"web:1": {}}}}
    await kernel.memory.commit("web:1", owner=Owner("meta", "data"))
    assert "meta" not in (await http.get("/system/auto-commit/index")).json()["data"]


async def test_users_see_only_their_own_tasks_and_memories(
    guarded: httpx2.AsyncClient, kernel: Kernel
) -> None:
    """A7.1: tasks, memories and the index are owner-scoped."""
    await guarded.post(
        "/sessions/web:1/messages", json={"role": "user", "content": "My name is Ada."}, headers=bearer(ADA)
    )
    done = (await guarded.post("/sessions/web:1/commit", json={}, headers=bearer(ADA))).json()
    await quiet(kernel)
    (memory,) = (await guarded.get("/memories", headers=bearer(ADA))).json()["memories"]
    assert (await guarded.get("/memories", headers=bearer(BEN))).json()["memories"] == []
    for path in (f"/tasks/{done['task_id']}", "/sessions/web:1/archives/1", "/sessions/web:1/context"):
        assert (await guarded.get(path, headers=bearer(BEN))).status_code == 404
    assert (await guarded.delete(f"/memories/{memory['id']}", headers=bearer(BEN))).status_code == 404
    idle = {
        "role": "user",
        "content": "Hello.",
        "auto_commit_policy": {"enabled": True, "idle_timeout_seconds": 60},
    }
    await guarded.post("/sessions/web:1/messages", json=idle, headers=bearer(ADA))
    expected: dict[str, Any] = {ADA: {"one": {"ada": {"web:1": {}}}}, BEN: {}, ROOT_KEY: {}}
    for key, seen in expected.items():
        index = await guarded.get("/system/auto-commit/index", headers=bearer(key))
        assert (index.status_code, index.json()["data"]) == (200, seen)


async def test_health_lists_memory_as_a_capability(http: httpx2.AsyncClient) -> None:
    capabilities = (await http.get("/health")).json()["capabilities"]
    assert {"memory", "auto_commit"} <= set(capabilities)


async def test_a_written_message_may_say_when_it_was_said(http: httpx2.AsyncClient) -> None:
    assert (await write(http, "then", created_at="2024-07-14T18:30:00+02:00")).status_code == 200
    batch = [{"role": "user", "content": "before", "created_at": "2023-01-01T00:00:00Z"}]
    assert (await http.post("/sessions/web:1/messages/batch", json={"messages": batch})).status_code == 200
    messages = (await http.get("/sessions/web:1/messages")).json()["messages"]
    assert [(each["content"], each["created_at"][:10]) for each in messages] == [
        ("then", "2024-07-14"),
        ("before", "2023-01-01"),
    ]


@pytest.mark.parametrize("created_at", ["2999-01-01T00:00:00Z", "2024-07-14", "soon", "2024-07-14T18:30:00"])
async def test_a_message_from_the_future_or_from_no_moment_is_refused(
    http: httpx2.AsyncClient, created_at: str
) -> None:
    refused = await write(http, "hello", created_at=created_at)
    assert (refused.status_code, refused.json()["code"]) == (422, "invalid_time")
    assert "created_at" in refused.json()["detail"]
