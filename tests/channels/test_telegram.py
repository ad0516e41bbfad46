"""Telegram channel, with a fake Bot API on loopback."""

import asyncio
import logging
from collections.abc import AsyncIterator
from dataclasses import replace
from functools import partial
from typing import Any

import pytest
import pytest_asyncio

from segue import Ask, At, Kernel, NotTaken, OpenTurn, Rejected, Unreachable
from segue.channels.telegram import LONGEST, Telegram, Webhook
from segue.config import Configuration
from segue.model.channel import Door
from segue.server import create_app
from segue.testing import ManualClock, ScriptedAgent, check_arrival, check_channel, quiet
from segue.testing.conformance import delivery
from tests.channels.bot_api import TOKEN, BotApi, Refusal, bot_api
from tests.eventually import eventually
from tests.server.conftest import reach, working

CHAT = "telegram:7"


@pytest_asyncio.fixture
async def api() -> AsyncIterator[BotApi]:
    async with bot_api() as api:
        yield api


@pytest_asyncio.fixture
async def telegram(api: BotApi) -> AsyncIterator[Telegram]:
    async with Telegram(TOKEN, url=api.url) as channel:
        yield channel


@pytest.fixture
def agent() -> ScriptedAgent:
    return ScriptedAgent()


@pytest_asyncio.fixture
async def kernel(database_url: str, telegram: Telegram, agent: ScriptedAgent) -> AsyncIterator[Kernel]:
    async with Kernel(database_url, agent=agent, channels=[telegram]) as kernel:
        yield kernel
        assert not await kernel.audit()


async def test_it_conforms_to_the_channel_protocol(api: BotApi, telegram: Telegram) -> None:
    async def seen() -> list[str]:
        return api.shown("7")

    await check_channel(telegram, chat_id="7", seen=seen)

    async def write(text: str) -> None:
        await api.write(text)

    arrival = await check_arrival(telegram, write)
    assert (arrival.chat_id, arrival.chat_type, arrival.sender) == ("7", "private", "7")


async def test_a_conversation_by_long_polling(api: BotApi, kernel: Kernel, agent: ScriptedAgent) -> None:
    agent.script("Hello **Ada**, `2 < 3`.")
    async with asyncio.TaskGroup() as group:
        running = group.create_task(kernel.run())
        await api.write("Hello")
        await eventually(lambda: api.shown("7"), "an answer")
        running.cancel()
    assert api.shown("7") == ["Hello Ada, 2 < 3."]
    sent = [given for method, given in api.calls if method == "sendMessage"]
    # On a slow machine a draft is shown before the answer is complete.
    assert sent[0]["text"].removesuffix(" …") == "Hello <b>Ada</b>, <code>2 &lt; 3</code>."
    assert [message.content for message in await kernel.messages(CHAT)] == [
        "Hello",
        "Hello **Ada**, `2 < 3`.",
    ]


def confirmed(api: BotApi, since: int) -> bool:
    return any(method == "getUpdates" and given["offset"] == 2 for method, given in api.calls[since:])


async def test_an_update_that_comes_again_is_answered_once(
    api: BotApi, kernel: Kernel, telegram: Telegram
) -> None:
    """After a crash before the confirmation, the next process receives it again."""
    await api.write("Hello")
    for _ in range(2):
        async with asyncio.TaskGroup() as group:
            running = group.create_task(kernel.run())
            polls = len(api.calls)
            await eventually(partial(confirmed, api, polls), "a confirmation")
            running.cancel()
    assert len([m for m in await kernel.messages(CHAT) if m.role == "user"]) == 1


async def test_a_growing_answer_is_shown_and_then_replaced_by_the_complete_one(
    api: BotApi, telegram: Telegram
) -> None:
    await telegram.show("7", "turn-1", "Once upon")
    await telegram.show("7", "turn-1", "Once upon a time")
    assert api.shown("7") == ["Once upon a time …"]
    whole = delivery(telegram, "7", "d-1", "Once upon a time there was a king.")
    receipt = await telegram.send(replace(whole, turn_id="turn-1"))
    assert (api.shown("7"), receipt.message_id) == (["Once upon a time there was a king."], "1")
    await telegram.show("7", "turn-1", "Once upon")
    assert api.shown("7") == ["Once upon a time there was a king."], "nothing is shown after the end"


async def test_a_slow_turn_is_shown_by_the_workers(
    api: BotApi, telegram: Telegram, database_url: str
) -> None:
    gate = asyncio.Event()

    async def slow(turn: OpenTurn) -> AsyncIterator[str]:
        yield "Once upon "
        await gate.wait()
        yield "a time."

    async with Kernel(database_url, agent=slow, channels=[telegram]) as kernel, asyncio.TaskGroup() as group:
        running = group.create_task(kernel.run())
        await api.write("Tell me a story")
        await eventually(lambda: api.shown("7") == ["Once upon …"], "what was said so far")
        gate.set()
        await eventually(lambda: api.shown("7") == ["Once upon a time."], "the whole")
        running.cancel()


@pytest.mark.parametrize(
    ("refusal", "error"),
    [
        (Refusal("sendMessage", 403, "Forbidden: bot was blocked by the user"), Rejected),
        (Refusal("sendMessage", 400, "Bad Request: chat not found"), Rejected),
        (Refusal("sendMessage", 401, "Unauthorized"), Unreachable),
        (Refusal("sendMessage", 502, "Bad Gateway"), ConnectionError),
    ],
)
async def test_what_a_refusal_means(
    api: BotApi, telegram: Telegram, refusal: Refusal, error: type[Exception]
) -> None:
    api.refusals.append(refusal)
    with pytest.raises(error):
        await telegram.send(delivery(telegram, "7", "d-1", "Hello"))


async def test_a_pause_that_telegram_asks_for_is_passed_on(api: BotApi, telegram: Telegram) -> None:
    api.refusals.append(Refusal("sendMessage", 429, "Too Many Requests", retry_after=17))
    with pytest.raises(NotTaken) as refusal:
        await telegram.send(delivery(telegram, "7", "d-1", "Hello"))
    assert refusal.value.retry_after == 17


async def test_a_pause_between_two_parts_is_waited_for_and_no_part_comes_twice(
    api: BotApi, telegram: Telegram
) -> None:
    long = "\n\n".join(f"Paragraph {n}. " + "word " * 100 for n in range(20))
    first = await telegram.send(delivery(telegram, "7", "d-1", long))
    parts = api.shown("7")
    assert len(parts) > 2
    assert all(part.startswith("Paragraph") for part in parts), "cut between paragraphs"
    assert first.message_id == str(len(parts))


async def test_html_that_telegram_refuses_is_sent_as_markdown(api: BotApi, telegram: Telegram) -> None:
    api.refusals.append(Refusal("sendMessage", 400, "Bad Request: can't parse entities: x"))
    await telegram.send(delivery(telegram, "7", "d-1", "*Hello*"))
    assert api.shown("7") == ["*Hello*"]


async def test_an_unreachable_api_is_not_taken_and_the_token_is_not_revealed(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.WARNING)
    async with Telegram(TOKEN, url="http://127.0.0.1:9") as telegram:
        with pytest.raises(Unreachable) as error:
            await telegram.send(delivery(telegram, "7", "d-1", "Hello"))
    assert TOKEN not in str(error.value) + caplog.text
    assert LONGEST < 4096


async def test_an_unknown_sender_gets_no_answer(api: BotApi, database_url: str) -> None:
    async with Telegram(TOKEN, url=api.url, door=Door(allow=frozenset({"7"}))) as telegram:  # noqa: SIM117
        async with Kernel(database_url, agent=ScriptedAgent(), channels=[telegram]) as kernel:
            async with asyncio.TaskGroup() as group:
                running = group.create_task(kernel.run())
                await api.write("Let me in", sender=666)
                await api.write("Hello", sender=7)
                await eventually(lambda: api.shown("7"), "an answer for the known sender")
                running.cancel()
            assert api.shown("666") == []
            assert [session.key for session in await kernel.sessions.list()] == [CHAT]


async def test_an_unknown_sender_gets_a_code_once_and_is_admitted_with_it(
    api: BotApi, database_url: str
) -> None:
    async with Telegram(TOKEN, url=api.url, door=Door(pairing=True)) as telegram:  # noqa: SIM117
        async with Kernel(database_url, agent=ScriptedAgent(), channels=[telegram]) as kernel:
            async with asyncio.TaskGroup() as group:
                running = group.create_task(kernel.run())
                await api.write("Let me in")
                await api.write("Hello?")
                await eventually(lambda: len(api.calls) > 4, "both were heard")
                [guest] = await kernel.guests.list()
                assert api.shown("7") == [
                    f"I do not know you yet. Give this code to the operator: {guest.code}"
                ]
                await kernel.guests.allow(guest.code.lower())
                await api.write("And now?")
                await eventually(lambda: len(api.shown("7")) == 2, "an answer")
                running.cancel()
            assert [m.content for m in await kernel.messages(CHAT)] == ["And now?", "ok"]


async def test_a_group_is_a_group(api: BotApi, kernel: Kernel) -> None:
    async with asyncio.TaskGroup() as group:
        running = group.create_task(kernel.run())
        await api.write("Hello all", chat=-100, type="supergroup", title="The team")
        await eventually(lambda: api.shown("-100"), "an answer")
        running.cancel()
    session = await kernel.sessions.get("telegram:-100")
    assert (session.chat_type, session.title) == ("group", "The team")


def topics(api: BotApi) -> list[tuple[str, int | None]]:
    """The sent texts, each with its topic."""
    return [
        (given["text"].removesuffix(" …"), given.get("message_thread_id"))
        for method, given in api.calls
        if method == "sendMessage"
    ]


async def test_an_arrival_in_a_topic_is_answered_there(
    api: BotApi, kernel: Kernel, agent: ScriptedAgent
) -> None:
    """Also if a user writes in another topic before the answer is sent."""
    forum: dict[str, Any] = {"type": "supergroup", "is_forum": True}
    agent.script("In seven.", "In eight.", "In general.")
    await api.write("Hello", chat=-100, topic=7, **forum)
    await api.write("Hello", chat=-100, topic=8, **forum)
    async with asyncio.TaskGroup() as group:
        running = group.create_task(kernel.run())
        await eventually(lambda: len(api.shown("-100")) == 2, "two answers")
        assert (await kernel.sessions.get("telegram:-100")).metadata == {"message_thread_id": 8}
        await api.write("Hello", chat=-100, **forum)
        # Not its live preview: if that is cut off, its answer is a message of its own.
        await eventually(lambda: api.shown("-100")[2:] == ["In general."], "a third")
        running.cancel()
    assert topics(api) == [("In seven.", 7), ("In eight.", 8), ("In general.", None)]
    assert (await kernel.sessions.get("telegram:-100")).metadata == {}


async def test_a_thread_of_replies_is_no_topic(api: BotApi, kernel: Kernel, telegram: Telegram) -> None:
    async with asyncio.TaskGroup() as group:
        running = group.create_task(kernel.run())
        await kernel.sessions.open("telegram:-100", metadata={"message_thread_id": 5})
        await api.write("Hello", chat=-100, type="supergroup")
        await eventually(lambda: api.shown("-100"), "an answer")
        running.cancel()
    assert topics(api) == [("ok", 5)]


@pytest.mark.parametrize("topic", [77, "77"])
async def test_the_metadata_of_a_session_reaches_telegram(
    api: BotApi, telegram: Telegram, database_url: str, topic: object
) -> None:
    """3.2: it is resolved from the session when it is sent, for what is scheduled too."""
    clock = ManualClock()
    agent = ScriptedAgent()
    agent.script("x" * (LONGEST + 10))
    async with Kernel(database_url, agent=agent, channels=[telegram], clock=clock) as kernel:
        await kernel.sessions.open(CHAT)
        await kernel.scheduled_messages.add(CHAT, "in 1 hour", "Your flight leaves at noon.")
        await kernel.schedule(CHAT, At("in 1 hour"), Ask("Look."))
        await kernel.sessions.update(CHAT, metadata={"message_thread_id": topic})
        clock.advance(hours=1)
        await quiet(kernel)
    assert [given for _, given in topics(api)] == [77, 77, 77]


@pytest.mark.parametrize("wrong", ["general", True, 7.5, [7]])
async def test_metadata_that_names_no_topic_is_not_sent(
    api: BotApi, telegram: Telegram, wrong: object
) -> None:
    there = delivery(telegram, "7", "d-1", "Hello")
    await telegram.send(replace(there, metadata={"message_thread_id": wrong, "colour": "red"}))
    assert [set(given) for method, given in api.calls if method == "sendMessage"] == [
        {"chat_id", "text", "parse_mode"}
    ]


async def test_what_is_shown_of_an_answer_is_shown_in_its_topic(api: BotApi, telegram: Telegram) -> None:
    await telegram.show("7", "turn-1", "Once upon", metadata={"message_thread_id": 3})
    assert topics(api) == [("Once upon", 3)]


async def test_the_webhook_accepts_only_telegram(api: BotApi, database_url: str) -> None:
    hook = Webhook(url="https://example.org/webhooks/telegram", secret="a-word")
    update = {
        "update_id": 5,
        "message": {"text": "Hello", "chat": {"id": 7, "type": "private"}, "from": {"id": 7}},
    }
    path, word = "/webhooks/telegram", {"X-Telegram-Bot-Api-Secret-Token": "a-word"}
    async with Telegram(TOKEN, url=api.url, webhook=hook) as telegram:  # noqa: SIM117
        async with Kernel(database_url, agent=ScriptedAgent(), channels=[telegram]) as kernel:
            app = create_app(kernel, Configuration(database="sqlite://:memory:"))
            async with reach(app) as http:
                assert (await http.post(path, json=update, headers=word)).status_code == 503
                async with working(kernel):
                    await eventually(lambda: api.webhook, "logged where to call")
                    assert api.webhook == {"url": hook.url, "secret_token": "a-word"}
                    for wrong in ({}, {"X-Telegram-Bot-Api-Secret-Token": "another"}):
                        assert (await http.post(path, json=update, headers=wrong)).status_code == 403
                    for _ in range(2):
                        assert (await http.post(path, json=update, headers=word)).status_code == 204
                    await eventually(lambda: api.shown("7") == ["ok"], "an answer")


@pytest.mark.parametrize(
    "update",
    [
        {"update_id": 5, "message": {"text": "Hello"}},
        {"update_id": 5, "message": {"text": "Hello", "chat": 7}},
        {"update_id": 5, "message": {"text": "Hello", "chat": {}}},
        {"update_id": 5, "message": {"text": "Hello", "chat": {"id": [7]}}},
        {"update_id": 5, "message": {"text": "Hello", "chat": {"id": 7}, "from": "Ada"}},
        {"message": {"text": "Hello", "chat": {"id": 7}, "from": {"id": 7}}},
        {"update_id": 5, "message": "Hello"},
        {},
    ],
)
async def test_an_update_of_another_shape_is_ignored(
    api: BotApi, database_url: str, update: dict[str, object]
) -> None:
    hook = Webhook(url="https://example.org/webhooks/telegram", secret="a-word")
    word = {"X-Telegram-Bot-Api-Secret-Token": "a-word"}
    async with Telegram(TOKEN, url=api.url, webhook=hook) as telegram:  # noqa: SIM117
        async with Kernel(database_url, agent=ScriptedAgent(), channels=[telegram]) as kernel:
            app = create_app(kernel, Configuration(database="sqlite://:memory:"))
            async with reach(app) as http, working(kernel):
                await eventually(lambda: api.webhook, "logged where to call")
                assert (await http.post("/webhooks/telegram", json=update, headers=word)).status_code == 204
            assert await kernel.sessions.overviews() == []


async def test_a_scheduled_message_goes_out_through_telegram(
    api: BotApi, telegram: Telegram, database_url: str
) -> None:
    clock = ManualClock()
    async with Kernel(database_url, agent=ScriptedAgent(), channels=[telegram], clock=clock) as kernel:
        await kernel.sessions.open(CHAT)
        promised = await kernel.scheduled_messages.add(CHAT, "in 1 hour", "Your flight leaves at noon.")
        clock.advance(hours=1)
        await quiet(kernel)
        assert api.shown("7") == ["Your flight leaves at noon."]
        there = await kernel.scheduled_messages.get(promised.message.id)
        assert (there.status, there.sent_message_id) == ("sent", "1")


class NotingClock(ManualClock):
    """Records for how long it was asked to wait."""

    def __init__(self) -> None:
        super().__init__()
        self.pauses: list[int | None] = []

    async def wait(self, event: asyncio.Event, until: int | None) -> None:
        self.pauses.append(until and until - self.ms())
        await super().wait(event, until)

    def has_paused(self, times: int) -> bool:
        return len(self.pauses) == times


@pytest.mark.parametrize("webhook", [None, Webhook(url="https://example.org/hook", secret="hush")])
async def test_a_refused_token_is_logged_once_and_retried_rarely(
    webhook: Webhook | None, api: BotApi, database_url: str, caplog: pytest.LogCaptureFixture
) -> None:
    clock = NotingClock()
    async with (
        Telegram("12345:wrong", url=api.url, webhook=webhook, clock=clock) as telegram,
        Kernel(database_url, agent=ScriptedAgent(), channels=[telegram]) as kernel,
        asyncio.TaskGroup() as group,
    ):
        running = group.create_task(kernel.run())
        for tries in (1, 2, 3):
            clock.advance(minutes=5)
            await eventually(partial(clock.has_paused, tries), f"pause {tries}")
        running.cancel()
    assert clock.pauses == [300_000] * 3
    assert api.refused_tokens == 3
    logged = [record for record in caplog.records if record.levelno >= logging.WARNING]
    assert [record.getMessage() for record in logged] == [
        "Telegram refuses the token; set SEGUE_TELEGRAM_TOKEN, or telegram.token in the file, to the one "
        "that @BotFather shows for this bot; until then no messages are received"
    ]
    assert logged[0].exc_info is None


async def test_it_listens_as_soon_as_telegram_can_be_reached(
    api: BotApi, kernel: Kernel, agent: ScriptedAgent, caplog: pytest.LogCaptureFixture
) -> None:
    api.refusals.append(Refusal("deleteWebhook", status=500))
    async with asyncio.TaskGroup() as group:
        running = group.create_task(kernel.run())
        await api.write("Hello")
        await eventually(lambda: api.shown("7"), "an answer")
        running.cancel()
    logged = [record for record in caplog.records if record.levelno >= logging.WARNING]
    assert [record.getMessage() for record in logged] == [
        "Telegram call failed, retrying: Telegram answered 500"
    ]
