"""`segue serve` as a process of its own speaks and listens through the channels that its settings name."""

import asyncio
from pathlib import Path

from tests.channels.bot_api import TOKEN, bot_api
from tests.cli.process import Segue


async def test_a_served_bot_answers_sends_later_and_never_tells_its_token(tmp_path: Path) -> None:
    async with bot_api() as api:
        segue = Segue(tmp_path)
        segue.env = {
            "SEGUE_TELEGRAM_URL": api.url,
            "SEGUE_TELEGRAM_TOKEN": TOKEN,
            "SEGUE_TELEGRAM_ALLOW": '["7"]',
        }
        async with segue.running("serve", "--port", "0") as running:
            async with asyncio.timeout(60):
                await api.write("Let me in", sender=666)
                await api.write("tell me in 2 seconds that the tea is ready", sender=7)
                while "The tea is ready" not in api.shown("7"):  # noqa: ASYNC110 — what a server shows
                    await asyncio.sleep(0.1)
            log = running.log
        assert api.shown("666") == []
        assert api.shown("7")[0].startswith("I will write “The tea is ready” here")
        assert TOKEN not in log
        assert "listening to Telegram" in log
