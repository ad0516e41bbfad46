"""Routes for clients that show a conversation: the log, Markdown, and times in text."""

from contextlib import aclosing
from typing import Any

import httpx2
import pytest

from segue import Ask, At, Event, Kernel, ToolCalled, ToolStarted
from segue.testing import ScriptedAgent
from tests.server.conftest import ADA, BEN, bearer


async def test_the_log_is_read_from_its_end_backwards_without_a_gap(
    http: httpx2.AsyncClient, agent: ScriptedAgent
) -> None:
    for number in range(6):
        agent.script(f"answer {number}")
        await http.post("/sessions/web:anna/turns?wait=20", json={"content": f"question {number}"})
    pages: list[Any] = []
    cursor: str | None = None
    while True:
        asked = {"limit": 5} | ({"cursor": cursor} if cursor else {})
        page = (await http.get("/sessions/web:anna/log", params=asked)).json()
        pages.insert(0, page["events"])
        if (cursor := page["next_cursor"]) is None:
            break
    events = [event for page in pages for event in page]
    assert len(pages) > 1
    assert [event["seq"] for event in events] == sorted(event["seq"] for event in events)
    said = [event["message"]["content"] for event in events if event.get("message")]
    assert said == [words for n in range(6) for words in (f"question {n}", f"answer {n}")]


async def test_the_log_of_another_user_is_not_found(guarded: httpx2.AsyncClient) -> None:
    await guarded.post("/sessions", json={"key": "web:anna"}, headers=bearer(ADA))
    assert (await guarded.get("/sessions/web:anna/log", headers=bearer(ADA))).status_code == 200
    assert (await guarded.get("/sessions/web:anna/log", headers=bearer(BEN))).status_code == 404
    assert (await guarded.get("/sessions/web:anna/log")).status_code == 401


async def test_markdown_is_rendered_like_a_message(http: httpx2.AsyncClient) -> None:
    answer = await http.post("/markdown", json={"text": "**so** <script>x</script>"})
    assert answer.json() == {"html": "<p><strong>so</strong> &lt;script&gt;x&lt;/script&gt;</p>\n"}


async def test_a_time_in_a_sentence_is_found(http: httpx2.AsyncClient) -> None:
    asked = {"text": "call Ana every weekday at 9", "timezone": "Europe/Berlin"}
    found = (await http.get("/when", params=asked)).json()["when"]
    assert (found["phrase"], found["repeats"], len(found["next"])) == ("every weekday at 9", True, 3)
    once = (await http.get("/when", params={"text": "look in 20 minutes"})).json()["when"]
    assert (once["phrase"], once["repeats"], len(once["next"])) == ("in 20 minutes", False, 1)
    assert not once["passed"]
    over = (await http.get("/when", params={"text": "look on 2021-03-01 at 9 UTC"})).json()["when"]
    assert (over["next"], over["passed"]) == (["2021-03-01T09:00:00.000+00:00"], True)
    nothing: dict[str, Any] = {
        "when": None,
        "verdict": "not_read",
        "readings": [],
        "unread": "",
        "unless": None,
    }
    assert (await http.get("/when", params={"text": "nothing of the kind"})).json() == nothing


async def test_a_found_time_has_a_verdict(http: httpx2.AsyncClient) -> None:
    found = (await http.get("/when", params={"text": "call Ana in 20 minutes"})).json()
    assert found["when"]["phrase"] == "in 20 minutes"
    assert (found["verdict"], found["readings"], found["unread"]) == ("read", [], "")


async def test_a_condition_beside_the_time_is_told(http: httpx2.AsyncClient) -> None:
    found = await http.get("/when", params={"text": "call Ana tomorrow at 9 UTC unless I have answered"})
    assert (found.json()["verdict"], found.json()["unless"]) == ("read", "answered")


@pytest.mark.parametrize(
    ("text", "verdict", "readings", "unread"),
    [
        ("every friday at 9 until christmas", "not_read", [], "until christmas"),
        ("15 past three", "ambiguous", ["03:15", "15:15"], "15 past three"),
        ("15h", "ambiguous", ["at 15:00", "in 15 hours"], "15h"),
        ("0 9 31 2 *", "not_read", [], "0 9 31 2 *"),
    ],
)
async def test_a_time_that_is_not_fully_read_has_no_result(
    http: httpx2.AsyncClient, text: str, verdict: str, readings: list[str], unread: str
) -> None:
    answer = await http.get("/when", params={"text": text, "timezone": "UTC"})
    assert answer.json() == {
        "when": None,
        "verdict": verdict,
        "readings": readings,
        "unread": unread,
        "unless": None,
    }


async def test_an_invalid_zone_is_refused(http: httpx2.AsyncClient) -> None:
    answer = await http.get("/when", params={"text": "tomorrow", "timezone": "Mars/Olympus"})
    assert answer.status_code == 422
    assert "Mars/Olympus" in answer.json()["detail"]


async def test_a_session_shows_its_newest_line(http: httpx2.AsyncClient, agent: ScriptedAgent) -> None:
    agent.script("It is green.")
    await http.post("/sessions/web:anna/turns?wait=20", json={"content": "Is it green?"})
    session = (await http.get("/sessions/web:anna")).json()
    assert session["last_line"] == "It is green."
    assert session["last_line_at"] >= session["last_message_at"]
    listed = (await http.get("/sessions")).json()["sessions"]
    assert [each["last_line"] for each in listed] == ["It is green."]


async def test_the_log_has_the_tools_of_a_turn(http: httpx2.AsyncClient, agent: ScriptedAgent) -> None:
    called: dict[str, Any] = {"call_id": "1", "name": "look", "arguments": {"at": "it"}}
    agent.script([ToolStarted(**called), ToolCalled(**called, result="seen"), "I looked."])
    await http.post("/sessions/web:anna/turns?wait=20", json={"content": "Look at it."})
    events = (await http.get("/sessions/web:anna/log")).json()["events"]
    assert [event["type"] for event in events] == ["stream_start", "tool_started", "tool_call", "stream_end"]
    assert events[2]["result"] == "seen"


async def test_queued_turns_have_their_source(
    http: httpx2.AsyncClient, agent: ScriptedAgent, kernel: Kernel
) -> None:
    """The number of queued scheduled turns is visible."""
    agent.pause()
    await http.post("/sessions/web:anna/turns", json={"content": "First."})
    await agent.under_way()
    await http.post("/sessions/web:anna/turns", json={"content": "Second."})
    await kernel.schedule("web:anna", At("in 1 second"), Ask("Look."), name="monitor")
    waiting = await queue_updates(kernel)
    read = (await http.get("/sessions/web:anna/log")).json()["events"]
    agent.go_on()
    assert {each["label"] for each in waiting} == {None, "monitor"}
    assert read[-1]["waiting"] == waiting


async def queue_updates(kernel: Kernel) -> list[dict[str, Any]]:
    async with aclosing(kernel.follow("web:anna")) as following:
        async for event in following:
            if isinstance(event, Event) and len(event.body.get("waiting", ())) == 2:
                return list(event.body["waiting"])
    raise AssertionError("the stream ended without the queue updates")
