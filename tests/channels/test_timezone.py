"""Time zone of a Telegram chat: the agent asks once, and stores the answer for that chat."""

import asyncio

from segue import Kernel
from segue.agents import registry_of
from segue.agents.offline import OfflineAgent
from segue.channels.telegram import Telegram
from segue.config import Configuration
from tests.channels.bot_api import TOKEN, BotApi, bot_api
from tests.eventually import eventually

QUESTION = "Which city or time zone are you in?"


async def answer_to(api: BotApi, chat: str, text: str) -> str:
    """Write a message; return the bot's answer."""
    before = len(api.shown(chat))
    await api.write(text, sender=int(chat))
    await eventually(lambda: len(api.shown(chat)) > before and not api.shown(chat)[-1].endswith("…"), text)
    return api.shown(chat)[-1]


async def test_telegram_asks_once_and_every_later_time_is_read_in_that_zone(database_url: str) -> None:
    registry = registry_of(Configuration.load(env={"HOME": "/nonexistent"}))
    agent = OfflineAgent(registry)
    async with (
        bot_api() as api,
        Telegram(TOKEN, url=api.url) as telegram,
        Kernel(database_url, agent=agent, channels=[telegram]) as kernel,
        asyncio.TaskGroup() as group,
    ):
        running = group.create_task(kernel.run())
        assert (await answer_to(api, "7", "remind me tomorrow at 9 to call Ana")).startswith(QUESTION)
        assert "I will be back about “call Ana”" in (answer := await answer_to(api, "7", "Tokyo"))
        assert "09:00 +09:00 Asia/Tokyo" in answer
        later = await answer_to(api, "7", "tell me tomorrow at 18:30 that the shop closes")
        assert "18:30 +09:00 Asia/Tokyo" in later, "it is not asked again"
        daily = await answer_to(api, "7", "every day at 8 tell me what is new")
        assert "Asia/Tokyo" in daily
        assert (await answer_to(api, "8", "every day at 8 tell me what is new")).startswith(QUESTION), (
            "another chat"
        )
        assert "Added." in await answer_to(api, "8", "every 30 minutes tell me what is new")
        running.cancel()
