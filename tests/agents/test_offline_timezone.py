"""Offline agent: asks for the user's time zone once, stores it, and then does what was requested."""

from collections.abc import AsyncIterator, Awaitable, Callable
from datetime import UTC, datetime

import pytest
import pytest_asyncio

from segue import Cron, JobKind, Kernel, Settings
from segue.agents import registry_of
from segue.agents.offline import OfflineAgent
from segue.agents.tools.cron import cron_tool
from segue.agents.tools.recalls import recall_tools
from segue.agents.tools.registry import Registry
from segue.config import Configuration
from segue.testing import ManualClock, quiet
from segue.times.clock import to_moment

CHAT = "web:1"
QUESTION = "Which city or time zone are you in?"
Asking = Callable[[str], Awaitable[str]]


@pytest_asyncio.fixture
async def kernel(migrated_sqlite_url: str, clock: ManualClock) -> AsyncIterator[Kernel]:
    agent = OfflineAgent(registry_of(Configuration.load(env={"HOME": "/nonexistent"})))
    async with Kernel(migrated_sqlite_url, agent=agent, clock=clock) as opened:
        yield opened
        assert not await opened.audit()


@pytest.fixture
def ask(kernel: Kernel) -> Asking:
    async def asked(text: str) -> str:
        admitted = await kernel.receive(CHAT, text)
        await quiet(kernel)
        return (await kernel.turns.get(admitted.turn_id)).reply or ""

    return asked


@pytest.mark.parametrize("answer", ["Berlin", "Europe/Berlin", "I'm in Berlin.", "in berlin", "UTC+1"])
async def test_it_asks_once_and_then_does_what_was_requested(
    kernel: Kernel, ask: Asking, answer: str
) -> None:
    assert (await ask("remind me tomorrow at 9 to call Ana")).startswith(QUESTION)
    assert await kernel.jobs.list(CHAT, kind=JobKind.CRON) == []
    assert (await ask(answer)).endswith("here. I will remind you tomorrow at 09:00: call Ana.")
    (job,) = await kernel.jobs.list(CHAT, kind=JobKind.CRON)
    assert to_moment(job.next_at or 0) == datetime(2026, 11, 17, 8, tzinfo=UTC)
    used = [event.body["name"] for event in await kernel.log.events(CHAT) if event.type == "tool_call"]
    assert used == ["set_timezone", "cron"], "the transcript shows what was kept"
    told = await ask("tell me tomorrow at 9 that the shop opens")
    assert told == "I will write “The shop opens” here tomorrow at 09:00.", "it is not asked again"


async def test_each_kind_of_clock_time_needs_the_zone(kernel: Kernel, ask: Asking) -> None:
    assert await ask("every weekday at 9 tell me what is new") == await ask("tell me at 18:00 that it closes")
    assert (await ask("明天9点提醒我开会")).startswith("你在哪个时区？")
    await ask("每天9点告诉我有什么变化")
    assert "Asia/Shanghai" in await ask("Asia/Shanghai")
    [job] = await kernel.jobs.list(CHAT, kind=JobKind.CRON)
    assert isinstance(job.trigger, Cron)
    assert job.trigger.tz == "Asia/Shanghai"


async def test_a_relative_time_does_not_need_the_zone(ask: Asking) -> None:
    assert "at 09:10" in await ask("remind me in 10 minutes to drink water")
    assert "The first time is at 09:30." in await ask("every 30 minutes tell me what is new")


async def test_an_unknown_zone_is_refused_and_may_be_corrected(ask: Asking) -> None:
    await ask("remind me tomorrow at 9 to call Ana")
    again = await ask("Munich")
    assert again.startswith("I know no time zone called “Munich”")
    assert again.endswith("“UTC+2”.")
    assert "in Europe/Berlin here. I will remind you tomorrow at 09:00" in await ask("Berlin")


async def test_the_user_may_talk_about_something_else_first(kernel: Kernel, ask: Asking) -> None:
    await ask("remind me tomorrow at 9 to call Ana")
    assert (await ask("hello")).startswith("Hello!")
    assert "You said “Berlin”" in await ask("Berlin")
    assert (await kernel.sessions.get(CHAT)).timezone is None


async def test_a_user_may_set_the_zone_without_being_asked(kernel: Kernel, ask: Asking) -> None:
    assert await ask("my time zone is Asia/Tokyo") == "From now on I read times in Asia/Tokyo here."
    assert (await kernel.sessions.get(CHAT)).timezone == "Asia/Tokyo"
    assert "tomorrow at 09:00" in await ask("remind me tomorrow at 9 to call Ana")
    await ask("set the time zone to Atlantis")
    assert (await kernel.sessions.get(CHAT)).timezone == "Asia/Tokyo"


async def test_with_a_setting_it_does_not_ask(clock: ManualClock) -> None:
    agent = OfflineAgent(Registry([cron_tool()]))
    settings = Settings(timezone="Europe/Berlin")
    async with Kernel("sqlite://:memory:", agent=agent, clock=clock, settings=settings) as opened:
        await opened.receive(CHAT, "remind me tomorrow at 9 to call Ana")
        await quiet(opened)
        assert len(await opened.jobs.list(CHAT, kind=JobKind.CRON)) == 1


async def test_without_the_tool_it_says_what_to_write(clock: ManualClock) -> None:
    agent = OfflineAgent(Registry(recall_tools()))
    async with Kernel("sqlite://:memory:", agent=agent, clock=clock) as opened:
        admitted = await opened.receive(CHAT, "remind me tomorrow at 9 to call Ana")
        await quiet(opened)
        reply = (await opened.turns.get(admitted.turn_id)).reply or ""
    assert "needs a time zone" in reply
    assert "tomorrow at 09:00 Europe/Berlin" in reply
