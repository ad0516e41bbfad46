"""Stored channels, message splitting, markup, rate limit and channel settings."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from segue import Channel, Kernel
from segue.channels.markup import matrix_html, telegram_html
from segue.channels.splitting import split
from segue.channels.terminal import Terminal
from segue.channels.websocket import WebSocket
from segue.config import Configuration
from segue.errors import BadSetting
from segue.kernel.workers.rate_limit import TokenBucket
from segue.testing import ManualClock, ScriptedAgent, check_channel, quiet


@pytest.mark.parametrize("channel", [WebSocket(), Terminal()], ids=lambda channel: channel.name)
async def test_stored_is_sent(channel: Channel, database_url: str) -> None:
    async def seen() -> list[str]:
        return []

    await check_channel(channel, chat_id="1", seen=seen)
    clock = ManualClock()
    key = f"{channel.name}:1"
    async with Kernel(database_url, agent=ScriptedAgent(), channels=[channel], clock=clock) as kernel:
        await kernel.receive(key, "Hello")
        await quiet(kernel)
        assert await kernel.log.deliveries(key) == [], "an answer needs no delivery: it stands in the log"
        promised = await kernel.scheduled_messages.add(key, "in 1 hour", "Good morning.")
        clock.advance(hours=1)
        await quiet(kernel)
        there = await kernel.scheduled_messages.get(promised.message.id)
        assert (there.status, there.sent_at) == ("sent", clock.ms())


@given(st.text(alphabet="ab .\n`é😀", max_size=400), st.integers(20, 60))
def test_pieces_fit_and_lose_nothing(text: str, longest: int) -> None:
    pieces = split(text, longest)
    assert all(0 < len(piece) <= longest for piece in pieces)
    if "```" not in text:
        assert "".join("".join(pieces).split()) == "".join(text.split())


def test_a_cut_falls_where_a_reader_would_cut() -> None:
    assert split("One two.\n\nThree four.", 16) == ["One two.", "Three four."]
    assert split("One two three. Four five six.", 22) == ["One two three.", "Four five six."]
    assert split("aaaa bbbb cccc dddd", 14) == ["aaaa bbbb", "cccc dddd"]


def test_code_that_is_cut_stays_code() -> None:
    code = "```python\n" + "\n".join(f"line_{n} = {n}" for n in range(10)) + "\n```"
    first, *_, last = split(code, 80)
    assert first.startswith("```python\n")
    assert first.endswith("\n```")
    assert last.startswith("```python\n")


def test_markdown_becomes_the_html_of_the_chat() -> None:
    text = (
        "# Title\n\n**Bold** and *italic* ~~gone~~ [site](https://example.org?a=1&b=2)\n\n"
        "- one\n- two\n\n1. a\n2. b"
    )
    assert telegram_html(text) == (
        "<b>Title</b>\n\n<b>Bold</b> and <i>italic</i> <s>gone</s> "
        '<a href="https://example.org?a=1&amp;b=2">site</a>\n\n• one\n• two\n\n1. a\n2. b'
    )
    assert telegram_html("<script>alert(1)</script>") == "&lt;script&gt;alert(1)&lt;/script&gt;"
    assert matrix_html("**Bold** <img src=x>") == "<p><strong>Bold</strong> &lt;img src=x&gt;</p>"
    assert "javascript" not in telegram_html("[x](javascript:alert(1))").partition("(")[0]


def test_a_token_bucket_limits_sends_per_second() -> None:
    bucket = TokenBucket(5)
    assert bucket.allows(0) == 5
    bucket.take(5, 0)
    assert (bucket.allows(0), bucket.next_at(0), bucket.allows(199), bucket.allows(200)) == (0, 200, 0, 1)
    assert bucket.allows(10_000) == 5, "what was not used is not saved up"
    assert bucket.allows(5_000) == 5, "a clock that is set back changes nothing"


def test_settings_of_a_channel_are_complete_and_their_secrets_are_hidden() -> None:
    env = {"SEGUE_TELEGRAM_TOKEN": "1:secret-t", "SEGUE_TELEGRAM_ALLOW": '["7"]', "SEGUE_DATA": "/nowhere"}
    loaded = Configuration.load(env=env)
    assert loaded.telegram.allow == ("7",)
    assert "1:secret-t" in list(loaded.secrets())
    assert "secret-t" not in repr(loaded)
    with pytest.raises(BadSetting, match=r"matrix\.url"):
        Configuration.load(env={"SEGUE_MATRIX_TOKEN": "x", "SEGUE_DATA": "/nowhere"})
    with pytest.raises(BadSetting, match="webhook"):
        Configuration.load(env={"SEGUE_TELEGRAM_WEBHOOK_URL": "https://e.org", "SEGUE_DATA": "/nowhere"})
