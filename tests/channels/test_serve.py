"""`segue serve` as a process sends and receives through the channels of its settings."""

import json
import signal
from pathlib import Path

from tests.channels.bot_api import TOKEN, bot_api
from tests.cli.process import Segue
from tests.eventually import eventually


async def test_a_served_bot_answers_sends_later_and_never_logs_its_token(tmp_path: Path) -> None:
    async with bot_api() as api:
        segue = Segue(tmp_path)
        segue.env = {
            "SEGUE_TELEGRAM_URL": api.url,
            "SEGUE_TELEGRAM_TOKEN": TOKEN,
            "SEGUE_TELEGRAM_ALLOW": '["7"]',
        }
        async with segue.running("serve", "--port", "0") as running:
            await api.write("Let me in", sender=666)
            await api.write("tell me in 2 seconds that the tea is ready", sender=7)
            await eventually(lambda: "The tea is ready" in api.shown("7"), "the tea is ready")
            log = running.log
        assert api.shown("666") == []
        assert api.shown("7")[0].startswith("I will write “The tea is ready” here")
        assert TOKEN not in log
        assert "listening to Telegram" in log


async def test_a_served_bot_with_a_refused_token_says_so_in_one_line(tmp_path: Path) -> None:
    async with bot_api() as api:
        segue = Segue(tmp_path)
        segue.env = {"SEGUE_TELEGRAM_URL": api.url, "SEGUE_TELEGRAM_TOKEN": "12345:wrong"}
        async with segue.serving() as server:
            await server.process.logged("Telegram refuses the token; set SEGUE_TELEGRAM_TOKEN")
            answer = await server.client.post("/sessions/web:1/turns?wait=30", json={"content": "hello"})
            assert "offline" in answer.json()["reply"], "the rest works"
            server.process.tell(signal.SIGTERM)
            assert await server.process.end() == 0
            lines = [json.loads(line) for line in server.process.log.splitlines()]
    assert len([line for line in lines if line["level"] in ("error", "warning")]) == 1
    assert "Traceback" not in server.process.log
    assert "12345:wrong" not in server.process.log
