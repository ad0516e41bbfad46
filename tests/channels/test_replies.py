"""Replies to a job's message on chat networks: quotes, buttons and taps."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from segue import Ask, At, Every, Job, Kernel
from segue.channels.telegram import LONGEST, Telegram
from segue.store import queries
from segue.testing import ScriptedAgent
from tests.channels.bot_api import TOKEN, BotApi, bot_api
from tests.channels.matrix_client import Homeserver, matrix_of, until_shown
from tests.eventually import eventually

CHAT = "telegram:7"
PAUSED = "Paused: tea. Say ‘go on’ to resume."


@asynccontextmanager
async def bot(folder: Path, agent: ScriptedAgent, **options: Any) -> AsyncIterator[tuple[BotApi, Kernel]]:
    """A bot whose workers run, and its kernel."""
    async with bot_api() as api, Telegram(TOKEN, url=api.url, **options) as telegram:
        url = f"sqlite:///{folder}/segue.db"
        async with Kernel(url, agent=agent, channels=[telegram]) as kernel:
            async with asyncio.TaskGroup() as group:
                running = group.create_task(kernel.run())
                yield api, kernel
                running.cancel()
            assert not await kernel.audit()


async def spoken(api: BotApi, kernel: Kernel, text: str = "Drink tea.") -> Job:
    """A job that has just sent its first message, and has an hour until the next."""
    soon = datetime.now(UTC) + timedelta(seconds=2)
    job = await kernel.schedule(CHAT, Every(3600, start=soon), Ask("Tea?"), name="tea")
    await eventually(lambda: any(text[-20:] in shown for shown in api.shown("7")), "the job has spoken")

    async def is_anchored() -> bool:
        session = await kernel.sessions.get(CHAT)
        [*_, last] = await kernel.store.database.read(
            queries.deliveries.of_session, {"session_id": session.id, "limit": 10}
        )
        return last["sent_at"] is not None

    await eventually(is_anchored, "it is known as sent")
    return job


async def test_each_part_of_a_long_message_can_be_quoted(tmp_path: Path) -> None:
    agent = ScriptedAgent()
    agent.script("word " * (LONGEST // 5 + 200))
    async with bot(tmp_path, agent) as (api, kernel):
        job = await spoken(api, kernel, "word")
        assert len(api.messages) == 2
        await api.write("stop", quoted=1)
        await eventually(lambda: PAUSED in api.shown("7"), "the line")
        await api.write("go on", quoted=2)
        await eventually(lambda: any("Resumed: tea." in text for text in api.shown("7")), "the second line")
        assert (await kernel.jobs.get(job.id)).state == "active"
        assert len(agent.asked) == 1
        assert all("reply_markup" not in given for _, given in api.calls), "buttons are off by default"


async def test_a_tap_of_a_button_acts_and_a_stale_one_says_so(tmp_path: Path) -> None:
    agent = ScriptedAgent()
    agent.script("Drink tea.")
    async with bot(tmp_path, agent, reply_buttons=True) as (api, kernel):
        job = await spoken(api, kernel)
        [shown] = [given for _, given in api.calls if "reply_markup" in given]
        [row] = shown["reply_markup"]["inline_keyboard"]
        assert [button["text"] for button in row] == ["Snooze", "Skip", "Stop"]
        await api.tap(1, row[2]["callback_data"])
        await eventually(lambda: PAUSED in api.shown("7"), "the line")
        await api.tap(99, "stop")

        def answered() -> list[dict[str, Any]]:
            found = [given for method, given in api.calls if method == "answerCallbackQuery"]
            return found if len(found) == 2 else []

        taps = await eventually(answered, "both taps are answered")
        assert taps == [
            {"callback_query_id": "tap 1"},
            {"callback_query_id": "tap 2", "text": "This button is too old: its job is not known any more."},
        ]
        assert (await kernel.jobs.get(job.id)).state == "paused"
        assert len(agent.asked) == 1
        assert sum("reply_markup" in given for _, given in api.calls) == 1, "only the job's own message"


async def test_a_tap_that_telegram_does_not_document_is_passed_over(tmp_path: Path) -> None:
    async with bot(tmp_path, ScriptedAgent(), reply_buttons=True) as (api, kernel):
        await api.tap(1, "format the disk")
        await api.write("Hello")
        await eventually(lambda: api.shown("7"), "an answer")
        assert [message.content for message in await kernel.messages(CHAT)] == ["Hello", "ok"]


async def test_a_quote_in_matrix_acts_on_its_job(home: Homeserver, tmp_path: Path) -> None:
    bot, ada = await home.pair()
    agent = ScriptedAgent()
    agent.script("Drink tea.")
    url = f"sqlite:///{tmp_path}/segue.db"
    async with matrix_of(bot, home) as matrix, Kernel(url, agent=agent, channels=[matrix]) as kernel:
        room = await ada.open_room(bot.user)
        async with asyncio.TaskGroup() as group:
            running = group.create_task(kernel.run())
            job = await kernel.schedule(
                f"matrix:{room}", At("in 1 second", tz="UTC"), Ask("Tea?"), name="tea"
            )
            await until_shown(ada, room, "Drink tea.")
            quoted = await ada.newest_id(room)

            async def is_sent() -> bool:
                anchor = {"channel": "matrix", "chat_id": room, "message_id": quoted}
                return bool(await kernel.store.database.read(queries.anchors.by_message, anchor))

            await eventually(is_sent, "it is known as sent")
            text = f"> <{bot.user}> Drink tea.\n\nsnooze 2h"
            await ada.write(room, text, quoted=quoted)

            async def snoozed() -> bool:
                return any("Snoozed: tea" in text for text in await ada.read(room))

            await eventually(snoozed, "the line")
            assert (await kernel.jobs.get(job.id)).snoozed_to is not None
            running.cancel()
    assert len(agent.asked) == 1
