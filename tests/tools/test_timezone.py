"""`set_timezone`, and what the scheduling tools answer if the user's zone is not known."""

from typing import Any

import pytest

from segue.agents.tools.cron import cron_tool
from segue.agents.tools.recalls import recall_tools
from segue.agents.tools.registry import SET_TIMEZONE, ToolContext
from segue.agents.tools.scheduled_messages import message_tools
from segue.agents.tools.timezone import zone_tool
from tests.tools.using import refused, result

TOOLS = [cron_tool(), *recall_tools(), *message_tools(), zone_tool()]
TOMORROW = "tomorrow at 09:00"
RECALL = {"call_type": "once", "additional_context_message": "Read build.log with read_file. Report errors."}

ON_THE_CLOCK: list[tuple[str, dict[str, Any]]] = [
    ("cron", {"action": "add", "message": "Look.", "at": TOMORROW}),
    ("cron", {"action": "add", "message": "Look.", "cron_expr": "0 9 * * 1-5"}),
    ("schedule_recall", {**RECALL, "when": TOMORROW}),
    ("schedule_private_message", {"send_at": TOMORROW, "message_text": "Up."}),
]


@pytest.mark.parametrize(("tool", "given"), ON_THE_CLOCK)
async def test_a_clock_time_is_refused_until_the_zone_is_known(
    context: ToolContext, tool: str, given: dict[str, Any]
) -> None:
    """In every tool the refusal says what to ask and how to store it; then the same call works."""
    no = await refused(context, TOOLS, tool, **given)
    assert "needs a time zone, and none is known" in no
    assert "Europe/Berlin" in no
    assert "ask the user in which city they are, keep the answer with set_timezone" in no
    assert await context.kernel.jobs.list(context.here.key, ended=True) == []
    kept = await result(context, TOOLS, SET_TIMEZONE, timezone="Europe/Berlin")
    assert "Europe/Berlin" in kept
    assert "10:00" in kept
    await result(context, TOOLS, tool, **given)
    [job] = await context.kernel.jobs.list(context.here.key, ended=True)
    assert job.slot is not None
    assert job.slot % 86_400_000 == 8 * 3_600_000, "nine o'clock in Berlin, in winter"


@pytest.mark.parametrize(
    ("tool", "given"),
    [
        ("cron", {"action": "add", "message": "Look.", "at": "in 2 hours"}),
        ("cron", {"action": "add", "message": "Look.", "every_seconds": 1800}),
        ("cron", {"action": "add", "message": "Look.", "at": f"{TOMORROW} Asia/Tokyo"}),
        ("cron", {"action": "add", "message": "Look.", "cron_expr": "0 9 * * *", "tz": "Asia/Tokyo"}),
        ("schedule_recall", {**RECALL, "when": "30m"}),
        ("schedule_recall", {**RECALL, "when": TOMORROW, "timezone_offset": "+09:00"}),
        ("schedule_private_message", {"send_at": "in 2 hours", "message_text": "Up."}),
    ],
)
async def test_a_relative_time_and_one_with_a_zone_need_no_question(
    context: ToolContext, tool: str, given: dict[str, Any]
) -> None:
    await result(context, TOOLS, tool, **given)
    assert (await context.kernel.sessions.get(context.here.key)).timezone is None, (
        "a job's zone is not the user's"
    )


async def test_a_place_that_names_no_zone_changes_nothing(context: ToolContext) -> None:
    await context.kernel.sessions.update(context.here.key, timezone="Asia/Tokyo")
    assert "no time zone is called 'Atlantis'" in await refused(
        context, TOOLS, SET_TIMEZONE, timezone="Atlantis"
    )
    assert (await context.kernel.sessions.get(context.here.key)).timezone == "Asia/Tokyo"


async def test_without_the_tool_the_refusal_does_not_mention_it(context: ToolContext) -> None:
    tool, given = ON_THE_CLOCK[0]
    assert "set_timezone" not in await refused(context, [cron_tool()], tool, **given)
