"""The AI SDK wire, driven by the package `ai`: its chat, and its transport with the resume request."""

from pathlib import Path
from typing import Any

from tests.eventually import eventually
from tests.server.conftest import ADA, BEN, bearer
from tests.wires.conftest import Wire, running_script
from tests.wires.pictures import ADDRESS, DATA_URL, PNG

KEY = "websocket:tea"


def script(node: Path, wire: Wire, **options: Any) -> Any:
    return running_script(node, "ui", **{"url": wire.url, "id": "tea", **options})


def says(text: str) -> list[Any]:
    return [{"type": "text", "text": text}]


async def ended(node: Path, wire: Wire, **options: Any) -> tuple[list[Any], Any]:
    """What the client showed, and what it holds at its end."""
    async with script(node, wire, **options) as client:
        *shown, end = await client.rest()
    return shown, end


def text_of(message: Any) -> str:
    return "".join(part["text"] for part in message["parts"] if part["type"] == "text")


async def test_a_message_is_a_turn_of_the_chats_session(both: Wire, node: Path) -> None:
    _, end = await ended(node, both, parts=says("Hello"))
    assert (end["status"], text_of(end["messages"][-1])) == ("ready", "You said: Hello")
    assert [message.content for message in await both.kernel.messages(KEY)] == ["Hello", "You said: Hello"]


async def test_tools_and_usage_are_shown(wire: Wire, node: Path) -> None:
    _, end = await ended(node, wire, parts=says("tool"))
    answer = end["messages"][-1]
    assert text_of(answer) == "Let me look. It is green."
    tools = [part for part in answer["parts"] if part["type"] == "dynamic-tool"]
    assert [(tool["toolName"], tool["state"]) for tool in tools] == [
        ("look", "output-available"),
        ("open", "output-error"),
    ]
    assert (tools[0]["input"], tools[0]["output"]) == ({"at": "the build"}, "green")
    assert tools[1]["errorText"] == "it is locked"
    assert answer["metadata"]["usage"] == {"input_tokens": 12, "output_tokens": 5}


async def test_a_failed_turn_is_an_error_of_the_chat(wire: Wire, node: Path) -> None:
    shown, end = await ended(node, wire, parts=says("fail"))
    assert (shown[-1], end["status"]) == ({"type": "failed", "message": "I cannot answer now."}, "error")


async def test_stopping_the_chat_stops_the_turn_if_the_header_says_so(wire: Wire, node: Path) -> None:
    await ended(node, wire, parts=says("hold"), stopAt="So far", headers={"X-Segue-On-Disconnect": "stop"})

    async def stopped() -> bool:
        return (await wire.kernel.turns.list(KEY))[0].outcome == "stopped"

    assert await eventually(stopped, "the turn is stopped")


async def test_a_client_that_left_resumes_the_running_turn(wire: Wire, node: Path) -> None:
    await ended(node, wire, parts=says("hold"), stopAt="So far")
    async with script(node, wire) as client:  # the request that `useChat({ resume: true })` makes
        await client.until("message")
        wire.agent.go_on.set()
        *_, end = await client.rest()
    assert text_of(end["messages"][-1]) == "So far and on."


async def test_a_scheduled_turn_reaches_a_client_that_waits_for_it(wire: Wire, node: Path) -> None:
    _, first = await ended(node, wire, parts=says("Hello"))
    cursor = first["messages"][-1]["metadata"]["cursor"]
    async with script(node, wire, resume=f"after={cursor}&wait=60") as client:
        await wire.arrival("/ui/tea/stream")
        await wire.fire(KEY, "Look at the build.")
        *_, end = await client.rest()
    (message,) = end["messages"]
    assert text_of(message) == "You said: Look at the build."
    assert message["metadata"]["source"]["label"] == "Report"
    _, nothing = await ended(node, wire, resume=f"after={message['metadata']['cursor']}")
    assert (nothing["status"], nothing["messages"]) == ("ready", [])


async def test_a_turn_that_was_missed_is_resumed_from_the_cursor(wire: Wire, node: Path) -> None:
    _, first = await ended(node, wire, parts=says("Hello"))
    await wire.fire(KEY, "tool")
    await wire.ended(KEY, 2)
    _, end = await ended(node, wire, resume=f"after={first['messages'][-1]['metadata']['cursor']}")
    (message,) = end["messages"]
    assert text_of(message) == "Let me look. It is green."
    assert [part["toolName"] for part in message["parts"] if part["type"] == "dynamic-tool"] == [
        "look",
        "open",
    ]


async def test_a_question_is_a_data_part_and_the_next_message_answers_it(wire: Wire, node: Path) -> None:
    _, end = await ended(node, wire, parts=says("ask"))
    (question,) = [part["data"] for part in end["messages"][-1]["parts"] if part["type"] == "data-question"]
    assert (question["question"], question["choices"]) == ("Pay now?", ["yes", "no"])
    assert not (await wire.kernel.sessions.get(KEY)).busy
    _, answered = await ended(node, wire, parts=says("yes"))
    assert text_of(answered["messages"][-1]) == "You said: yes"


async def test_a_file_is_a_part_of_the_message(wire: Wire, node: Path) -> None:
    file = {"type": "file", "mediaType": "image/png", "filename": "photo.png", "url": DATA_URL}
    _, end = await ended(node, wire, parts=[*says("What is this?"), file])
    assert text_of(end["messages"][-1]) == "You said: What is this?"
    assert wire.agent.files == [("photo.png", "image/png", PNG)]


async def test_what_is_malformed_is_refused_with_a_sentence(wire: Wire, node: Path) -> None:
    picture = [{"type": "file", "mediaType": "image/png", "url": ADDRESS}]
    for parts, sentence in (
        (
            picture,
            "content: a file at another address is not fetched; send the file itself, as a data: URL",
        ),
        (says(" "), "a message is empty; write at least one word"),
    ):
        shown, end = await ended(node, wire, parts=parts)
        assert (shown[-1]["message"], end["status"]) == (sentence, "error")


async def test_a_chat_belongs_to_its_user(guarded: Wire, node: Path) -> None:
    await ended(node, guarded, parts=says("Mine"), headers=bearer(ADA))
    _, bens = await ended(node, guarded, resume="after=0", headers=bearer(BEN))
    _, adas = await ended(node, guarded, resume="after=0", headers=bearer(ADA))
    assert (bens["messages"], text_of(adas["messages"][-1])) == ([], "You said: Mine")
    shown, _ = await ended(node, guarded, parts=says("x"))
    assert "a valid API key is required" in shown[-1]["message"]
