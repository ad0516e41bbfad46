"""Offline agent: scheduling by chat, in English and Chinese."""

import re
from collections.abc import AsyncIterator, Awaitable, Callable
from datetime import timedelta

import pytest
import pytest_asyncio

from segue import Ask, Cron, Every, Job, JobKind, JobState, Kernel, Say, Settings, Trigger
from segue.agents.offline import OfflineAgent
from segue.agents.tools.cron import cron_tool
from segue.agents.tools.recalls import recall_tools
from segue.agents.tools.registry import Registry
from segue.testing import ManualClock, quiet
from tests.docs.pages import ROOT

CHAT = "web:1"
Asking = Callable[[str], Awaitable[str]]


@pytest_asyncio.fixture
async def kernel(clock: ManualClock) -> AsyncIterator[Kernel]:
    agent = OfflineAgent(Registry([cron_tool(), *recall_tools()]))
    settings = Settings(timezone="Europe/Berlin")
    async with Kernel("sqlite://:memory:", agent=agent, clock=clock, settings=settings) as opened:
        yield opened
        assert not await opened.audit()


@pytest.fixture
def ask(kernel: Kernel) -> Asking:
    async def asked(text: str) -> str:
        admitted = await kernel.receive(CHAT, text)
        await quiet(kernel)
        return (await kernel.turns.get(admitted.turn_id)).reply or ""

    return asked


async def the_job(kernel: Kernel) -> Job:
    (job,) = await kernel.jobs.list(CHAT, kind=JobKind.CRON)
    return job


async def test_what_the_page_suggests_in_chinese_is_understood(
    kernel: Kernel, ask: Asking, clock: ManualClock
) -> None:
    """A reminder, a daily check and a look back, as `server/web/words/zh.js` has them."""
    words = (ROOT / "src/segue/server/web/words/zh.js").read_text("utf-8")
    reminder, daily, back = re.findall(r'try_(?:reminder|daily|recall): "(.*)"', words)
    assert "起来活动一下" in await ask(reminder)
    pending = await kernel.recalls.get(CHAT)
    assert pending is not None
    assert (pending.comment, pending.trigger_at - clock.ms()) == ("起来活动一下", 600_000)
    clock.advance(minutes=10)
    await quiet(kernel)
    assert (await kernel.messages(CHAT))[-1].content == "提醒：起来活动一下。"
    await ask(daily)
    job = await the_job(kernel)
    assert job.trigger == Cron("0 9 * * 1-5", tz="Europe/Berlin")
    assert isinstance(job.action, Ask)
    assert job.action.prompt == "告诉我昨天以来有什么变化"
    assert "告诉我现在几点" in await ask(back)
    clock.advance(minutes=2)
    await quiet(kernel)
    assert (await kernel.messages(CHAT))[-1].content.startswith("现在是 10:12")


@pytest.mark.parametrize("words", ["提醒我", "每天", "很久以后提醒我喝水"])
async def test_chinese_without_a_time_or_a_topic_is_asked_back(
    kernel: Kernel, ask: Asking, words: str
) -> None:
    assert "比如" in await ask(words)
    assert await kernel.jobs.list(CHAT, ended=True) == []


@pytest.mark.parametrize(
    ("words", "trigger", "message"),
    [
        (
            "every weekday at 9 tell me what is new",
            Cron("0 9 * * 1-5", tz="Europe/Berlin"),
            "tell me what is new",
        ),
        ("Every 2 hours, check the build.", Every(7200), "check the build"),
        ("please check the build every 2 hours", Every(7200), "check the build"),
        (
            "every monday at 5pm: ask me for the report",
            Cron("0 17 * * 1", tz="Europe/Berlin"),
            "ask me for the report",
        ),
        (
            "Could you water the plants every day at 18:30?",
            Cron("30 18 * * *", tz="Europe/Berlin"),
            "water the plants",
        ),
    ],
)
async def test_it_really_schedules(
    kernel: Kernel, ask: Asking, words: str, trigger: Trigger, message: str
) -> None:
    said = await ask(words)
    job = await the_job(kernel)
    assert job.action == Ask(message)
    if isinstance(trigger, Every):
        assert isinstance(job.trigger, Every)
        assert job.trigger.interval == trigger.interval
    else:
        assert job.trigger == trigger
    assert f"Added. Job {job.id}" in said
    kinds = [event.type for event in await kernel.log.events(CHAT)]
    assert kinds[:4] == ["stream_start", "tool_started", "automation_update", "tool_call"]


@pytest.mark.parametrize(
    ("words", "unread"),
    [
        ("every other friday at 9 call Ana", "every other"),
        ("every second tuesday at 10 call Ana", "every second"),
        ("call Ana every morning at 7 and every evening at 8", "and every evening at 8"),
        ("every day at 9 and 17 call Ana", "and 17"),
        ("every weekday at 9 EST call Ana", "EST"),
        ("every day at 9 until christmas call Ana", "until christmas"),
        ("remind me every other friday at 9 to call Ana", "every other"),
        ("remind me monday 9am EST to call Ana", "EST"),
        ("remind me tomorrow around 9 to call Ana", "around 9"),
        ("remind me next friday afternoon to call Ana", "the afternoon needs an hour"),
        ("remind me tomorrow at half past 9 to call Ana", "09:30 or 21:30"),
        ("remind me tomorrow to call Ana at 5", '"tomorrow" and "at 5"'),
        ("check back tomorrow 14:00-16:00 on notes.md", "14:00-16:00"),
        ("每隔一天9点告诉我有什么变化", "每隔一天"),
        ("每天9点和17点告诉我有什么变化", "和17点"),
        ("明天9点或10点提醒我喝水", "或10点"),
    ],
)
async def test_a_time_that_is_not_fully_read_schedules_nothing_and_says_why(
    kernel: Kernel, ask: Asking, words: str, unread: str
) -> None:
    """Issue 19, item 20: it says what it could not read, and shows what it can."""
    said = await ask(words)
    assert unread in said
    assert "比如" in said or "Say it like" in said
    assert await kernel.jobs.list(CHAT, ended=True) == []


async def test_a_reminder_at_a_time_that_is_past_schedules_nothing(kernel: Kernel, ask: Asking) -> None:
    assert '"today at 8" is past' in await ask("remind me today at 8 to call Ana")
    assert await kernel.jobs.list(CHAT, ended=True) == []


@pytest.mark.parametrize(
    ("words", "moment", "about"),
    [
        ("remind me tomorrow at 5 p.m. to call Ana", "Tue 17 Nov 2026, 17:00", "call Ana"),
        ("remind me to call Ana tomorrow at 5 p.m.", "Tue 17 Nov 2026, 17:00", "call Ana"),
        ("remind me to buy 3 apples tomorrow at 9", "Tue 17 Nov 2026, 09:00", "buy 3 apples"),
        ("remind me in 10 minutes to plan friday", "Mon 16 Nov 2026, 10:10", "plan friday"),
    ],
)
async def test_a_time_that_is_fully_read_is_scheduled(
    ask: Asking, words: str, moment: str, about: str
) -> None:
    said = await ask(words)
    assert said.startswith(f"I will be back about “{about}”: {moment} ")


async def test_what_it_scheduled_happens_in_the_conversation(
    kernel: Kernel, ask: Asking, clock: ManualClock
) -> None:
    await ask("every 2 hours check the build")
    clock.advance(hours=2)
    await quiet(kernel)
    said = (await kernel.messages(CHAT))[-1]
    assert said.content == "It is 12:00, and this is due: “check the build”"
    assert said.source is not None
    assert said.source.label == "check the build"


async def test_it_changes_the_job_that_was_scheduled_last(kernel: Kernel, ask: Asking) -> None:
    await ask("every 2 hours check the build")
    job = await the_job(kernel)
    assert "It is paused: paused by the user." in await ask("pause it")
    assert (await the_job(kernel)).state is JobState.PAUSED
    assert "Resumed." in await ask("resume that job")
    assert "The next run is skipped." in await ask("please skip it")
    assert (await the_job(kernel)).slot == (job.slot or 0) + 7_200_000
    assert await ask("cancel that") == f"Removed job {job.id} ('check the build')."
    assert await kernel.jobs.list(CHAT, kind=JobKind.CRON) == []
    assert await ask("pause it") == "Nothing of that kind is scheduled here."


async def test_that_means_the_job_or_recall_that_came_last(
    kernel: Kernel, ask: Asking, clock: ManualClock
) -> None:
    await ask("every 2 hours check the build")
    clock.advance(timedelta(seconds=1))
    await ask("remind me in 10 minutes to drink water")
    assert await ask("cancel that") == "It is cancelled."
    assert await kernel.recalls.get(CHAT) is None
    assert (await ask("cancel that")).startswith("Removed job")


async def test_it_lists_what_is_scheduled(kernel: Kernel, ask: Asking) -> None:
    assert await ask("what is scheduled?") == "Nothing is scheduled here."
    await ask("every 2 hours check the build")
    await kernel.schedule(CHAT, Every(3600), Say("Drink."), name="water")
    answer = await ask("What's scheduled?")
    job = await the_job(kernel)
    assert answer.startswith("This is scheduled here:\n\n")
    assert f"- Job {job.id} ('check the build'): every 2 h. Next runs: 2026-11-16T12:00:00+01:00" in answer
    assert "- water: next on Monday, 16 November at 11:00" in answer


async def test_it_says_why_it_could_not(kernel: Kernel, ask: Asking) -> None:
    assert await ask("every 3 seconds say hello") == (
        "That did not work: `every_seconds` must be at least 10, got 3."
    )
    assert (await ask("every now and then say hello")).startswith("How often, and what?")
    assert await kernel.jobs.list(CHAT, kind=JobKind.CRON) == []
