"""Search and export over HTTP: shapes, pages, owners, and queries that cannot be searched."""

import json
from typing import Any, TypeAlias

import httpx2
import pytest

from segue import Kernel
from segue.testing import ScriptedAgent
from tests.eventually import eventually
from tests.server.conftest import ADA, BEN, bearer

Found: TypeAlias = list[dict[str, Any]]


async def indexed(http: httpx2.AsyncClient, count: int, query: str, **headers: str) -> Found:
    """What a search finds as soon as it finds so many."""

    async def found() -> Found:
        answer = await http.get("/messages/search", params={"query": query}, headers=headers)
        messages: Found = answer.json()["messages"]
        return messages if len(messages) == count else []

    return await eventually(found, f"{count} messages with {query}")


async def test_a_message_is_found_after_its_turn(http: httpx2.AsyncClient, agent: ScriptedAgent) -> None:
    agent.script("The **rollback** is done.")
    await http.post("/sessions/web:anna/turns?wait=20", json={"content": "Did we roll back?"})
    (found,) = await indexed(http, 1, "rollback")
    log = (await http.get("/sessions/web:anna/messages")).json()["messages"]
    assert found == {
        "session_key": "web:anna",
        "session_title": "Did we roll back?",
        "excerpt": "The **rollback** is done.",
        **{name: log[1][name] for name in ("id", "seq", "role", "created_at", "turn_id", "replaced_by")},
    }


async def test_pages_of_a_search_have_every_message_once(http: httpx2.AsyncClient, kernel: Kernel) -> None:
    batch = [("user", f"rollback {number}") for number in range(5)]
    await kernel.log.write_all("web:anna", batch)
    await indexed(http, 5, "rollback")
    seen: list[str] = []
    cursor: str | None = None
    while True:
        asked = {"query": "rollback", "limit": "2"} | ({"cursor": cursor} if cursor else {})
        page = (await http.get("/messages/search", params=asked)).json()
        seen += [message["excerpt"] for message in page["messages"]]
        if (cursor := page["next_cursor"]) is None:
            break
    assert seen == [f"rollback {number}" for number in (4, 3, 2, 1, 0)]


@pytest.mark.parametrize(
    "query",
    ["", "  ", '"*(', "x" * 10_000, "a\x00b", "💥"],
    ids=["none", "spaces", "signs", "long", "zero", "sign"],
)
async def test_a_query_without_a_word_is_refused_with_a_sentence(
    http: httpx2.AsyncClient, query: str
) -> None:
    answer = await http.get("/messages/search", params={"query": query})
    assert answer.status_code in (400, 422)
    assert "query" in answer.text


@pytest.mark.parametrize(
    "query", ["a", "'; DROP TABLE events; --", '"a" NEAR/2 b OR -c*', "a:b & c | !d", "字"]
)
async def test_any_other_query_is_plain_text(http: httpx2.AsyncClient, query: str) -> None:
    answer = await http.get("/messages/search", params={"query": query})
    assert answer.json() == {"messages": [], "next_cursor": None}


@pytest.mark.parametrize("cursor", ["AAAA", "x", "OTk5OTk5OTk5OTk5OTk5OTk5OTk5OTk5OTk5OTk5"])
async def test_a_cursor_of_another_place_is_refused(http: httpx2.AsyncClient, cursor: str) -> None:
    answer = await http.get("/messages/search", params={"query": "rollback", "cursor": cursor})
    assert (answer.status_code, answer.json()["code"]) == (422, "bad_cursor")


async def test_no_result_and_no_export_of_another_user(guarded: httpx2.AsyncClient) -> None:
    said = {"role": "user", "content": "the secret of ada"}
    await guarded.post("/sessions/web:anna/messages", json=said, headers=bearer(ADA))
    await indexed(guarded, 1, "secret", **bearer(ADA))
    for params in ({"query": "secret"}, {"query": "secret ada"}, {"query": "the"}):
        answer = await guarded.get("/messages/search", params=params, headers=bearer(BEN))
        assert answer.json()["messages"] == []
    within = {"query": "secret", "session": "web:anna"}
    assert (await guarded.get("/messages/search", params=within, headers=bearer(BEN))).status_code == 404
    assert (await guarded.get("/messages/search", params=within, headers=bearer(ADA))).status_code == 200
    assert (await guarded.get("/messages/search", params=within)).status_code == 401
    for format in ("markdown", "json"):
        path = f"/sessions/web:anna/export?format={format}"
        assert (await guarded.get(path, headers=bearer(ADA))).status_code == 200
        assert (await guarded.get(path, headers=bearer(BEN))).status_code == 404
        assert (await guarded.get(path)).status_code == 401


async def test_a_conversation_is_exported_with_the_names_of_its_files(http: httpx2.AsyncClient) -> None:
    await http.post("/sessions", json={"key": "web:anna", "title": "Cats", "timezone": "Europe/Berlin"})
    part = (await http.post("/sessions/web:anna/files?name=notes.txt", content=b"Some notes.")).json()
    asked = {"role": "user", "content": "Look.", "parts": [part], "created_at": "2026-11-16T09:00:00Z"}
    await http.post("/sessions/web:anna/messages", json=asked)
    answer = {"role": "assistant", "content": "# So\n\nI see.", "created_at": "2026-11-16T09:01:00Z"}
    await http.post("/sessions/web:anna/messages", json=answer)
    markdown = await http.get("/sessions/web:anna/export")
    assert markdown.headers["content-type"] == "text/markdown; charset=utf-8"
    assert markdown.headers["content-disposition"] == "attachment; filename*=UTF-8''web%3Aanna.md"
    assert markdown.text == (
        "# Cats\n"
        "\n## User, 2026-11-16 10:00 CET\n\nLook.\n\n- Attachment: notes.txt (text/plain)\n"
        "\n## Assistant, 2026-11-16 10:01 CET\n\n# So\n\nI see.\n"
    )
    lines = await http.get("/sessions/web:anna/export", params={"format": "json"})
    assert lines.headers["content-type"] == "application/x-ndjson"
    first, second = map(json.loads, lines.text.splitlines())
    assert (first["role"], first["content"], first["created_at"]) == (
        "user",
        "Look.",
        "2026-11-16T09:00:00.000+00:00",
    )
    assert [(each["name"], each["id"]) for each in first["parts"]] == [("notes.txt", part["id"])]
    assert (second["role"], second["content"]) == ("assistant", "# So\n\nI see.")


async def test_a_long_conversation_is_exported_whole(http: httpx2.AsyncClient, kernel: Kernel) -> None:
    for start in range(0, 300, 100):
        await kernel.log.write_all("web:anna", [("user", f"number {n}") for n in range(start, start + 100)])
    lines = (await http.get("/sessions/web:anna/export", params={"format": "json"})).text.splitlines()
    assert [json.loads(line)["content"] for line in lines] == [f"number {n}" for n in range(300)]


async def test_an_unknown_format_is_refused(http: httpx2.AsyncClient) -> None:
    await http.post("/sessions", json={"key": "web:anna"})
    assert (await http.get("/sessions/web:anna/export", params={"format": "pdf"})).status_code == 422
