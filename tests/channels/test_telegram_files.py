"""Images and files through Telegram, with a fake Bot API on loopback."""

import asyncio
from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from segue import Kernel, Message, Settings
from segue.channels.telegram import Telegram
from segue.model.channel import Door
from segue.testing import quiet
from tests.channels.bot_api import TOKEN, BotApi, Refusal, bot_api
from tests.channels.drawing import PNG, TABLE, drawing
from tests.eventually import eventually

CHAT = "telegram:7"
JPEG = b"\xff\xd8\xff\xe0" + b"\x00" * 20


@pytest_asyncio.fixture
async def api() -> AsyncIterator[BotApi]:
    async with bot_api() as api:
        yield api


@pytest_asyncio.fixture
async def kernel(database_url: str, api: BotApi) -> AsyncIterator[Kernel]:
    settings = Settings(file_megabytes=0.001)
    async with (
        Telegram(TOKEN, url=api.url, door=Door(allow=frozenset({"7"}))) as telegram,
        Kernel(database_url, agent=drawing, channels=[telegram], settings=settings) as kernel,
    ):
        yield kernel
        assert not await kernel.audit()


async def written(api: BotApi, kernel: Kernel, count: int) -> list[Message]:
    """Run until the chat has so many messages of the bot."""
    async with asyncio.TaskGroup() as group:
        running = group.create_task(kernel.run())
        await eventually(lambda: len(api.shown("7")) >= count, "the answers")
        running.cancel()
    return await kernel.messages(CHAT)


async def test_a_photo_with_a_caption_is_a_turn_with_the_largest_of_its_sizes(
    api: BotApi, kernel: Kernel
) -> None:
    await api.write("What is this?", file=api.photo(JPEG))
    asked, answer = await written(api, kernel, 1)
    assert answer.content == "What is this?: image/jpeg"
    (file,) = asked.parts
    assert (file.name, await kernel.files.read(file)) == ("photo.jpg", JPEG)


async def test_a_document_without_words_is_a_turn_by_its_name_and_its_true_type(
    api: BotApi, kernel: Kernel
) -> None:
    await api.write("", file=api.document("../../photo.png", b"<script>alert(1)</script>"))
    asked, answer = await written(api, kernel, 1)
    assert (asked.content, answer.content) == ("[photo.png]", "[photo.png]: text/plain")


async def test_a_download_that_breaks_is_tried_again(api: BotApi, kernel: Kernel) -> None:
    api.broken_downloads = 1
    await api.write("Look", file=api.document("a.png", PNG))
    _, answer = await written(api, kernel, 1)
    assert answer.content == "Look: image/png"


async def test_a_file_that_cannot_be_fetched_is_named_in_the_chat_and_the_words_are_answered(
    api: BotApi, kernel: Kernel
) -> None:
    api.broken_downloads = 99
    await api.write("Look", file=api.document("a.png", PNG))
    _, answer = await written(api, kernel, 2)
    assert answer.content == "Look: nothing"
    refused = "I could not take a.png: the download from Telegram broke; send it again."
    assert refused in api.shown("7")


@pytest.mark.parametrize(
    ("size", "reason"),
    [(None, "the file has 5,000 bytes, and may have 1,049"), (5_000_000, "it has 5,000,000 bytes")],
)
async def test_a_file_that_is_too_large_is_refused_with_a_sentence(
    api: BotApi, kernel: Kernel, size: int | None, reason: str
) -> None:
    sent = api.document("large.bin", b"\x01" * 5_000, size=size)
    if size is None:
        del sent["document"]["file_size"]
    await api.write("", file=sent)

    async with asyncio.TaskGroup() as group:
        running = group.create_task(kernel.run())
        await eventually(lambda: api.shown("7"), "a refusal")
        running.cancel()
    assert api.shown("7")[0].startswith("I could not take large.bin: ")
    assert reason in api.shown("7")[0] or size is None
    assert await kernel.sessions.find(CHAT) is None or not await kernel.messages(CHAT)


async def test_the_file_of_a_sender_who_is_not_allowed_is_not_fetched(api: BotApi, kernel: Kernel) -> None:
    await api.write("Look", sender=8, file=api.document("a.png", PNG))
    await api.write("Hello")
    await written(api, kernel, 1)
    assert "getFile" not in [method for method, _ in api.calls]


async def test_an_answer_is_sent_with_its_image_and_its_file_once(api: BotApi, kernel: Kernel) -> None:
    await api.write("draw")
    _, answer = await written(api, kernel, 3)
    assert api.shown("7") == ["Here it is.", "<chart.png>", "<table.csv>"]
    assert api.uploads == [
        ("sendPhoto", "7", "chart.png", PNG),
        ("sendDocument", "7", "table.csv", TABLE),
    ]
    assert [file.name for file in answer.parts] == ["chart.png", "table.csv"]
    await quiet(kernel)
    assert len(api.uploads) == 2


async def test_an_answer_of_files_only_has_no_text_in_the_chat(api: BotApi, kernel: Kernel) -> None:
    await api.write("only draw")
    _, answer = await written(api, kernel, 2)
    assert api.shown("7") == ["<chart.png>", "<table.csv>"]
    assert answer.content == "[chart.png], [table.csv]"


async def test_an_image_that_telegram_cannot_show_is_sent_as_a_document(api: BotApi, kernel: Kernel) -> None:
    api.refusals.append(Refusal("sendPhoto", description="Bad Request: PHOTO_INVALID_DIMENSIONS"))
    await api.write("draw")
    await written(api, kernel, 3)
    assert [method for method, *_ in api.uploads] == ["sendDocument", "sendDocument"]


async def test_a_refused_file_after_the_text_leaves_a_note_and_nothing_is_sent_twice(
    api: BotApi, kernel: Kernel
) -> None:
    api.refusals.append(Refusal("sendPhoto", status=403, description="Forbidden: bot was blocked"))
    await api.write("draw")

    async def is_noted() -> bool:
        if await kernel.sessions.find(CHAT) is None:
            return False
        return any("could not be delivered" in each.content for each in await kernel.messages(CHAT))

    async with asyncio.TaskGroup() as group:
        running = group.create_task(kernel.run())
        await eventually(is_noted, "a note")
        running.cancel()
    await quiet(kernel)
    assert (api.shown("7"), api.uploads) == (["Here it is."], [])
