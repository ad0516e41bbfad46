"""`segue chat` in a terminal: what is scheduled, commands, and Markdown."""

import json

import pytest

from segue.testing.scripted_provider import ScriptedProvider, says
from tests.cli.process import Segue
from tests.cli.terminal import CTRL_D, chatting

pytestmark = pytest.mark.usefixtures("ready")

KEY = "terminal:default"


async def test_it_shows_what_is_scheduled_and_has_commands(segue: Segue) -> None:
    await segue("jobs", "add", KEY, "What is new?", "--schedule", "every day at 9", "--name", "monitor")
    await segue("sessions", "add-message", KEY, "Both:\n- one\n- **two**", "--role", "assistant")
    async with chatting(segue) as terminal:
        start = await terminal.see("/help lists commands")
        assert "• one\n• two" in start
        assert "09:00  monitor" in start
        for typed, answer in (
            ("/help", "/stop  stops the turn that is running here"),
            ("/jobs", "09:00  monitor"),
            ("/stop", "No turn is running."),
            ("/retry", "there is no message to ask again; write one"),
            ("/frobnicate", "There is no command /frobnicate; /help lists them."),
        ):
            await terminal.see("> ")
            terminal.type(f"{typed}\n")
            await terminal.see(answer)
        await terminal.see("> ")
        terminal.type(CTRL_D)
        assert await terminal.end() == 0
    listed = await segue("sessions", "show", KEY)
    assert "/help" not in listed.out, "no command was sent to the agent"


async def test_retry_asks_the_last_message_again(segue: Segue) -> None:
    async with chatting(segue) as terminal:
        await terminal.see("> ")
        terminal.type("Good morning\n")
        await terminal.see("> ")
        terminal.type("/retry\n")
        await terminal.see("> ")
        terminal.type(CTRL_D)
        assert await terminal.end() == 0
    exported = (await segue("sessions", "export", KEY, "--format", "json")).out
    lines = [json.loads(line) for line in exported.splitlines()]
    assert [(line["role"], line["replaced_by"] is None) for line in lines] == [
        ("user", False),
        ("assistant", False),
        ("user", True),
        ("assistant", True),
    ]
    assert lines[2]["content"] == "Good morning"
    assert lines[2]["replaces"] == lines[0]["turn_id"]


async def test_markdown_is_styled_when_a_streamed_line_is_complete(
    segue: Segue, provider: ScriptedProvider
) -> None:
    provider.script(says("## Rep", "ort\n", "It is **gr", "een**.\n- `make`", " works"))
    async with chatting(segue) as terminal:
        await terminal.see("> ")
        terminal.type("How is it?\n")
        await terminal.see("\rReport\n")
        await terminal.see("\rIt is green.\n")
        await terminal.see("\r• make works\n")
        await terminal.see("> ")
        terminal.type(CTRL_D)
        assert await terminal.end() == 0


async def test_a_session_is_opened_by_its_title(segue: Segue) -> None:
    await segue("sessions", "add-message", "web:1", "Hello.")
    ended = await segue.process("chat", "--session", "last", text="hello\n")
    assert ended.code == 0, ended.err
    assert "hello" in (await segue("sessions", "show", "web:1")).out
    refused = await segue.process("chat", "--session", "nothing", text="hello\n")
    assert (refused.code, "no session is called 'nothing'" in refused.err) == (1, True)
