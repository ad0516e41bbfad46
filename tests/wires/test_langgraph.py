"""The LangGraph wire, driven by the package `langgraph_sdk`."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from datetime import datetime
from typing import Any
from uuid import UUID

import httpx
import pytest
import pytest_asyncio
from langgraph_sdk import get_client
from langgraph_sdk.client import LangGraphClient
from langgraph_sdk.errors import (
    AuthenticationError,
    ConflictError,
    NotFoundError,
    UnprocessableEntityError,
)

from segue.testing.manual_clock import START
from tests.eventually import eventually
from tests.server.conftest import ADA, BEN, bearer
from tests.wires.conftest import Wire
from tests.wires.pictures import DATA_URL, PNG


@asynccontextmanager
async def client_of(wire: Wire, key: str | None = None) -> AsyncIterator[LangGraphClient]:
    headers = {} if key is None else bearer(key)
    async with get_client(url=f"{wire.url}/langgraph", headers=headers) as client:
        yield client


@pytest_asyncio.fixture
async def client(wire: Wire) -> AsyncIterator[LangGraphClient]:
    async with client_of(wire) as client:
        yield client


def says(text: str) -> dict[str, Any]:
    return {"messages": [{"role": "user", "content": text}]}


def contents(values: Any) -> list[str]:
    return [message["content"] for message in values["messages"]]


async def new_thread(client: LangGraphClient) -> str:
    return str((await client.threads.create())["thread_id"])


async def test_a_run_is_a_turn_of_the_threads_session(both: Wire) -> None:
    async with client_of(both) as client:
        thread = await new_thread(client)
        assert str(UUID(thread)) == thread
        values = await client.runs.wait(thread, "segue", input=says("Hello"))
        state = await client.threads.get_state(thread)
    assert contents(values) == contents(state["values"]) == ["Hello", "You said: Hello"]
    assert [message["type"] for message in values["messages"]] == ["human", "ai"]  # type: ignore[call-overload]
    assert len(await both.kernel.messages(f"websocket:{thread}")) == 2


async def test_a_run_is_streamed_with_its_tools(client: LangGraphClient) -> None:
    thread = await new_thread(client)
    parts = [
        part
        async for part in client.runs.stream(
            thread, "segue", input=says("tool"), stream_mode=["values", "messages-tuple", "updates"]
        )
    ]
    assert (parts[0].event, parts[-1].event) == ("metadata", "end")
    chunks = [part.data[0] for part in parts if part.event == "messages"]
    text = "".join(chunk["content"] for chunk in chunks if chunk["type"] == "AIMessageChunk")
    assert text == "Let me look. It is green."
    calls = [call for chunk in chunks for call in chunk.get("tool_calls", ())]
    assert [(call["name"], call["args"]) for call in calls] == [("look", {"at": "the build"}), ("open", {})]
    results = [(chunk["content"], chunk["status"]) for chunk in chunks if chunk["type"] == "tool"]
    assert results == [("green", "success"), ("it is locked", "error")]
    assert {node for part in parts if part.event == "updates" for node in part.data} == {"agent", "tools"}
    assert contents([part.data for part in parts if part.event == "values"][-1])[-1] == (
        "Let me look. It is green."
    )


async def test_a_run_in_the_background_is_joined_got_and_listed_with_real_times(
    wire: Wire, client: LangGraphClient
) -> None:
    thread = await new_thread(client)
    created: list[Any] = []
    run = await client.runs.create(thread, "segue", input=says("hold"), on_run_created=created.append)
    assert created == [{"run_id": run["run_id"], "thread_id": thread}]
    await wire.agent.holding.wait()
    assert (await client.runs.get(thread, run["run_id"]))["status"] == "running"
    assert (await client.threads.get(thread))["status"] == "busy"
    wire.agent.go_on.set()
    assert contents(await client.runs.join(thread, run["run_id"]))[-1] == "So far and on."
    (listed,) = await client.runs.list(thread)
    assert (listed["run_id"], listed["status"]) == (run["run_id"], "success")
    assert datetime.fromisoformat(str(listed["created_at"])) == START
    assert (await client.threads.get(thread))["status"] == "idle"


async def test_a_client_that_left_joins_the_stream_of_the_run_again(
    wire: Wire, client: LangGraphClient
) -> None:
    thread = await new_thread(client)
    async for part in client.runs.stream(
        thread, "segue", input=says("hold"), stream_mode="messages-tuple", on_disconnect="continue"
    ):
        if part.event == "messages":
            break
    (run,) = await client.runs.list(thread)
    texts: list[str] = []
    async for part in client.runs.join_stream(thread, run["run_id"], stream_mode=["messages-tuple"]):
        if part.event == "messages":
            wire.agent.go_on.set()
            texts.append(part.data[0]["content"])
    assert "".join(texts) == "So far and on."


async def test_a_run_is_cancelled_by_a_request_and_by_a_disconnect_that_says_so(
    wire: Wire, client: LangGraphClient
) -> None:
    thread = await new_thread(client)
    run = await client.runs.create(thread, "segue", input=says("hold"))
    await wire.agent.holding.wait()
    await client.runs.cancel(thread, run["run_id"], wait=True)
    assert (await client.runs.get(thread, run["run_id"]))["status"] == "interrupted"
    wire.agent.holding.clear()
    waiting = asyncio.create_task(
        client.runs.wait(thread, "segue", input=says("hold"), on_disconnect="cancel")
    )
    await wire.agent.holding.wait()
    waiting.cancel()

    async def stopped() -> bool:
        return [run["status"] for run in await client.runs.list(thread)] == ["interrupted", "interrupted"]

    assert await eventually(stopped, "the second run is cancelled")


async def test_a_cron_is_created_found_and_deleted_and_its_runs_are_in_the_thread(
    wire: Wire, client: LangGraphClient
) -> None:
    thread = await new_thread(client)
    cron: Any = await client.crons.create_for_thread(
        thread,
        "segue",
        schedule="0 10 * * *",
        timezone="Europe/Berlin",
        input=says("Look at the build."),
        metadata={"name": "Build"},
    )
    (found,) = await client.crons.search(thread_id=thread)
    assert (found["cron_id"], found["schedule"], found["timezone"]) == (
        cron["cron_id"],
        "0 10 * * *",
        "Europe/Berlin",
    )
    assert str(found["next_run_date"]) == "2026-11-17T09:00:00.000+00:00"
    assert (found["payload"]["input"], found["enabled"]) == (says("Look at the build."), True)
    wire.clock.advance(hours=24)
    await wire.ended(f"websocket:{thread}", 1)
    (run,) = await client.runs.list(thread)
    assert run["metadata"] == {"cron_id": cron["cron_id"]}
    joined = await client.runs.join(thread, run["run_id"])
    assert contents(joined)[-1] == "You said: Look at the build."
    await client.crons.delete(cron["cron_id"])
    assert await client.crons.search(thread_id=thread) == []


async def test_a_cron_without_a_thread_gets_one_and_is_found_among_all(client: LangGraphClient) -> None:
    cron: Any = await client.crons.create("segue", schedule="0 9 * * *", input=says("Look."), enabled=False)
    (found,) = await client.crons.search()
    assert (found["cron_id"], found["enabled"], found["timezone"]) == (cron["cron_id"], False, "UTC")
    assert (await client.threads.get(str(found["thread_id"])))["status"] == "idle"
    assert await client.crons.search(enabled=True) == []


async def test_a_question_is_an_interrupt_and_a_resume_command_answers_it(client: LangGraphClient) -> None:
    thread = await new_thread(client)
    values: Any = await client.runs.wait(thread, "segue", input=says("ask"))
    (interrupt,) = values["__interrupt__"]
    assert interrupt["value"] == {"question": "Pay now?", "choices": ["yes", "no"]}
    found = await client.threads.get(thread)
    assert (found["status"], [*found["interrupts"].values()]) == ("interrupted", [[interrupt]])
    state = await client.threads.get_state(thread)
    assert state["tasks"][0]["interrupts"] == state["interrupts"] == [interrupt]
    answered = await client.runs.wait(thread, "segue", command={"resume": "yes"})
    assert contents(answered)[-1] == "You said: yes"


async def test_a_failed_run_raises_and_is_an_error_event(client: LangGraphClient) -> None:
    thread = await new_thread(client)
    with pytest.raises(Exception, match="I cannot answer now"):
        await client.runs.wait(thread, "segue", input=says("fail"))
    parts = [part async for part in client.runs.stream(thread, "segue", input=says("fail"))]
    assert ("error", {"error": "TurnFailed", "message": "I cannot answer now."}) in [
        (part.event, part.data) for part in parts
    ]
    assert {run["status"] for run in await client.runs.list(thread)} == {"error"}


async def test_a_run_without_a_thread_makes_one(wire: Wire, client: LangGraphClient) -> None:
    values = await client.runs.wait(None, "segue", input=says("Hello"))
    assert contents(values) == ["Hello", "You said: Hello"]
    (thread,) = await client.threads.search()
    assert contents(thread["values"]) == ["Hello", "You said: Hello"]


async def test_any_session_is_the_thread_of_its_key(wire: Wire, client: LangGraphClient) -> None:
    await wire.kernel.log.write("telegram:42", "user", "I am in Rome.")
    (thread,) = await client.threads.search()
    assert thread["thread_id"] == "telegram:42"
    assert contents((await client.threads.get_state("telegram:42"))["values"]) == ["I am in Rome."]
    assert contents((await client.threads.get_history("telegram:42"))[0]["values"]) == ["I am in Rome."]


async def test_a_thread_is_created_once_and_deleted_without_crons(client: LangGraphClient) -> None:
    await client.threads.create(thread_id="mine", metadata={"topic": "tea"})
    with pytest.raises(ConflictError):
        await client.threads.create(thread_id="mine")
    again = await client.threads.create(thread_id="mine", if_exists="do_nothing")
    assert again["metadata"] == {"topic": "tea", "graph_id": "segue"}
    cron: Any = await client.crons.create_for_thread(
        "mine", "segue", schedule="0 9 * * *", input=says("Look.")
    )
    with pytest.raises(ConflictError):
        await client.threads.delete("mine")
    await client.crons.delete(cron["cron_id"])
    await client.threads.delete("mine")
    with pytest.raises(NotFoundError):
        await client.threads.get("mine")


async def test_an_image_of_a_run_is_a_part_of_the_message(wire: Wire, client: LangGraphClient) -> None:
    parts = [{"type": "text", "text": "Look"}, {"type": "image_url", "image_url": {"url": DATA_URL}}]
    thread = await new_thread(client)
    said: Any = {"messages": [{"role": "user", "content": parts}]}
    await client.runs.wait(thread, "segue", input=said)
    assert wire.agent.files == [("file.png", "image/png", PNG)]


async def test_what_is_unknown_or_malformed_is_an_error_of_langgraph(client: LangGraphClient) -> None:
    thread = await new_thread(client)
    image: Any = {
        "messages": [{"role": "user", "content": [{"type": "image_url", "image_url": {"url": "x"}}]}]
    }
    refused: list[tuple[Callable[[], Awaitable[Any]], type[Exception]]] = [
        (lambda: client.threads.get("a b"), NotFoundError),
        (lambda: client.threads.get_state("none"), NotFoundError),
        (lambda: client.runs.create("none", "segue", input=says("x")), NotFoundError),
        (lambda: client.runs.create(thread, "other", input=says("x")), NotFoundError),
        (lambda: client.runs.get(thread, "none"), NotFoundError),
        (lambda: client.runs.join(thread, "none"), httpx.HTTPStatusError),  # what this method raises
        (lambda: client.runs.cancel(thread, "none"), NotFoundError),
        (lambda: client.crons.delete("none"), NotFoundError),
        (lambda: client.crons.search(thread_id="none"), NotFoundError),
        (lambda: client.runs.create(thread, "segue", input={}), UnprocessableEntityError),
        (lambda: client.runs.create(thread, "segue", input=image), UnprocessableEntityError),
        (lambda: client.runs.create(thread, "segue", input=says(" ")), UnprocessableEntityError),
        (
            lambda: client.runs.create(thread, "segue", input=says("x"), after_seconds=5),
            UnprocessableEntityError,
        ),
        (
            lambda: client.runs.create(thread, "segue", input=says("x"), multitask_strategy="rollback"),
            UnprocessableEntityError,
        ),
        (
            lambda: client.crons.create_for_thread(thread, "segue", schedule="tomorrow", input=says("x")),
            UnprocessableEntityError,
        ),
        (
            lambda: client.crons.create_for_thread(
                thread, "segue", schedule="0 9 * * *", timezone="Mars", input=says("x")
            ),
            UnprocessableEntityError,
        ),
    ]
    for request, kind in refused:
        with pytest.raises(kind) as raised:
            await request()
        assert str(raised.value)


async def test_a_thread_is_created_by_a_run_that_says_so(client: LangGraphClient) -> None:
    values = await client.runs.wait("new", "segue", input=says("Hello"), if_not_exists="create")
    assert contents(values) == ["Hello", "You said: Hello"]


async def test_threads_runs_and_crons_belong_to_their_user(guarded: Wire) -> None:
    async with client_of(guarded, ADA) as ada, client_of(guarded, BEN) as ben, client_of(guarded) as stranger:
        thread = await new_thread(ada)
        run = await ada.runs.create(thread, "segue", input=says("Mine"))
        await ada.runs.join(thread, run["run_id"])
        cron: Any = await ada.crons.create_for_thread(
            thread, "segue", schedule="0 9 * * *", input=says("Look.")
        )
        bens = await new_thread(ben)
        requests: list[Callable[[], Awaitable[Any]]] = [
            lambda: ben.threads.get(thread),
            lambda: ben.threads.delete(thread),
            lambda: ben.runs.list(thread),
            lambda: ben.runs.get(bens, run["run_id"]),
            lambda: ben.runs.cancel(bens, run["run_id"]),
            lambda: ben.crons.delete(cron["cron_id"]),
        ]
        for request in requests:
            with pytest.raises(NotFoundError):
                await request()
        assert await ben.crons.search() == []
        assert [found["thread_id"] for found in await ben.threads.search()] == [bens]
        with pytest.raises(AuthenticationError):
            await stranger.threads.search()
