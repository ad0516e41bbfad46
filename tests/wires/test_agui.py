"""The AG-UI wire, driven by `@ag-ui/client`."""

import json
from pathlib import Path
from typing import Any

from tests.eventually import eventually
from tests.server.conftest import ADA, BEN, bearer
from tests.wires.conftest import Wire, running_script
from tests.wires.pictures import ADDRESS, CODED, PNG

THREAD = "tea"
KEY = "websocket:tea"


def script(node: Path, wire: Wire, **options: Any) -> Any:
    return running_script(node, "agui", **{"url": wire.url, "threadId": THREAD, **options})


async def run(node: Path, wire: Wire, message: object, **options: Any) -> list[Any]:
    async with script(node, wire, message=message, **options) as client:
        events: list[Any] = await client.rest()
    return events


async def connected(node: Path, wire: Wire, query: str, **options: Any) -> list[Any]:
    async with script(node, wire, connect=query, **options) as client:
        events: list[Any] = await client.rest()
    return events


def texts(events: list[Any]) -> str:
    return "".join(event["delta"] for event in events if event["type"] == "TEXT_MESSAGE_CONTENT")


def types(events: list[Any]) -> set[str]:
    return {event["type"] for event in events}


async def test_a_run_is_a_turn_of_the_threads_session(both: Wire, node: Path) -> None:
    events = await run(node, both, "Hello")
    assert texts(events) == "You said: Hello"
    assert (events[0]["type"], events[-2]["type"]) == ("RUN_STARTED", "RUN_FINISHED")
    assert events[-1]["messages"][-1]["content"] == "You said: Hello"
    assert [message.content for message in await both.kernel.messages(KEY)] == ["Hello", "You said: Hello"]


async def test_tools_and_usage_are_shown(wire: Wire, node: Path) -> None:
    events = await run(node, wire, "tool")
    assert texts(events) == "Let me look. It is green."
    results = [event["content"] for event in events if event["type"] == "TOOL_CALL_RESULT"]
    assert results == ["green", "it is locked"]
    calls = [call for message in events[-1]["messages"] for call in message.get("toolCalls", ())]
    assert [call["function"]["name"] for call in calls] == ["look", "open"]
    assert json.loads(calls[0]["function"]["arguments"]) == {"at": "the build"}
    assert events[-2]["usage"] == [{"inputTokens": 12, "outputTokens": 5, "totalTokens": 17}]


async def test_thoughts_are_shown_as_reasoning(wire: Wire, node: Path) -> None:
    events = await run(node, wire, "think")
    thoughts = [event["delta"] for event in events if event["type"] == "REASONING_MESSAGE_CONTENT"]
    assert (thoughts, texts(events)) in [(["Hm."], "Yes."), ([], "Yes.")]  # thoughts are not stored


async def test_a_failed_turn_is_a_run_error(wire: Wire, node: Path) -> None:
    events = await run(node, wire, "fail")
    error = next(event for event in events if event["type"] == "RUN_ERROR")
    assert (error["message"], error["code"]) == ("I cannot answer now.", "turn_error")


async def test_aborting_the_run_stops_the_turn_if_the_header_says_so(wire: Wire, node: Path) -> None:
    headers = {"X-Segue-On-Disconnect": "stop"}
    await run(node, wire, "hold", stopAt="TEXT_MESSAGE_CONTENT", headers=headers)

    async def stopped() -> bool:
        return (await wire.kernel.turns.list(KEY))[0].outcome == "stopped"

    assert await eventually(stopped, "the turn is stopped")


async def test_a_turn_that_is_stopped_elsewhere_ends_its_run_as_cancelled(wire: Wire, node: Path) -> None:
    async with script(node, wire, message="hold") as client:
        await client.until("TEXT_MESSAGE_CONTENT")
        await wire.kernel.turns.stop(KEY)
        rest = await client.rest()
    assert rest[-2]["outcome"] == {"type": "cancelled"}


async def test_a_client_that_left_connects_again_and_gets_the_running_turn_from_its_start(
    wire: Wire, node: Path
) -> None:
    left = await run(node, wire, "hold", stopAt="TEXT_MESSAGE_CONTENT")
    assert "RUN_FINISHED" not in types(left)
    async with script(node, wire, connect="") as client:
        await client.until("TEXT_MESSAGE_CONTENT")
        wire.agent.go_on.set()
        rest = await client.rest()
    assert rest[-1]["messages"][-1]["content"] == "So far and on."


async def test_a_scheduled_turn_reaches_a_client_that_waits_for_it(wire: Wire, node: Path) -> None:
    first = await run(node, wire, "Hello")
    async with script(node, wire, connect=f"after={first[-1]['result']['cursor']}&wait=60") as client:
        await wire.arrival("/agui/connect")
        await wire.fire(KEY, "Look at the build.")
        events = await client.rest()
    assert texts(events) == "You said: Look at the build."
    source = events[0]["metadata"]["segue"]["source"]
    assert (source["kind"], source["label"]) == ("cron", "Report")


async def test_turns_that_were_missed_are_read_one_by_one_from_the_cursor(wire: Wire, node: Path) -> None:
    first = await run(node, wire, "Hello")
    cursor = first[-1]["result"]["cursor"]
    for count, name in enumerate(("one", "two"), 2):
        await wire.fire(KEY, name)
        await wire.ended(KEY, count)
    seen = []
    for _ in range(2):
        events = await connected(node, wire, f"after={cursor}")
        cursor = events[-1]["result"]["cursor"]
        seen.append(texts(events))
    assert seen == ["You said: one", "You said: two"]
    assert types(await connected(node, wire, f"after={cursor}")) == {"ended"}


async def test_a_question_is_an_interrupt_and_resume_answers_it(wire: Wire, node: Path) -> None:
    asked = (await run(node, wire, "ask"))[-1]
    (interrupt,) = asked["interrupts"]
    assert interrupt["message"] == "Pay now?"
    assert interrupt["expiresAt"].startswith("2026-11-17")
    entry = {"interruptId": interrupt["id"], "status": "resolved", "payload": "yes"}
    answered = await run(node, wire, "ask", resume=[entry])
    assert texts(answered) == "You said: yes"


async def test_a_thread_that_is_not_there_has_nothing_to_connect_to(wire: Wire, node: Path) -> None:
    assert types(await connected(node, wire, "", threadId="unknown")) == {"ended"}
    assert await wire.kernel.sessions.list() == []


async def test_an_image_is_a_part_of_the_message(wire: Wire, node: Path) -> None:
    image = {"type": "image", "source": {"type": "data", "value": CODED, "mimeType": "image/png"}}
    said = await run(node, wire, [{"type": "text", "text": "What is this?"}, image])
    assert texts(said) == "You said: What is this?"
    assert wire.agent.files == [("file.png", "image/png", PNG)]


async def test_what_is_malformed_is_refused_with_a_sentence(wire: Wire, node: Path) -> None:
    image = [{"type": "image", "source": {"type": "url", "value": ADDRESS}}]
    for options, code in (
        ({"message": image}, "unsupported_content"),
        ({"message": " "}, "bad_text"),
        ({"message": "x", "threadId": "a b"}, "bad_key"),
        ({"message": None}, "invalid"),
    ):
        async with script(node, wire, **options) as client:
            refused = (await client.rest())[0]
        assert refused["type"] == "failed"
        assert f'"code":"{code}"' in refused["message"]


async def test_a_thread_belongs_to_its_user(guarded: Wire, node: Path) -> None:
    await run(node, guarded, "Mine", headers=bearer(ADA))
    bens = await connected(node, guarded, "after=0", headers=bearer(BEN))
    adas = await connected(node, guarded, "after=0", headers=bearer(ADA))
    assert (texts(bens), texts(adas)) == ("", "You said: Mine")
    (refused, *_) = await run(node, guarded, "x")
    assert "HTTP 401" in refused["message"]
