"""Unread messages: what counts as news, and what the owner of a session has read."""

import asyncio

import pytest

from segue import Ask, Every, Kernel, Owner, Say
from segue.errors import NotFound
from segue.kernel.api.context import OPERATOR
from segue.model.records import Event, News, PushSubscription, Source
from segue.model.transcript import is_news
from segue.testing import ManualClock, ScriptedAgent, quiet
from tests.flows.house import OpenKernel

KEY = "web:1"
DEFAULT = Owner()
DEVICE = PushSubscription(
    id="d", owner=DEFAULT, endpoint="https://example.org", p256dh="", auth="", vapid_key="key", site=""
)
ADA, BEN = Owner("default", "ada"), Owner("default", "ben")


async def unread(kernel: Kernel, key: str = KEY, owner: Owner = DEFAULT) -> int:
    count = (await kernel.sessions.overview(key, owner=owner)).unread
    listed = await kernel.sessions.overviews(owner=owner)
    assert [each.unread for each in listed if each.session.key == key] == [count]
    return count


async def last_seq(kernel: Kernel, key: str = KEY, owner: Owner = DEFAULT) -> int:
    return (await kernel.sessions.get(key, owner=owner)).last_seq


@pytest.mark.parametrize(
    ("role", "kind", "body", "scheduled", "news"),
    [
        ("assistant", "stream_end", {"outcome": "ok"}, False, True),
        ("assistant", "stream_end", {"outcome": "error"}, True, True),
        ("assistant", "stream_end", {"outcome": "asked"}, False, True),
        ("assistant", "stream_end", {"outcome": "empty"}, True, False),
        ("assistant", "stream_end", {"outcome": "ok", "quiet": True}, True, False),
        ("assistant", "stream_end", {"outcome": "stopped"}, False, False),
        ("assistant", "message", {}, True, True),
        ("assistant", "message", {}, False, False),
        ("user", "stream_start", {"attempt": 1}, False, False),
        ("system", "message", {}, True, False),
        (None, "stream_end", {"outcome": None}, False, False),
    ],
)
def test_what_was_said_to_the_owner_is_news(
    role: str | None, kind: str, body: dict[str, object], scheduled: bool, news: bool
) -> None:
    source = Source(kind="message", job_id="j", label="l", run_id="r") if scheduled else None
    event = Event(session_id="s", seq=1, type=kind, at=0, role=role, content="x", source=source, body=body)
    assert is_news(event) is news


async def test_answers_are_unread_until_the_owner_has_read_them(kernel: Kernel, agent: ScriptedAgent) -> None:
    agent.script("One.", "Two.")
    await kernel.receive(KEY, "first")
    await quiet(kernel)
    seen = await last_seq(kernel)
    await kernel.receive(KEY, "second")
    await quiet(kernel)
    assert await unread(kernel) == 2
    assert await kernel.sessions.mark_read(KEY, seen) == 1
    assert await kernel.sessions.mark_read(KEY, await last_seq(kernel)) == 0
    assert await kernel.sessions.mark_read(KEY, seen) == 0, "an older page makes nothing unread again"
    assert await unread(kernel) == 0


async def test_a_run_with_nothing_to_say_and_stored_messages_do_not_count(
    kernel: Kernel, agent: ScriptedAgent, clock: ManualClock
) -> None:
    agent.script("", "Rain.")
    await kernel.log.write(KEY, "assistant", "said elsewhere")
    await kernel.schedule(KEY, Every(3600), Ask("Look at the sky."))
    for expected in (0, 1):
        clock.advance(hours=1)
        await quiet(kernel)
        assert await unread(kernel) == expected


async def test_a_written_message_counts_when_it_is_sent(kernel: Kernel, clock: ManualClock) -> None:
    await kernel.sessions.open(KEY)
    await kernel.schedule(KEY, Every(3600), Say("Stand up."))
    assert await unread(kernel) == 0
    clock.advance(hours=1)
    await quiet(kernel)
    assert await unread(kernel) == 1


async def test_each_owner_has_their_own_count_and_an_operator_marks_nothing(
    kernel: Kernel, agent: ScriptedAgent
) -> None:
    agent.script("For Ada.", "For Ben.")
    for owner in (ADA, BEN):
        await kernel.receive(KEY, "hello", owner=owner)
        await quiet(kernel)
    await kernel.receive("web:2", "hello", owner=ADA)
    await quiet(kernel)
    seen = await last_seq(kernel, KEY, ADA)
    assert await kernel.sessions.mark_read(KEY, seen, owner=ADA) == 0
    assert await unread(kernel, KEY, BEN) == 1
    with pytest.raises(NotFound):
        await kernel.sessions.mark_read("web:2", 99, owner=BEN)
    assert await kernel.sessions.mark_read("web:2", 99, owner=OPERATOR) == 1
    assert await unread(kernel, "web:2", ADA) == 1


async def test_messages_that_a_channel_sends_are_read_there(kernel: Kernel) -> None:
    await kernel.push.subscribe(DEVICE)
    await kernel.receive("test:7", "hello")
    await quiet(kernel)
    assert (await kernel.sessions.overview("test:7")).unread == 0
    assert await kernel.push.claim("key") == []


async def test_devices_are_told_of_what_was_not_read_and_of_nothing_before_they_subscribed(
    kernel: Kernel,
) -> None:
    await kernel.receive("web:0", "hello")
    await quiet(kernel)
    await kernel.push.subscribe(DEVICE)
    for key in ("web:1", "web:2"):
        await kernel.receive(key, "hello")
        await quiet(kernel)
    await kernel.sessions.mark_read("web:1", 1000)
    assert await kernel.push.claim("another key") == []
    assert await kernel.push.claim("key") == [News(DEFAULT, "web:2")]
    assert await kernel.push.claim("key") == []
    assert await kernel.push.unread(DEFAULT) == 2


async def test_of_several_servers_one_claims_a_message(kernel: Kernel, open_kernel: OpenKernel) -> None:
    other = await open_kernel()
    await kernel.push.subscribe(DEVICE)
    for number in range(5):
        await kernel.receive(f"web:{number}", "hello")
    await quiet(kernel)
    claimed = await asyncio.gather(*(each.push.claim("key") for each in (kernel, other) * 4))
    keys = sorted(news.key for each in claimed for news in each)
    assert keys == [f"web:{number}" for number in range(5)]
