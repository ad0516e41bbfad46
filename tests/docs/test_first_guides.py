"""The guides for the first hour, followed to their end with doubles on loopback."""

import asyncio
import json
import os
import re
import signal
import subprocess
from pathlib import Path

import pytest

from segue.testing.scripted_provider import ScriptedProvider, says
from tests.channels.bot_api import TOKEN, bot_api
from tests.cli.process import Segue
from tests.docs.pages import ROOT
from tests.eventually import eventually

GUIDES = ROOT / "docs" / "guides"
EXPORT = re.compile(r"export (SEGUE_\w+)=(.*)")


def shell_blocks(guide: str) -> list[str]:
    """The shell blocks of a guide, without the indentation of its list."""
    text = (GUIDES / guide).read_text("utf-8")
    found = re.findall(r"(?ms)^( *)```sh\n(.*?)^ *```$", text)
    return ["\n".join(line[len(indent) :] for line in block.splitlines()) for indent, block in found]


def exported(guide: str) -> dict[str, str]:
    """The variables that a guide exports."""
    return dict(pair for block in shell_blocks(guide) for pair in EXPORT.findall(block))


async def test_telegram_from_botfather_to_the_first_reminder(tmp_path: Path) -> None:
    segue = Segue(tmp_path)
    async with bot_api() as api:
        assert exported("telegram.md").keys() == {"SEGUE_TELEGRAM_TOKEN", "SEGUE_TELEGRAM_PAIRING"}
        segue.env = {
            **exported("telegram.md"),
            "SEGUE_TELEGRAM_TOKEN": TOKEN,
            "SEGUE_TELEGRAM_URL": api.url,
        }
        async with segue.serving() as server:
            await server.process.logged("listening to Telegram")
            await api.write("hello")
            await eventually(lambda: len(api.shown("7")) == 1, "the bot sends a code")
            code = api.shown("7")[0].rpartition(": ")[2]
            [command] = [block for block in shell_blocks("telegram.md") if "channels allow" in block]
            allowed = await segue.process(*command.replace("CODE", code).split()[1:])
            assert allowed.code == 0, allowed.err
            [reminder] = re.findall(r"`(remind me in 1 minute [^`]+)`", (GUIDES / "telegram.md").read_text())
            await api.write(reminder.replace("1 minute", "1 second"))
            await eventually(lambda: any("stretch" in text for text in api.shown("7")[2:]), "the reminder")


async def test_a_model_in_the_environment_answers(tmp_path: Path) -> None:
    segue = Segue(tmp_path)
    provider = ScriptedProvider()
    async with provider.listening():
        [line] = [block for block in shell_blocks("own-model.md") if "SEGUE_MODEL" in block]
        segue.env = dict(pair.split("=", 1) for pair in line.split() if "=" in pair)
        segue.env |= {"OPENAI_BASE_URL": provider.base_url, "OPENAI_API_KEY": "sk-of-a-guide"}
        provider.script(says("I am your own model."))
        async with segue.serving() as server:
            answer = await server.client.post("/sessions/web:1/turns?wait=60", json={"content": "hello"})
            assert answer.json()["reply"] == "I am your own model."
            shown = (await server.client.get("/settings")).json()["model"]
            assert (shown["source"], shown["editable"]) == ("SEGUE_MODEL", False)


async def test_a_server_with_keys_lets_in_who_has_one(tmp_path: Path) -> None:
    segue = Segue(tmp_path)
    make_keys = shell_blocks("own-server.md")[0]
    await asyncio.to_thread(subprocess.run, ["sh", "-ec", make_keys], cwd=tmp_path, check=True)
    assert oct((tmp_path / "keys.json").stat().st_mode)[-3:] == "600"
    keys = {each["user"]: each["key"] for each in json.loads((tmp_path / "keys.json").read_text())}
    segue.env = {name: value.strip("'") for name, value in exported("own-server.md").items()}
    async with segue.serving() as server:

        async def status(path: str, user: str | None = None, **headers: str) -> int:
            if user is not None:
                headers["Authorization"] = f"Bearer {keys[user]}"
            return (await server.client.get(path, headers=headers)).status_code

        assert await status("/sessions") == 401
        assert [await status("/settings", user) for user in keys] == [200, 403]
        assert await status("/sessions", "bob", Host="segue.example.org") == 200
        await server.client.post(
            "/sessions", json={"key": "web:ann"}, headers={"Authorization": f"Bearer {keys['ann']}"}
        )
        assert [await status("/sessions/web:ann", user) for user in keys] == [200, 404]
        server.process.tell(signal.SIGTERM)
        assert await server.process.end() == 0


@pytest.mark.skipif(os.name != "posix", reason="the guide is for a POSIX shell")
def test_every_shell_block_is_a_valid_script() -> None:
    for guide in ("own-model.md", "telegram.md", "own-server.md"):
        for block in shell_blocks(guide):
            subprocess.run(["sh", "-n", "-c", block], check=True)
