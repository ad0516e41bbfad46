"""Offline agent: scheduling by chat, in six languages."""

import re
from collections.abc import AsyncIterator, Awaitable, Callable
from datetime import timedelta
from zoneinfo import ZoneInfo

import pytest
import pytest_asyncio

from segue import Ask, Cron, Every, Job, JobKind, JobState, Kernel, Say, Settings, Trigger
from segue.agents.offline import OfflineAgent
from segue.agents.tools.cron import cron_tool
from segue.agents.tools.recalls import recall_tools
from segue.agents.tools.registry import Registry
from segue.model.conditions.vocabulary import If, Otherwise
from segue.testing import ManualClock, quiet
from segue.times.clock import to_moment
from tests.docs.pages import ROOT

CHAT = "web:1"
Asking = Callable[[str], Awaitable[str]]


@pytest_asyncio.fixture
async def kernel(migrated_sqlite_url: str, clock: ManualClock) -> AsyncIterator[Kernel]:
    agent = OfflineAgent(Registry([cron_tool(), *recall_tools()]))
    settings = Settings(timezone="Europe/Berlin")
    async with Kernel(migrated_sqlite_url, agent=agent, clock=clock, settings=settings) as opened:
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
    assert await ask(reminder) == "好的，今天 10:10 提醒你：起来活动一下。"
    assert (await the_job(kernel)).next_at == clock.ms() + 600_000
    clock.advance(minutes=10)
    await quiet(kernel)
    assert (await kernel.messages(CHAT))[-1].content == "提醒：起来活动一下"
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
    assert f": {message}. The first time is " in said
    assert job.id not in said
    kinds = [event.type for event in await kernel.log.events(CHAT)]
    assert kinds[:4] == ["stream_start", "tool_started", "automation_update", "tool_call"]


@pytest.mark.parametrize(
    ("words", "schedule"),
    [
        ("every other friday at 9 call Ana", "every 2 weeks on Friday at 09:00, Europe/Berlin"),
        ("every day at 9 and 17 call Ana", "at 09:00 and 17:00 every day, Europe/Berlin"),
        ("every day at 8:00 and 17:30 call Ana", "every day at 08:00 and 17:30, Europe/Berlin"),
        ("每天9点和17点告诉我有什么变化", "at 09:00 and 17:00 every day, Europe/Berlin"),
    ],
)
async def test_a_repetition_that_is_more_than_one_cron_line_says_is_scheduled_whole(
    kernel: Kernel, ask: Asking, words: str, schedule: str
) -> None:
    await ask(words)
    assert str((await the_job(kernel)).trigger) == schedule


@pytest.mark.parametrize(
    ("words", "unread"),
    [
        ("every 3rd friday at 9 call Ana", "every 3rd"),
        ("every friday at 9 starting monday call Ana", "starting monday"),
        ("call Ana every morning at 7 and every evening at 8", "and every evening at 8"),
        ("every weekday at 9 EST call Ana", "EST"),
        ("every day at 9 until christmas call Ana", "until christmas"),
        ("remind me by friday at 9 to call Ana", "by"),
        ("remind me friday 9am IST to call Ana", "Asia/Kolkata"),
        ("remind me tomorrow around 9 to call Ana", "around 9"),
        ("remind me next friday afternoon to call Ana", "the afternoon needs an hour"),
        ("remind me tomorrow at half past 9 to call Ana", "09:30 or 21:30"),
        ("remind me tomorrow to call Ana at 5", '"tomorrow" and "at 5"'),
        ("check back tomorrow 14:00-16:00 on notes.md", "14:00-16:00"),
        ("每隔一天9点告诉我有什么变化", "每隔一天"),
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
    said = await ask("remind me today at 8 to call Ana")
    assert '"today at 8" is past' in said
    assert "For tomorrow, write" in said
    assert "tomorrow at 8 to call Ana" in said
    assert await kernel.jobs.list(CHAT, ended=True) == []


async def test_a_conversation_has_any_number_of_reminders(
    kernel: Kernel, ask: Asking, clock: ManualClock
) -> None:
    """Issue 24: each is a job that runs once."""
    for minutes, topic in ((10, "take the pizza out"), (20, "call Ana"), (30, "leave")):
        said = await ask(f"remind me in {minutes} minutes to {topic}")
        assert said == f"I will remind you at 10:{minutes}: {topic}."
    for _ in range(3):
        clock.advance(minutes=10)
        await quiet(kernel)
    written = [message.content for message in await kernel.messages(CHAT) if message.role == "assistant"]
    assert written[-3:] == ["Reminder: take the pizza out", "Reminder: call Ana", "Reminder: leave"]


async def test_what_the_page_suggests_in_german_is_understood(
    kernel: Kernel, ask: Asking, clock: ManualClock
) -> None:
    """A reminder, a daily check and a look back, as `server/web/words/de.js` has them."""
    words = (ROOT / "src/segue/server/web/words/de.js").read_text("utf-8")
    reminder, daily, back = re.findall(r'try_(?:reminder|daily|recall): "(.*)"', words)
    assert await ask(reminder) == "Ich erinnere Sie um 10:10: Strecken."
    clock.advance(minutes=10)
    await quiet(kernel)
    assert (await kernel.messages(CHAT))[-1].content == "Erinnerung: Strecken"
    assert (await ask(daily)).startswith("Gern, jeden Werktag um 9: was hat sich seit gestern geändert")
    assert await ask(back) == "Ich bin um 10:12 wieder da: sag mir die Zeit."
    clock.advance(minutes=2)
    await quiet(kernel)
    assert (await kernel.messages(CHAT))[-1].content.startswith("Es ist 10:12")


@pytest.mark.parametrize(
    ("words", "moment", "about"),
    [
        ("remind me tomorrow at 5 p.m. to call Ana", "tomorrow at 17:00", "call Ana"),
        ("remind me to call Ana tomorrow at 5 p.m.", "tomorrow at 17:00", "call Ana"),
        ("remind me to buy 3 apples tomorrow at 9", "tomorrow at 09:00", "buy 3 apples"),
        ("remind me in 10 minutes to plan friday", "at 10:10", "plan friday"),
        ("remind me on 4 december at 9 to pack", "on Friday, 4 December at 09:00", "pack"),
        ("remind me on 4 january 2027 at 9 to pack", "on Monday, 4 January 2027 at 09:00", "pack"),
    ],
)
async def test_a_time_that_is_fully_read_is_scheduled(
    ask: Asking, words: str, moment: str, about: str
) -> None:
    said = await ask(words)
    assert said == f"I will remind you {moment}: {about}."


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
    assert await ask("pause it") == "“check the build” is paused."
    assert (await the_job(kernel)).state is JobState.PAUSED
    assert await ask("resume that job") == "“check the build” is active again."
    assert await ask("please skip it") == "The next run of “check the build” is skipped."
    assert (await the_job(kernel)).slot == (job.slot or 0) + 7_200_000
    assert await ask("cancel that") == "“check the build” is removed."
    assert await kernel.jobs.list(CHAT, kind=JobKind.CRON) == []
    assert await ask("pause it") == "Nothing of that kind is scheduled here."


async def test_that_means_the_job_or_recall_that_came_last(
    kernel: Kernel, ask: Asking, clock: ManualClock
) -> None:
    await ask("every 2 hours check the build")
    clock.advance(timedelta(seconds=1))
    await ask("check back in 10 minutes on the oven")
    assert await ask("cancel that") == "It is cancelled."
    assert await kernel.recalls.get(CHAT) is None
    clock.advance(timedelta(seconds=1))
    await ask("remind me in 10 minutes to drink water")
    assert await ask("cancel that reminder") == "“drink water” is removed."
    assert await ask("cancel that") == "“check the build” is removed."


async def test_it_lists_what_is_scheduled(kernel: Kernel, ask: Asking) -> None:
    assert await ask("what is scheduled?") == "Nothing is scheduled here."
    await ask("every 2 hours check the build")
    await kernel.schedule(CHAT, Every(3600), Say("Drink."), name="water")
    answer = await ask("What's scheduled?")
    assert answer == "This is scheduled here:\n\n- water: next at 11:00\n- check the build: next at 12:00"


async def test_it_says_why_it_could_not(kernel: Kernel, ask: Asking) -> None:
    assert await ask("every 3 seconds say hello") == (
        "That did not work: `every_seconds` must be at least 10, got 3."
    )
    assert (await ask("every now and then say hello")).startswith("How often, and what?")
    assert await kernel.jobs.list(CHAT, kind=JobKind.CRON) == []


WISHES = [
    ("remind me every monday at 9 about the report", "0 9 * * 1", "Reminder: the report"),
    ("in 10 minutes remind me to drink water", "10:10", "Reminder: drink water"),
    ("nag me every day at 9 to do the taxes", "0 9 * * *", "Reminder: do the taxes"),
    ("erinnere mich jeden Tag um 8 daran, Wasser zu trinken", "0 8 * * *", "Erinnerung: Wasser zu trinken"),
    ("Kannst du mich morgen um 9 an den Bericht erinnern?", None, None),
    ("erinnere mich morgen um 9 an den Bericht", "09:00", "Erinnerung: den Bericht"),
    ("sag mir morgen um 9, was neu ist", "09:00", "sag mir was neu ist"),
    ("rappelle-moi demain à 9h d'appeler Paul", "09:00", "Rappel : appeler Paul"),
    ("rappelle-moi tous les lundis à 9h de faire le rapport", "0 9 * * 1", "Rappel : faire le rapport"),
    ("tous les jours à 9h dis-moi ce qui est nouveau", "0 9 * * *", "dis-moi ce qui est nouveau"),
    ("recuérdame mañana a las 9 llamar a Ana", "09:00", "Recordatorio: llamar a Ana"),
    ("recuérdame todos los lunes a las 9 el informe", "0 9 * * 1", "Recordatorio: el informe"),
    ("cada día a las 9 dime qué hay de nuevo", "0 9 * * *", "dime qué hay de nuevo"),
    ("напомни мне завтра в 9 позвонить маме", "09:00", "Напоминание: позвонить маме"),
    ("напоминай мне каждый понедельник в 9 про отчёт", "0 9 * * 1", "Напоминание: отчёт"),
    ("каждый день в 9 скажи, что нового", "0 9 * * *", "скажи, что нового"),
    ("明天早上9点提醒我打电话", "09:00", "提醒：打电话"),
    ("每周一早上9点提醒我交报告", "0 9 * * 1", "提醒：交报告"),
    ("提醒我每天晚上10点吃药", "0 22 * * *", "提醒：吃药"),
    ("tell me a joke at 5pm", "17:00", "tell me a joke"),
    ("wake me up tomorrow at 7", "07:00", "wake me up"),
    ("in 20 minutes, ask me how the meeting went", "10:20", "ask me how the meeting went"),
    ("could you check the oven in 30 minutes?", "10:30", "check the oven"),
    ("don't remind me tomorrow at 9 to call Ana", None, None),
    ("tell me about monday", None, None),
    ("tell me what I said yesterday at 5pm", None, None),
    ("how does a reminder work?", None, None),
]
"""What a user writes at 10:00, when it runs, and the message of the job; None if nothing is scheduled."""


async def test_what_people_write_is_scheduled_in_six_languages(kernel: Kernel, ask: Asking) -> None:
    wrong = []
    for words, schedule, message in WISHES:
        said = await ask(words)
        jobs = await kernel.jobs.list(CHAT, kind=JobKind.CRON)
        for job in jobs:
            await kernel.jobs.delete(job.id)
        made = [(_written(job), job.action.prompt) for job in jobs if isinstance(job.action, Ask)]
        if made != ([] if schedule is None else [(schedule, message)]):
            wrong.append((words, made, said))
    assert wrong == []


def _written(job: Job) -> str:
    if isinstance(job.trigger, Cron):
        return job.trigger.expr
    return to_moment(job.slot or 0).astimezone(ZoneInfo("Europe/Berlin")).strftime("%H:%M")


async def test_jobs_are_changed_by_their_names_and_removed_all_at_once(kernel: Kernel, ask: Asking) -> None:
    await ask("every 2 hours check the build")
    await ask("every day at 9 write the morning report")
    await ask("every day at 18 write the evening report")
    assert await ask("pause the morning report") == "“write the morning report” is paused."
    assert await ask("pause report") == "Which one: “write the evening report”, “write the morning report”?"
    assert (await ask("stop talking about the weather")).startswith("You said")
    assert await ask("cancel all my reminders") == (
        "Removed: “write the evening report”, “write the morning report”, “check the build”."
    )
    assert await ask("delete everything") == "Nothing is scheduled here."


@pytest.mark.parametrize(
    ("question", "answer", "empty"),
    [
        ("was kannst du?", "erinnere mich in 10 Minuten", "was ist geplant?"),
        ("que peux-tu faire ?", "rappelle-moi dans 10 minutes", "qu'est-ce qui est prévu ?"),
        ("¿qué puedes hacer?", "recuérdame en 10 minutos", "¿qué hay programado?"),
        ("что ты умеешь?", "напомни мне через 10 минут", "что запланировано?"),
        ("你能做什么？", "10分钟后提醒我喝水", "有什么安排？"),
    ],
)
async def test_its_own_examples_are_understood_in_each_language(
    kernel: Kernel, ask: Asking, question: str, answer: str, empty: str
) -> None:
    help_ = await ask(question)
    assert answer in help_
    nothing = await ask(empty)
    for line in help_.splitlines():
        if line.startswith("- "):
            await ask(line[2:])
    assert len(await kernel.jobs.list(CHAT, kind=JobKind.CRON)) == 2
    assert await ask(empty) != nothing
    assert not nothing.startswith("You said")


@pytest.mark.parametrize(
    ("words", "condition", "otherwise"),
    [
        ("remind me tomorrow at 9 to call Ana unless I have answered", If.UNANSWERED, Otherwise.END),
        ("nag me every day at 9 to do the taxes until done", If.NOT_DONE, Otherwise.END),
        ("erinnere mich morgen um 9 an Ana, falls ich nicht geantwortet habe", If.UNANSWERED, Otherwise.END),
        ("every day at 9 ask me how it goes, if I haven't replied", If.UNANSWERED, Otherwise.SKIP),
    ],
)
async def test_a_condition_in_the_wish_becomes_one_of_the_job(
    kernel: Kernel, ask: Asking, words: str, condition: If, otherwise: Otherwise
) -> None:
    await ask(words)
    policy = (await the_job(kernel)).policy
    assert [one.test for one in policy.when or ()] == [condition]
    assert policy.otherwise is otherwise
