"""Recall tools: what they accept, return and refuse."""

import json
from dataclasses import replace
from typing import Any

import pytest

from segue import Owner, Recall
from segue.agents.tools.instructions import BAD, GOOD, lazy
from segue.agents.tools.recalls import recall_tools
from segue.agents.tools.registry import ToolContext
from tests.tools.using import refused, result

SCHEDULE, MANAGE = "schedule_recall", "manage_recall"
TOOLS = recall_tools()

ONCE = {"call_type": "once", "when": "30m", "additional_context_message": GOOD}
POLL = {**ONCE, "call_type": "recurring", "interval_seconds": 300}


async def recalls(context: ToolContext) -> list[Recall]:
    return await context.kernel.recalls.list(context.here.key)


async def test_it_sets_a_recall_and_says_when_it_fires(context: ToolContext) -> None:
    """C2.7: id, type, moment with offset, interval."""
    said = await result(context, TOOLS, SCHEDULE, **POLL, internal_comment="the build")
    [recall] = await recalls(context)
    assert said.startswith(f"Set. Recall {recall.id} (recurring, pending): 2026-11-16T09:30:00+00:00, ")
    assert said.endswith("(in 30 min), then every 300 s. 'the build'")
    assert (recall.instruction, recall.comment, recall.interval_seconds) == (GOOD, "the build", 300)


@pytest.mark.parametrize("when", ["30m", "2h 15m", "in 3 hours", "2026-11-17T09:00:00+01:00"])
async def test_it_reads_the_times_that_its_description_names(context: ToolContext, when: str) -> None:
    """C2.2."""
    assert (await result(context, TOOLS, SCHEDULE, **{**ONCE, "when": when})).startswith("Set.")


async def test_a_time_on_the_clock_takes_its_offset_from_the_argument(context: ToolContext) -> None:
    """C2.1."""
    given = {**ONCE, "when": "tomorrow at 09:00", "timezone_offset": "-05:30"}
    assert "2026-11-17T14:30:00+00:00" in await result(context, TOOLS, SCHEDULE, **given)


@pytest.mark.parametrize(
    ("wrong", "sentence"),
    [
        ({"call_type": "daily"}, "`call_type` is one of once, recurring, immediate"),
        ({"call_type": None}, "schedule_recall needs `call_type`"),
        ({"when": None}, "a once recall needs `when`"),
        ({"when": ""}, "a once recall needs `when`"),
        ({"when": "soonish"}, "soonish"),
        ({"when": "tomorrow at 09:00"}, "needs a time zone"),
        ({"when": "tomorrow at 09:00", "timezone_offset": "CET"}, "`timezone_offset` is ±HH:MM"),
        ({"when": "2020-01-01T00:00:00Z"}, "past"),
        ({"call_type": "recurring"}, "needs `interval_seconds`"),
        (
            {"call_type": "recurring", "interval_seconds": 0},
            "`interval_seconds` is a number of seconds from 1",
        ),
        ({"call_type": "recurring", "interval_seconds": "often"}, "`interval_seconds` must be an integer"),
        ({"additional_context_message": None}, "schedule_recall needs `additional_context_message`"),
        ({"additional_context_message": "  "}, "`additional_context_message` is empty"),
    ],
)
async def test_each_mistake_has_its_sentence_and_stores_nothing(
    context: ToolContext, wrong: dict[str, Any], sentence: str
) -> None:
    """C2.3."""
    assert sentence in await refused(context, TOOLS, SCHEDULE, **{**ONCE, **wrong})
    assert await recalls(context) == []


async def test_the_sentences_of_different_mistakes_differ(context: ToolContext) -> None:
    """C2.3: each distinct."""
    wrong: list[dict[str, Any]] = [
        {"call_type": "daily"},
        {"when": None},
        {"when": "soonish"},
        {"when": "tomorrow at 09:00"},
        {"timezone_offset": "CET"},
        {"call_type": "recurring"},
        {"call_type": "recurring", "interval_seconds": 0},
        {"additional_context_message": " "},
        {"when": "2020-01-01T00:00:00Z"},
        {"additional_context_message": BAD},
    ]
    said = [await refused(context, TOOLS, SCHEDULE, **{**ONCE, **one}) for one in wrong]
    assert len(set(said)) == len(wrong)


async def test_a_second_recall_is_refused_and_names_the_first(context: ToolContext) -> None:
    """C2.3."""
    await result(context, TOOLS, SCHEDULE, **ONCE)
    [first] = await recalls(context)
    said = await refused(context, TOOLS, SCHEDULE, **ONCE)
    assert first.id in said
    assert "cancel it before you set another" in said


@pytest.mark.parametrize(
    "instruction",
    [
        BAD,
        "tell the user 2 hours have passed",
        "Please remind them to call mum.",
        "Notify the user.",
        "Let them know it is time",
        "check back",
        "Erinnere den Nutzer an den Termin.",
        "Recuerda al usuario la reunión de hoy",
        "Rappelle à l'utilisateur son rendez-vous",
        "Скажи пользователю, что прошло 2 часа",
        "告诉用户两个小时过去了",
    ],
)
async def test_a_lazy_instruction_is_answered_with_the_rule(context: ToolContext, instruction: str) -> None:
    """C2.5."""
    said = await refused(context, TOOLS, SCHEDULE, **{**ONCE, "additional_context_message": instruction})
    assert "nothing was set" in said
    assert BAD in said
    assert GOOD in said
    assert await recalls(context) == []


@pytest.mark.parametrize(
    "instruction",
    [
        GOOD,
        "Fetch https://example.org/status with fetch_url; report if it is not green.",
        "Tell the user what build.log says: read it with read_file first.",
        "Look whether the user has chosen a date since; if not, offer Tuesday and Thursday.",
        "Выполни memory_search по слову «билет» и подведи итог.",
        "检查构建日志并报告错误",
    ],
)
def test_an_instruction_with_something_to_do_is_not_lazy(instruction: str) -> None:
    """C2.5."""
    assert not lazy(instruction)


def test_the_description_carries_the_rules_and_both_examples() -> None:
    """C2.5."""
    description = TOOLS[0].description
    for part in (BAD, GOOD, "todo", "tools, files or URLs", "not as a reminder to chat"):
        assert part in description


@pytest.mark.parametrize("tool", TOOLS, ids=lambda tool: tool.name)
def test_the_schemas_are_flat(tool: Any) -> None:
    """CONTRACT 5."""
    assert "object" not in json.dumps(tool.parameters["properties"])
    assert tool.parameters["additionalProperties"] is False


async def test_after_a_cancel_the_next_can_be_set(context: ToolContext) -> None:
    """C3.2: the standard pattern."""
    await result(context, TOOLS, SCHEDULE, **ONCE)
    assert "No recall is pending in web:1" in await result(context, TOOLS, MANAGE, action="cancel")
    await result(context, TOOLS, SCHEDULE, **ONCE)
    assert [str(recall.status) for recall in await recalls(context)] == ["pending", "cancelled"]


async def test_skip_returns_the_new_time(context: ToolContext) -> None:
    """C3.3."""
    await result(context, TOOLS, SCHEDULE, **POLL)
    said = await result(context, TOOLS, MANAGE, action="skip")
    assert said.startswith("Skipped.")
    assert "2026-11-16T09:35:00+00:00" in said


async def test_skip_of_a_single_recall_is_refused(context: ToolContext) -> None:
    """C3.4."""
    await result(context, TOOLS, SCHEDULE, **ONCE)
    assert "cancel it instead" in await refused(context, TOOLS, MANAGE, action="skip")


@pytest.mark.parametrize("action", ["cancel", "skip"])
async def test_without_a_pending_recall_the_action_is_refused(context: ToolContext, action: str) -> None:
    """C3.4."""
    assert await refused(context, TOOLS, MANAGE, action=action) == "no recall is pending in web:1"


async def test_list_shows_all_of_them(context: ToolContext) -> None:
    """C3.5."""
    assert await result(context, TOOLS, MANAGE, action="list") == "No recall was ever set in web:1."
    await result(context, TOOLS, SCHEDULE, **ONCE)
    await result(context, TOOLS, MANAGE, action="cancel")
    await result(context, TOOLS, SCHEDULE, **POLL)
    newest, older = (await result(context, TOOLS, MANAGE, action="list")).splitlines()
    assert "(recurring, pending)" in newest
    assert "(once, cancelled)" in older


async def test_an_unknown_action_is_refused(context: ToolContext) -> None:
    """C3.6."""
    said = await refused(context, TOOLS, MANAGE, action="postpone")
    assert said == '`action` is one of cancel, skip, list, got "postpone"'


async def test_another_session_of_the_same_user_may_be_named(context: ToolContext) -> None:
    """C3.1."""
    await context.kernel.log.write("web:2", "user", "Hello.")
    await context.kernel.recalls.add("web:2", GOOD, when="1h")
    assert "(once, pending)" in await result(context, TOOLS, MANAGE, action="list", session_id="web:2")
    await result(context, TOOLS, MANAGE, action="cancel", session_id="web:2")
    assert await context.kernel.recalls.get("web:2") is None


async def test_a_session_of_another_user_is_not_found(context: ToolContext) -> None:
    """C3.6."""
    ben = Owner("default", "ben")
    await context.kernel.log.write("web:2", "user", "Hello.", owner=ben)
    await context.kernel.recalls.add("web:2", GOOD, when="1h", owner=ben)
    for action in ("list", "skip", "cancel"):
        said = await refused(context, TOOLS, MANAGE, action=action, session_id="web:2")
        assert said == "there is no session web:2"
    assert await context.kernel.recalls.get("web:2", owner=ben) is not None


async def test_no_argument_can_set_one_elsewhere(context: ToolContext) -> None:
    said = await refused(context, TOOLS, SCHEDULE, **ONCE, session_id="web:2")
    assert "knows no `session_id`" in said


async def test_a_chain_of_recalls_that_is_too_long_is_refused_with_the_reason(context: ToolContext) -> None:
    """The limit counts the recalls that led to the tool's turn."""
    kernel = context.kernel
    again = {"call_type": "immediate", "additional_context_message": GOOD}
    for _ in range(5):
        await result(context, TOOLS, SCHEDULE, **again)
        await kernel.workers.timer.step()
        await kernel.workers.runner.step()
        newest = (await kernel.messages("web:1"))[-1]
        context = replace(context, source=newest.source)
    assert "have set each other" in await refused(context, TOOLS, SCHEDULE, **again)
