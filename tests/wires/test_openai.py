"""The OpenAI wire, driven by the package `openai`."""

import asyncio
import base64
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import openai
import pytest
import pytest_asyncio
from openai import AsyncOpenAI

from tests.eventually import eventually
from tests.server.conftest import ADA, BEN
from tests.wires.conftest import Wire
from tests.wires.pictures import ADDRESS, DATA_URL, PNG

SESSION = {"X-Segue-Session": "websocket:tea"}
STOPPING = SESSION | {"X-Segue-On-Disconnect": "stop"}


def client_of(wire: Wire, key: str = "not-needed") -> AsyncOpenAI:
    return AsyncOpenAI(base_url=f"{wire.url}/v1", api_key=key, max_retries=1, timeout=60)


@pytest_asyncio.fixture
async def client(wire: Wire) -> AsyncIterator[AsyncOpenAI]:
    async with client_of(wire) as client:
        yield client


def says(text: str) -> list[Any]:
    return [{"role": "system", "content": "Be brief."}, {"role": "user", "content": text}]


async def test_a_chat_completion_is_a_turn_of_the_session(both: Wire) -> None:
    async with client_of(both) as client:
        answered = await client.chat.completions.create(
            model="segue", messages=says("Hello"), extra_headers=SESSION
        )
    assert answered.choices[0].message.content == "You said: Hello"
    assert answered.choices[0].finish_reason == "stop"
    assert [message.content for message in await both.kernel.messages("websocket:tea")] == [
        "Hello",
        "You said: Hello",
    ]


async def test_only_the_last_user_message_is_taken_and_the_history_is_the_sessions(
    wire: Wire, client: AsyncOpenAI
) -> None:
    history: list[Any] = [
        {"role": "user", "content": "Invented"},
        {"role": "assistant", "content": "As well"},
        {"role": "user", "content": [{"type": "text", "text": "Two"}]},
    ]
    for messages in (says("One"), history):
        await client.chat.completions.create(model="segue", messages=messages, extra_headers=SESSION)
    assert wire.agent.asked == ["One", "Two"]
    assert wire.agent.histories == [[], ["One", "You said: One"]]


async def test_a_chat_without_a_session_makes_one_and_names_it_in_the_header(
    wire: Wire, client: AsyncOpenAI
) -> None:
    answered = await client.chat.completions.with_raw_response.create(model="segue", messages=says("Hello"))
    key = answered.headers["X-Segue-Session"]
    assert [message.content for message in await wire.kernel.messages(key)] == ["Hello", "You said: Hello"]


async def test_a_chat_is_streamed_with_its_usage(client: AsyncOpenAI) -> None:
    stream = await client.chat.completions.create(
        model="segue", messages=says("tool"), stream=True, stream_options={"include_usage": True}
    )
    chunks = [chunk async for chunk in stream]
    text = "".join(chunk.choices[0].delta.content or "" for chunk in chunks if chunk.choices)
    assert text == "Let me look. It is green."
    assert [chunk.choices[0].finish_reason for chunk in chunks if chunk.choices][-1] == "stop"
    assert chunks[-1].usage is not None
    assert (chunks[-1].usage.prompt_tokens, chunks[-1].usage.completion_tokens) == (12, 5)


async def test_the_turn_goes_on_when_the_client_leaves(wire: Wire, client: AsyncOpenAI) -> None:
    stream = await client.chat.completions.create(
        model="segue", messages=says("hold"), stream=True, extra_headers=SESSION
    )
    async for chunk in stream:
        if chunk.choices[0].delta.content:
            break
    await stream.close()
    wire.agent.go_on.set()

    async def answer() -> bool:
        return [m.content for m in await wire.kernel.messages("websocket:tea")][1:] == ["So far and on."]

    assert await eventually(answer, "the whole answer is in the session")


async def test_closing_the_stream_stops_the_turn_if_the_header_says_so(
    wire: Wire, client: AsyncOpenAI
) -> None:
    stream = await client.chat.completions.create(
        model="segue", messages=says("hold"), stream=True, extra_headers=STOPPING
    )
    async for chunk in stream:
        if chunk.choices[0].delta.content:
            break
    await stream.close()
    await stopped(wire)


async def test_leaving_a_plain_request_stops_the_turn_if_the_header_says_so(
    wire: Wire, client: AsyncOpenAI
) -> None:
    asked = asyncio.create_task(
        client.chat.completions.create(model="segue", messages=says("hold"), extra_headers=STOPPING)
    )
    await wire.agent.holding.wait()
    asked.cancel()
    await stopped(wire)


async def stopped(wire: Wire) -> None:
    async def answer() -> bool:
        return [m.content for m in await wire.kernel.messages("websocket:tea")][1:] == ["So far\n\n(stopped)"]

    assert await eventually(answer, "the turn was stopped")


async def test_a_failed_turn_is_an_error_and_is_not_sent_again(wire: Wire, client: AsyncOpenAI) -> None:
    with pytest.raises(openai.InternalServerError, match="I cannot answer now") as raised:
        await client.chat.completions.create(model="segue", messages=says("fail"))
    assert (raised.value.status_code, raised.value.code) == (502, "turn_failed")
    stream = await client.chat.completions.create(model="segue", messages=says("fail"), stream=True)
    with pytest.raises(openai.APIError, match="I cannot answer now"):
        async for _ in stream:
            pass
    assert wire.agent.asked == ["fail", "fail"]


async def test_a_repeated_request_gets_the_first_answer(wire: Wire, client: AsyncOpenAI) -> None:
    once = {"Idempotency-Key": "a-key-of-one-request"}
    answers = [
        await client.chat.completions.with_raw_response.create(
            model="segue", messages=says("Hello"), extra_headers=once
        )
        for _ in range(2)
    ]
    assert len({answer.headers["X-Segue-Session"] for answer in answers}) == 1
    assert [answer.parse().choices[0].message.content for answer in answers] == ["You said: Hello"] * 2
    assert wire.agent.asked == ["Hello"]


async def test_the_model_is_listed(client: AsyncOpenAI) -> None:
    assert [model.id async for model in client.models.list()] == ["segue"]
    assert (await client.models.retrieve("segue")).owned_by == "segue"
    with pytest.raises(openai.NotFoundError) as raised:
        await client.models.retrieve("gpt-4")
    assert raised.value.code == "model_not_found"


async def test_a_response_shows_text_tools_and_usage(client: AsyncOpenAI) -> None:
    response = await client.responses.create(model="segue", input="tool")
    assert response.status == "completed"
    assert response.output_text == "Let me look. It is green."
    calls = [item for item in response.output if item.type == "mcp_call"]
    assert [(call.name, call.arguments, call.status, call.output) for call in calls] == [
        ("look", '{"at": "the build"}', "completed", "green"),
        ("open", "{}", "failed", None),
    ]
    assert "it is locked" in str(calls[1].error)
    assert response.usage is not None
    assert (response.usage.input_tokens, response.usage.output_tokens, response.usage.total_tokens) == (
        12,
        5,
        17,
    )


async def test_a_response_is_streamed_and_the_client_assembles_it(client: AsyncOpenAI) -> None:
    async with client.responses.stream(model="segue", input="tool") as stream:
        types = [event.type async for event in stream]
        final = await stream.get_final_response()
    assert types[:2] == ["response.created", "response.in_progress"]
    assert types[-1] == "response.completed"
    assert {"response.output_text.delta", "response.mcp_call.completed", "response.mcp_call.failed"} <= {
        *types
    }
    assert final.output_text == "Let me look. It is green."


async def test_a_response_continues_the_one_before_and_its_conversation(
    wire: Wire, client: AsyncOpenAI
) -> None:
    first = await client.responses.create(model="segue", input="One")
    second = await client.responses.create(model="segue", input="Two", previous_response_id=first.id)
    assert second.conversation is not None
    third = await client.responses.create(
        model="segue",
        input=[{"role": "user", "content": [{"type": "input_text", "text": "Three"}]}],
        conversation=second.conversation.id,
    )
    assert third.output_text == "You said: Three"
    assert [len(history) for history in wire.agent.histories] == [0, 2, 4]


async def test_a_response_in_the_background_is_retrieved_and_streamed_later(
    wire: Wire, client: AsyncOpenAI
) -> None:
    queued = await client.responses.create(model="segue", input="hold", background=True)
    assert queued.status == "queued"
    await wire.agent.holding.wait()
    assert (await client.responses.retrieve(queued.id)).status == "in_progress"
    stream = await client.responses.retrieve(queued.id, stream=True)
    wire.agent.go_on.set()
    deltas = [event.delta async for event in stream if event.type == "response.output_text.delta"]
    assert "".join(deltas) == "So far and on."
    assert (await client.responses.retrieve(queued.id)).output_text == "So far and on."


async def test_a_response_is_cancelled_while_it_runs_and_while_it_waits(
    wire: Wire, client: AsyncOpenAI
) -> None:
    running = await client.responses.create(model="segue", input="hold", background=True)
    assert running.conversation is not None
    waiting = await client.responses.create(
        model="segue", input="Never", background=True, conversation=running.conversation.id
    )
    await wire.agent.holding.wait()
    assert (await client.responses.cancel(waiting.id)).status == "cancelled"
    cancelled = await client.responses.cancel(running.id)
    assert (cancelled.status, cancelled.output_text) == ("cancelled", "So far")
    assert wire.agent.asked == ["hold"]


async def test_a_failed_response_says_so(client: AsyncOpenAI) -> None:
    response = await client.responses.create(model="segue", input="fail")
    assert response.status == "failed"
    assert response.error is not None
    assert response.error.message == "I cannot answer now."


async def test_a_question_of_the_agent_ends_the_text_and_the_next_message_answers_it(
    client: AsyncOpenAI,
) -> None:
    asked = await client.responses.create(model="segue", input="ask")
    assert asked.output_text == "I can pay. \n\nPay now? (yes / no)"
    again = await client.responses.retrieve(asked.id)
    assert again.output_text == asked.output_text


async def test_a_scheduled_turn_is_in_the_history_of_the_next_request(
    wire: Wire, client: AsyncOpenAI
) -> None:
    await client.chat.completions.create(model="segue", messages=says("One"), extra_headers=SESSION)
    await wire.fire("websocket:tea", "Look at the build.")
    await wire.ended("websocket:tea", 2)
    await client.chat.completions.create(model="segue", messages=says("Two"), extra_headers=SESSION)
    assert wire.agent.histories[-1][-1] == "You said: Look at the build."


def shows(url: str, text: str = "What is this?") -> list[Any]:
    parts = [{"type": "text", "text": text}, {"type": "image_url", "image_url": {"url": url}}]
    return [{"role": "user", "content": parts}]


async def test_an_image_of_a_chat_completion_is_a_part_of_the_message(both: Wire) -> None:
    async with client_of(both) as client:
        answered = await client.chat.completions.create(
            model="segue", messages=shows(DATA_URL), extra_headers=SESSION
        )
    assert answered.choices[0].message.content == "You said: What is this?"
    assert both.agent.files == [("file.png", "image/png", PNG)]
    (asked, _) = await both.kernel.messages("websocket:tea")
    assert [(part.type, part.size) for part in asked.parts] == [("image", len(PNG))]


async def test_an_image_and_a_file_of_a_response_are_parts_of_the_message(
    wire: Wire, client: AsyncOpenAI
) -> None:
    parts: list[Any] = [
        {"type": "input_image", "image_url": DATA_URL, "detail": "auto"},
        {"type": "input_file", "filename": "notes.txt", "file_data": "data:text/plain;base64,R3JlZW4u"},
    ]
    response = await client.responses.create(model="segue", input=[{"role": "user", "content": parts}])
    assert response.output_text == "You said: [file.png], [notes.txt]"
    assert wire.agent.files == [("file.png", "image/png", PNG), ("notes.txt", "text/plain", b"Green.")]


async def test_a_repeated_request_with_an_image_stores_it_once(wire: Wire, client: AsyncOpenAI) -> None:
    for _ in range(2):
        await client.chat.completions.create(
            model="segue", messages=shows(DATA_URL), extra_headers={"Idempotency-Key": "once"}
        )
    assert wire.agent.files == [("file.png", "image/png", PNG)]
    assert len(await wire.kernel.sessions.list()) == 1


async def test_the_limits_of_files_hold_for_an_image_in_a_message(wire: Wire, client: AsyncOpenAI) -> None:
    def sized(megabytes: int) -> str:
        return "data:image/png;base64," + base64.b64encode(PNG + bytes(megabytes << 20)).decode()

    large = await client.chat.completions.create(model="segue", messages=shows(sized(8)))
    assert large.choices[0].message.content == "You said: What is this?"
    with pytest.raises(openai.BadRequestError, match="may have 20,") as refused:
        await client.chat.completions.create(model="segue", messages=shows(sized(20)))
    assert refused.value.code == "bad_file"
    with pytest.raises(openai.APIStatusError) as stopped:
        await client.chat.completions.create(model="segue", messages=shows(sized(26)))
    assert stopped.value.status_code == 413


async def test_what_is_unknown_or_malformed_is_an_error_of_openai(client: AsyncOpenAI) -> None:
    create = client.chat.completions.create
    image: list[Any] = [{"role": "user", "content": [{"type": "image_url", "image_url": {"url": ADDRESS}}]}]
    empty: list[Any] = [{"role": "user"}]
    refused: list[tuple[Callable[[], Awaitable[Any]], type[openai.APIStatusError], str]] = [
        (lambda: create(model="gpt-4", messages=says("x")), openai.NotFoundError, "model_not_found"),
        (lambda: create(model="segue", messages=[]), openai.BadRequestError, "invalid"),
        (lambda: create(model="segue", messages=says(" ")), openai.BadRequestError, "bad_text"),
        (lambda: create(model="segue", messages=says("x"), n=2), openai.BadRequestError, "invalid"),
        (lambda: create(model="segue", messages=image), openai.BadRequestError, "unsupported_content"),
        (lambda: create(model="segue", messages=empty), openai.BadRequestError, "invalid"),
        (
            lambda: create(model="segue", messages=says("x"), extra_headers={"X-Segue-Session": "a b"}),
            openai.BadRequestError,
            "bad_key",
        ),
        (
            lambda: client.responses.create(model="segue", input="x", previous_response_id="resp_none"),
            openai.NotFoundError,
            "not_found",
        ),
        (
            lambda: client.responses.create(model="segue", input="x", conversation="conv_none"),
            openai.NotFoundError,
            "not_found",
        ),
        (lambda: client.responses.retrieve("resp_none"), openai.NotFoundError, "not_found"),
        (lambda: client.responses.cancel("resp_none"), openai.NotFoundError, "not_found"),
    ]
    for request, kind, code in refused:
        with pytest.raises(kind) as raised:
            await request()
        assert raised.value.code == code
        assert raised.value.type


async def test_the_bearer_key_decides_whose_session_it_is(guarded: Wire) -> None:
    async with client_of(guarded, ADA) as ada, client_of(guarded, BEN) as ben, client_of(guarded) as stranger:
        mine = await ada.responses.create(model="segue", input="One", extra_headers=SESSION)
        assert mine.conversation is not None
        await ben.responses.create(model="segue", input="Two", extra_headers=SESSION)
        assert guarded.agent.histories[-1] == []  # the same name is another session
        requests: list[Callable[[], Awaitable[Any]]] = [
            lambda: ben.responses.retrieve(mine.id),
            lambda: ben.responses.cancel(mine.id),
            lambda: ben.responses.create(model="segue", input="x", previous_response_id=mine.id),
        ]
        for request in requests:
            with pytest.raises(openai.NotFoundError):
                await request()
        with pytest.raises(openai.AuthenticationError) as raised:
            await stranger.models.list()
        assert raised.value.code == "unauthorized"
