"""The `cron` tool: what a conversation may schedule, and what is refused."""

import re
from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any

import pytest
import pytest_asyncio

from segue import Ask, Call, Cron, Every, Job, JobKind, JobState, Kernel, Owner, Settings, Source
from segue.agents.tools.cron import cron_tool
from segue.agents.tools.registry import ToolContext
from segue.testing import ManualClock, ScriptedAgent
from tests.tools.using import refused, result

CHAT = "web:1"


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest_asyncio.fixture
async def context(database_url: str, clock: ManualClock) -> AsyncIterator[ToolContext]:
    settings = Settings(timezone="Europe/Berlin", jobs_per_session=3)
    async with Kernel(database_url, agent=ScriptedAgent(), clock=clock, settings=settings) as kernel:
        await kernel.sessions.open(CHAT)
        yield ToolContext(kernel=kernel, session=await kernel.sessions.get(CHAT), turn_id="t-1")
        assert not await kernel.audit()


async def ask(context: ToolContext, action: str, **arguments: Any) -> str:
    return await result(context, [cron_tool()], "cron", action=action, **arguments)


async def refusal(context: ToolContext, action: str, **arguments: Any) -> str:
    return await refused(context, [cron_tool()], "cron", action=action, **arguments)


async def jobs(context: ToolContext) -> list[Job]:
    return await context.kernel.jobs.list(context.here.key, owner=context.owner, ended=True)


async def nothing(turn: object) -> None:
    """The function of the protected job."""


async def add(context: ToolContext, **arguments: Any) -> str:
    """Add a job; return its id."""
    said = await ask(context, "add", **{"message": "Look at the build.", "every_seconds": 3600, **arguments})
    found = re.match(r"Added\. Job (\w+) ", said)
    assert found, said
    return found[1]


ACTIONS = ["add", "list", "update", "pause", "resume", "skip", "remove"]


async def test_without_a_conversation_it_refuses_with_a_sentence(
    context: ToolContext, subtests: pytest.Subtests
) -> None:
    """2.2: nothing is created, and the session is taken from nowhere else."""
    nowhere = replace(context, session=None)
    for action in ACTIONS:
        with subtests.test(action=action):
            arguments = {"message": "Look.", "every_seconds": 3600} if action == "add" else {}
            arguments |= {"job_id": "j-1"} if action not in ("add", "list") else {}
            said = await refusal(nowhere, action, **arguments)
            assert said.startswith("this tool works in a conversation, and the call came from none; ")
            assert await jobs(context) == []


def test_the_schema_is_flat_and_only_the_action_is_required() -> None:
    """2.1"""
    schema = cron_tool().parameters
    assert schema["required"] == ["action"]
    assert not {"oneOf", "anyOf", "allOf", "not"} & schema.keys()
    assert list(schema["properties"]) == [
        *("action", "name", "message", "every_seconds", "cron_expr", "rrule", "start", "tz", "days", "at"),
        *("unless", "renew_after", "quiet", "tell", "job_id"),
    ]
    assert all(form["type"] in ("string", "number") for form in schema["properties"].values())


async def test_a_new_job_is_a_message_in_its_session_and_nothing_else(context: ToolContext) -> None:
    """1.3, 2.3, 2.5: id, words, and the next three runs with their offsets."""
    said = await ask(context, "add", name="report", message="What is new?", cron_expr="0 9 * * 1-5")
    (job,) = await jobs(context)
    assert (job.kind, job.session_id, job.name) == (JobKind.CRON, context.here.id, "report")
    assert job.action == Ask("What is new?")
    assert said == (
        f"Added. Job {job.id} ('report'): at 09:00 on Monday through Friday, Europe/Berlin. Next runs: "
        "2026-11-17T09:00:00+01:00, 2026-11-18T09:00:00+01:00, 2026-11-19T09:00:00+01:00."
    )


async def test_a_job_may_repeat_by_a_rule_that_no_cron_line_can_say(context: ToolContext) -> None:
    """requirements/days.md §2."""
    rule = {"rrule": "FREQ=WEEKLY;INTERVAL=2;BYDAY=FR", "start": "2026-11-20T09:00"}
    said = await ask(context, "add", name="water", message="Water the plants.", **rule)
    (job,) = await jobs(context)
    assert said == (
        f"Added. Job {job.id} ('water'): every 2 weeks on Friday at 09:00, Europe/Berlin. Next runs: "
        "2026-11-20T09:00:00+01:00, 2026-12-04T09:00:00+01:00, 2026-12-18T09:00:00+01:00."
    )
    await ask(context, "update", job_id=job.id, tz="Asia/Tokyo")
    (changed,) = await jobs(context)
    assert str(changed.trigger) == "every 2 weeks on Friday at 09:00, Asia/Tokyo"


NO_JOBS: list[tuple[dict[str, Any], str]] = [
    ({"message": "Go.", "rrule": "FREQ=DAILY"}, "`rrule` needs `start`"),
    ({"message": " ", "every_seconds": 60}, "the message is empty"),
    ({"every_seconds": 60}, "add needs `message`"),
    ({"message": "Go."}, "add needs a schedule: one of `every_seconds`, `cron_expr`, `rrule`, `at`"),
    (
        {"message": "Go.", "every_seconds": 60, "at": "tomorrow at 09:00"},
        "a job has one schedule, not every_seconds and at",
    ),
    ({"message": "Go.", "every_seconds": 0}, "`every_seconds` must be at least 10, got 0"),
    ({"message": "Go.", "every_seconds": -5}, "`every_seconds` must be at least 10, got -5"),
    ({"message": "Go.", "every_seconds": 9.5}, "`every_seconds` must be at least 10, got 9.5"),
    ({"message": "Go.", "at": "2020-01-01T09:00:00"}, "which is past"),
    ({"message": "Go.", "at": "2020-01-01T09:00:00+01:00"}, "which is past"),
    ({"message": "Go.", "at": "soonish"}, 'could not read "soonish"'),
    ({"message": "Go.", "cron_expr": "0 9 * *"}, "a cron line has five fields"),
    ({"message": "Go.", "cron_expr": "0 99 * * *"}, "cannot be read"),
    ({"message": "Go.", "cron_expr": "0 9 31 2 *"}, "never fires"),
    (
        {"message": "Go.", "cron_expr": "0 9 * * *", "tz": "Mars/Base"},
        "no time zone 'Mars/Base'",
    ),
    ({"message": "Go.", "at": "2027-01-01T09:00:00", "tz": "Mars/Base"}, "there is no time zone"),
    ({"message": "Go.", "every_seconds": 60, "tz": "Mars/Base"}, "there is no time zone"),
    ({"message": "Go.", "every_seconds": 60, "deliver": True}, "cron knows no `deliver`"),
    ({"message": "Go.", "every_seconds": 60, "session_key": "web:2"}, "cron knows no `session_key`"),
]


async def test_what_cannot_be_a_job_is_refused_and_leaves_nothing(
    context: ToolContext, subtests: pytest.Subtests
) -> None:
    """2.2, 2.4"""
    for arguments, words in NO_JOBS:
        with subtests.test(arguments=arguments):
            assert words in await refusal(context, "add", **arguments)
            assert await jobs(context) == []


async def test_a_session_has_a_limited_number_of_jobs(context: ToolContext) -> None:
    """2.4: the quota; a removed job frees a place."""
    ids = [await add(context) for _ in range(3)]
    assert f"{CHAT} has 3 automations, which is the most" in await refusal(
        context, "add", message="One more.", every_seconds=60
    )
    assert len(await jobs(context)) == 3
    await ask(context, "remove", job_id=ids[0])
    await add(context)


async def test_from_python_deliver_changes_nothing(context: ToolContext) -> None:
    """2.1"""
    await cron_tool().run(context, action="add", message="Go.", every_seconds=60, deliver=True, name="")
    (job,) = await jobs(context)
    assert (job.action, job.kind) == (Ask("Go."), JobKind.CRON)


@pytest.mark.parametrize(
    ("session_zone", "tz", "first"),
    [
        (None, None, "2026-11-17T09:00:00+01:00"),
        ("Asia/Tokyo", None, "2026-11-17T09:00:00+09:00"),
        ("Asia/Tokyo", "America/New_York", "2026-11-16T09:00:00-05:00"),
    ],
    ids=["the configured zone", "the session's", "the one that is named"],
)
async def test_the_zone_is_named_or_the_sessions_or_the_configured_one(
    context: ToolContext, session_zone: str | None, tz: str | None, first: str
) -> None:
    """2.5: the same for a cron line and for a naive `at`."""
    await context.kernel.sessions.update(CHAT, timezone=session_zone)
    context = replace(context, session=await context.kernel.sessions.get(CHAT))
    named = {} if tz is None else {"tz": tz}
    assert f"Next runs: {first}," in await ask(context, "add", message="Go.", cron_expr="0 9 * * *", **named)
    naive = first[:19]
    assert f"It runs on {first}." in await ask(context, "add", message="Go.", at=naive, **named)


async def test_an_offset_in_the_time_is_used(context: ToolContext) -> None:
    """2.5"""
    said = await ask(context, "add", message="Go.", at="2026-11-20T09:00:00-05:00")
    assert "It runs on 2026-11-20T15:00:00+01:00." in said


async def test_only_this_conversations_jobs_are_found(context: ToolContext) -> None:
    """2.6"""
    kernel = context.kernel
    await kernel.sessions.open("web:2")
    other = replace(context, session=await kernel.sessions.get("web:2"))
    theirs, ours = await add(other, name="theirs"), await add(context, name="ours")
    stranger = await kernel.schedule(CHAT, Every(60), Ask("Go."), owner=Owner("default", "eve"))
    listed = await ask(context, "list")
    assert ours in listed
    assert theirs not in listed
    for action in ("remove", "update", "pause", "resume", "skip"):
        for hidden in (theirs, stranger.id, "no-such"):
            said = await refusal(context, action, job_id=hidden, name="mine now")
            assert said == (f"job {hidden!r} is not found here; `list` shows what this conversation has")
    assert (await kernel.jobs.get(theirs)).state is JobState.ACTIVE


async def test_the_systems_jobs_are_listed_as_such_and_cannot_be_changed(
    database_url: str, clock: ManualClock
) -> None:
    """2.6, 11.2"""
    async with Kernel(
        database_url, agent=ScriptedAgent(), clock=clock, functions={"beat": nothing}
    ) as kernel:
        await kernel.sessions.open(CHAT)
        beat = await kernel.schedule("system:beat", Every(1800), Call("beat"), name="beat", protected=True)
        context = ToolContext(kernel=kernel, session=await kernel.sessions.get(CHAT), turn_id="t-1")
        assert "('beat'): every 30 min." in await ask(context, "list")
        assert "(the system's; it cannot be changed)" in await ask(context, "list")
        for action in ("remove", "pause", "skip", "update"):
            said = await refusal(context, action, job_id=beat.id, name="mine")
            assert said == f"job {beat.id} belongs to the system and cannot be changed"


async def test_nothing_is_scheduled_at_first(context: ToolContext) -> None:
    assert await ask(context, "list") == "Nothing is scheduled here."


async def test_a_job_is_updated_in_place(context: ToolContext, clock: ManualClock) -> None:
    """2.8: its next run counts from now."""
    job_id = await add(context, name="build")
    clock.advance(minutes=10)
    said = await ask(context, "update", job_id=job_id, cron_expr="30 18 * * *", message="Report.")
    assert said.startswith(f"Updated. Job {job_id} ('build'): at 18:30 every day, Europe/Berlin.")
    (job,) = await jobs(context)
    assert job.action == Ask("Report.")
    assert job.trigger == Cron("30 18 * * *", tz="Europe/Berlin")
    moved = await ask(context, "update", job_id=job_id, tz="Asia/Tokyo")
    assert "18:30 every day, Asia/Tokyo. Next runs: 2026-11-16T18:30:00+09:00" in moved


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({}, "update needs something to change"),
        ({"message": " "}, "the message is empty"),
        ({"every_seconds": 1}, "must be at least 10"),
        ({"cron_expr": "0 9 31 2 *"}, "never fires"),
        ({"at": "2020-01-01T09:00:00"}, "which is past"),
        ({"every_seconds": 60, "cron_expr": "0 9 * * *"}, "a job has one schedule"),
    ],
)
async def test_a_bad_update_changes_nothing(
    context: ToolContext, arguments: dict[str, Any], words: str
) -> None:
    """2.4, 2.8"""
    job_id = await add(context)
    before = await context.kernel.jobs.get(job_id)
    assert words in await refusal(context, "update", job_id=job_id, **arguments)
    assert await context.kernel.jobs.get(job_id) == before


async def test_a_job_is_paused_resumed_and_skipped(context: ToolContext) -> None:
    """2.8"""
    job_id = await add(context)
    assert "It is paused: paused by the user." in await ask(context, "pause", job_id=job_id)
    assert "is paused; only an active one can be paused" in await refusal(context, "pause", job_id=job_id)
    assert "Next runs: 2026-11-16T11:00:00+01:00" in await ask(context, "resume", job_id=job_id)
    skipped = await ask(context, "skip", job_id=job_id)
    assert skipped.startswith("The next run is skipped.")
    assert "Next runs: 2026-11-16T12:00:00+01:00" in skipped
    (run,) = await context.kernel.runs.list(job=job_id)
    assert (run.outcome, run.reason) == ("skipped", "skipped by request")
    for action in ("pause", "resume", "skip", "remove", "update"):
        assert await refusal(context, action) == (
            f"{action} needs `job_id`; `list` shows the jobs of this conversation"
        )


async def test_a_scheduled_turn_may_end_its_own_job_and_add_none(context: ToolContext) -> None:
    """2.7"""
    job_id = await add(context)
    source = Source(kind="cron", job_id=job_id, label="build", run_id=f"{job_id}:1")
    inside = replace(context, source=source)
    assert "a scheduled turn cannot add jobs" in await refusal(
        inside, "add", message="And another.", every_seconds=60
    )
    assert len(await jobs(context)) == 1
    await ask(inside, "pause", job_id=job_id)
    await ask(inside, "remove", job_id=job_id)
    assert await jobs(context) == []


async def test_a_conversation_with_a_calendar_is_told_how_to_leave_out_holidays(context: ToolContext) -> None:
    await context.kernel.sessions.update(context.here.key, days="CN")
    said = await ask(context, "add", message="Go.", cron_expr="0 9 * * 1-5", tz="Asia/Shanghai")
    assert "update the job with `days` 'CN' and `cron_expr` '0 9 * * *'" in said
    (job,) = await jobs(context)
    again = await ask(context, "update", job_id=job.id, cron_expr="0 9 * * *", days="CN", tz="Asia/Shanghai")
    assert "workdays (CN)" in again
    assert "holidays" not in again
    assert "`days` goes with `cron_expr`" in await refusal(
        context, "add", message="Go.", at="tomorrow at 9", days="CN"
    )


@pytest.mark.parametrize(
    ("given", "when", "otherwise"),
    [
        ({"at": "tomorrow at 09:00", "unless": "answered"}, {"if": "unanswered", "since": "created"}, "end"),
        ({"every_seconds": 3600, "unless": "answered"}, {"if": "unanswered", "since": "last_run"}, "skip"),
        ({"every_seconds": 3600, "unless": "done"}, {"if": "not_done"}, "end"),
    ],
)
async def test_a_job_may_wait_for_what_its_user_says(
    context: ToolContext, given: dict[str, Any], when: dict[str, str], otherwise: str
) -> None:
    """requirements/speaking.md §2."""
    await ask(context, "add", message="Call the bank.", renew_after=14, **given)
    (job,) = await jobs(context)
    stored = job.policy.to_json()
    assert (stored["when"], stored["otherwise"], stored["renew_after"]) == ([when], otherwise, 14)
    assert "1 to 1,000" in await refusal(context, "update", job_id=job.id, renew_after=0)


async def test_a_job_may_be_heard_in_quiet_hours_or_wait_for_the_digest(context: ToolContext) -> None:
    """requirements/speaking.md §3."""
    await ask(context, "add", message="Is the oven off?", every_seconds=3600, quiet="through")
    (alarm,) = await jobs(context)
    assert (alarm.policy.quiet, alarm.policy.tell) == ("through", "now")
    await ask(context, "update", job_id=alarm.id, quiet="hold", tell="digest")
    (report,) = await jobs(context)
    assert (report.policy.quiet, report.policy.tell) == ("hold", "digest")
